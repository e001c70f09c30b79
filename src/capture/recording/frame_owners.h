// capture/recording/frame_owners.h: whose frames led to a line: the modules whose calls were captured.
#ifndef STATOR_CAPTURE_RECORDING_FRAME_OWNERS_H
#define STATOR_CAPTURE_RECORDING_FRAME_OWNERS_H

#include <string>
#include <vector>

#include "capture/cpython/ref.h"
#include "core/user_line.h"

namespace stator {

// From now on frames of this code belong to their first argument.
void note_owned_code(PyObject* code);
bool is_owned_code(const PyCodeObject* code);

struct FrameOwner {
  PyObject* object = nullptr;  // an identity: the object may be gone
  Ref<> type;
  std::string source;  // how it was reached
};

// The owners of the frames that led to the line, outermost first; of the capture that this process is making.
std::vector<const FrameOwner*> frame_owners(LineId line);

}  // namespace stator

#endif
