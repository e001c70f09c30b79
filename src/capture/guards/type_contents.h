// capture/guards/type_contents.h: what a class and its bases define, to tell a change from a change undone.
#ifndef STATOR_CAPTURE_GUARDS_TYPE_CONTENTS_H
#define STATOR_CAPTURE_GUARDS_TYPE_CONTENTS_H

#include <memory>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

// The attributes of a class and its bases at one version of the class. Tools patch classes for a while
// (tracers of torch do so with nn.Module) and put everything back, which leaves another version and the same
// contents.
class TypeContents {
 public:
  // Shared by all guards on the same version of the class. The class must have a version.
  static std::shared_ptr<const TypeContents> of(PyTypeObject* type);

  bool match(PyTypeObject* type) const;

 private:
  explicit TypeContents(PyTypeObject* type);
  static void read(PyTypeObject* type, std::vector<PyObject*>& found);

  std::vector<Ref<>> all_;  // bases, names and values; kept, so that no address is used again
};

// Gives the class a version, as a lookup does. 0: it has none left.
unsigned int type_version(PyTypeObject* type);

}  // namespace stator

#endif
