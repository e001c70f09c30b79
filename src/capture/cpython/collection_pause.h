// capture/cpython/collection_pause.h: no garbage is collected while this lives.
//
// For work that makes many objects of which none is garbage: a collection would look through everything that
// the process holds (a fifth of a second once transformers is loaded) and find nothing. It also runs
// finalizers of the user's, which are no part of what is being captured.
#ifndef STATOR_CAPTURE_CPYTHON_COLLECTION_PAUSE_H
#define STATOR_CAPTURE_CPYTHON_COLLECTION_PAUSE_H

#include <Python.h>

namespace stator {

class CollectionPause {
 public:
  CollectionPause() : collects_(PyGC_Disable() != 0) {}
  ~CollectionPause() {
    if (collects_) PyGC_Enable();
  }
  CollectionPause(const CollectionPause&) = delete;
  CollectionPause& operator=(const CollectionPause&) = delete;

 private:
  bool collects_;
};

}  // namespace stator

#endif
