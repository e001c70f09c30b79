// capture/guards/object_notices.cpp: the two setters, wrapped.
#include "capture/guards/object_notices.h"

#include <cstring>

#include "capture/cpython/interrupts.h"
#include "capture/cpython/type_dict.h"

namespace stator {

uint64_t ObjectNotices::count_ = 0;

// CPython's own definitions of the setters; they are written to once, and stay so until the process ends.
struct ObjectNotices::Setters {
  static inline setter set_class = nullptr;
  static inline setter set_dict = nullptr;
  bool classes = false;
  bool dicts = false;

  static const Setters& get() {
    static const Setters setters;
    return setters;
  }

  Setters() {
    for (PyGetSetDef* found = PyBaseObject_Type.tp_getset; found->name != nullptr; found++) {
      if (std::strcmp(found->name, "__class__") == 0) classes = wrap(*found, set_class, &count_class);
    }
    // Classes share one definition with weak references beside the dictionary, and one without.
    auto* const type = reinterpret_cast<PyObject*>(&PyType_Type);
    const auto plain = Ref<>::steal(PyObject_CallFunction(type, "s(){}", "Plain"));
    const auto slotted =
        Ref<>::steal(PyObject_CallFunction(type, "s(){s(s)}", "Slotted", "__slots__", "__dict__"));
    if (!plain || !slotted) drop_error();
    dicts = plain && slotted && wrap_dict_of(plain.get()) && wrap_dict_of(slotted.get());
  }

  static bool wrap(PyGetSetDef& definition, setter& original, setter counting) {
    if (definition.set == counting) return true;
    if (definition.set == nullptr || (original != nullptr && original != definition.set)) return false;
    original = definition.set;
    definition.set = counting;
    return true;
  }

  static bool wrap_dict_of(PyObject* type) {
    PyGetSetDef* definition = dict_definition(reinterpret_cast<PyTypeObject*>(type));
    return definition != nullptr && wrap(*definition, set_dict, &count_dict);
  }

  static PyObject* own_dict_attribute(PyTypeObject* type) {
    static PyObject* const name = PyUnicode_InternFromString("__dict__");
    return name != nullptr ? cpython::own_attribute(type, name) : nullptr;
  }

  static PyGetSetDef* dict_definition(PyTypeObject* type) {
    PyObject* found = own_dict_attribute(type);
    if (found == nullptr || Py_TYPE(found) != &PyGetSetDescr_Type) return nullptr;
    return reinterpret_cast<PyGetSetDescrObject*>(found)->d_getset;
  }

  static int count_class(PyObject* object, PyObject* value, void* closure) {
    count_++;
    return set_class(object, value, closure);
  }
  static int count_dict(PyObject* object, PyObject* value, void* closure) {
    count_++;
    return set_dict(object, value, closure);
  }
};

bool ObjectNotices::tell_of(PyObject* object, bool with_dict) {
  const Setters& setters = Setters::get();
  if (!with_dict) return setters.classes;
  if (!setters.classes || !setters.dicts) return false;
  // Each class that brought a `__dict__` can be asked to set it.
  PyObject* const bases = Py_TYPE(object)->tp_mro;
  bool counted = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); i++) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
    if (Setters::own_dict_attribute(base) == nullptr) continue;
    const PyGetSetDef* definition = Setters::dict_definition(base);
    if (definition == nullptr || definition->set != &Setters::count_dict) return false;
    counted = true;
  }
  return counted;
}

}  // namespace stator
