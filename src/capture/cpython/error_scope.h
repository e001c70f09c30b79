// capture/cpython/error_scope.h: the thread's Python error, taken and given back as a value.
#ifndef STATOR_CAPTURE_CPYTHON_ERROR_SCOPE_H
#define STATOR_CAPTURE_CPYTHON_ERROR_SCOPE_H

#include "capture/cpython/frame.h"
#include "capture/cpython/ref.h"

namespace stator {

// Saves the current error, if any, and restores it at the end of the scope: what happens in between does not disturb it.
class ErrorScope {
 public:
  ErrorScope() : saved_(Ref<>::steal(stator_take_error())) {}
  ~ErrorScope() {
    if (saved_) {
      stator_give_error(saved_.release());
    } else {
      PyErr_Clear();
    }
  }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;

 private:
  Ref<> saved_;
};

}  // namespace stator

#endif
