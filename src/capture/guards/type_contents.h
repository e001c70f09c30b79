// capture/guards/type_contents.h: what a class and its bases define, to tell a change from a change undone.
#ifndef STATOR_CAPTURE_GUARDS_TYPE_CONTENTS_H
#define STATOR_CAPTURE_GUARDS_TYPE_CONTENTS_H

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

// Attributes of classes that are left out: the class that holds each, and its name, which must be interned
// and live as long as the class does.
using ApartNames = std::set<std::pair<PyTypeObject*, PyObject*>>;

// The attributes of a class and its bases at one version of the class. Tools patch classes for a while
// (tracers of torch do so with nn.Module) and put everything back, which leaves another version and the same
// contents.
class TypeContents {
 public:
  // Shared by all guards on the same version of the class, where it has one.
  static std::shared_ptr<const TypeContents> of(PyTypeObject* type);

  bool match(PyTypeObject* type, const ApartNames* apart) const;
  // An attribute that has another value now. What it had may be gone: only constants are told.
  struct Difference {
    PyTypeObject* holder;
    PyObject *name, *old, *now;  // borrowed
    PyObject* old_address;
  };
  // Returns nullopt if it differs in more than values.
  std::optional<std::vector<Difference>> differences(PyTypeObject* type, const ApartNames* apart) const;

 private:
  // Known by its address, which nothing else has while this lives or the object does. A class must not be
  // kept alive by what was seen of it, and its functions lead to all of its module: they are held weakly, and
  // objects that know no weak references by what they are made of.
  struct Seen {
    PyObject* address = nullptr;
    PyTypeObject* type = nullptr;
    Ref<> kept;  // the object, or a weak reference to it; null where its parts tell
    bool is_weak = false;
    std::vector<Seen> parts;
    explicit Seen(PyObject* object);
    bool is(PyObject* object) const;
  };
  explicit TypeContents(PyTypeObject* type);
  bool compare(PyTypeObject* type, const ApartNames* apart, std::vector<Difference>* different) const;
  // What `type` and its bases hold: bases, names and values.
  static void read(PyTypeObject* type, const ApartNames* apart, std::vector<PyObject*>& found);

  std::vector<Seen> all_;
  std::vector<uint32_t> bases_;  // where they stand in all_
};

// Gives the class a version, as a lookup does. 0: it has none left.
unsigned int type_version(PyTypeObject* type);

}  // namespace stator

#endif
