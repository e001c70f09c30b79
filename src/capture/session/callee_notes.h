// capture/session/callee_notes.h: who is told of captures of functions that compiled ones call.
#ifndef STATOR_CAPTURE_SESSION_CALLEE_NOTES_H
#define STATOR_CAPTURE_SESSION_CALLEE_NOTES_H

#include <string>

#include "capture/cpython/ref.h"

namespace stator {

class Entry;

// Set by the layer above; nullptr: nobody listens. What they raise is theirs to report.
struct CalleeNotes {
  void (*captured)(PyObject* function, const Entry& entry) = nullptr;
  void (*captures_again)(PyObject* function, const std::string& failed_guard) = nullptr;
};
extern CalleeNotes callee_notes;

}  // namespace stator

#endif
