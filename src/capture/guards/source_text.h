// capture/guards/source_text.h: how guarded objects were reached, turned into text only when somebody asks.
#ifndef STATOR_CAPTURE_GUARDS_SOURCE_TEXT_H
#define STATOR_CAPTURE_GUARDS_SOURCE_TEXT_H

#include <string>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

// One step of the way to an object.
enum class SourceStep : uint8_t { root, item, key_in, dict_of, attribute, cell_of, type_of };

class SourceTexts {
 public:
  // `parent` is a number that an earlier call returned; it means nothing for a root. Keys that are no
  // constants are kept as text.
  uint32_t add(SourceStep step, uint32_t parent, PyObject* key);
  // `fn.model.layers[3].weight`
  std::string text(uint32_t node) const;

 private:
  struct Node {
    SourceStep step;
    bool quoted;  // the key was no string: its text is a Python expression
    uint32_t parent;
    Ref<> key;
  };
  std::vector<Node> nodes_;
};

}  // namespace stator

#endif
