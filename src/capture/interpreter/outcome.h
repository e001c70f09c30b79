// capture/interpreter/outcome.h: how a step of a capture ended.
#ifndef STATOR_CAPTURE_INTERPRETER_OUTCOME_H
#define STATOR_CAPTURE_INTERPRETER_OUTCOME_H

#include <cstdint>

namespace stator {

enum class Outcome : uint8_t {
  ok,
  stopped,  // the capture cannot go on; an error is set that no handler of the program's may see
  raised,   // the program raises: an error is set
};

}  // namespace stator

#endif
