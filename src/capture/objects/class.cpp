// capture/objects/class.cpp: classes, and their attributes that a capture reads and writes.
//
// A guard on a class covers all that it holds, so a read has none of its own. An attribute that is written,
// or that changes between calls, is set apart: guards on classes leave it out, and what was read of it is
// guarded as an item of the class's dictionary.
#include "capture/objects/class.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/type_dict.h"
#include "capture/policy/special_methods.h"
#include "capture/program/description.h"
#include "capture/program/effects.h"
#include "capture/program/held_class.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/class_attributes.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/mark.h"
#include "capture/recording/places.h"
#include "capture/recording/reads.h"
#include "capture/recording/writes.h"

namespace stator {
namespace {

// Guards know names by their address, as CPython's own dictionaries of classes do.
Ref<> interned(PyObject* name) {
  PyObject* one = Py_NewRef(name);
  PyUnicode_InternInPlace(&one);
  return Ref<>::steal(one);
}

// What a lookup takes as it is. Methods and descriptors are read all the time, and hardly ever replaced.
bool is_plain_value(PyObject* value) { return Py_TYPE(value)->tp_descr_get == nullptr; }

PyTypeObject* holder_of(PyTypeObject* type, PyObject* name) {
  for (Py_ssize_t i = 0; type->tp_mro != nullptr && i < PyTuple_GET_SIZE(type->tp_mro); i++) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (cpython::own_attribute(base, name) != nullptr) return base;
  }
  return nullptr;
}

bool is_changeable(PyTypeObject* type) {
  return type->tp_flags & Py_TPFLAGS_HEAPTYPE && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
}

class WrittenClass : public Written {
 public:
  using Written::Written;

  Ref<> attributes;  // each that is written, with its old value or absent()

  bool put_back() const override {
    PyObject *name, *old;
    Py_ssize_t position = 0;
    while (PyDict_Next(attributes.get(), &position, &name, &old)) {
      PyObject* const before = Journal::or_null(old);
      if (cpython::own_attribute(type(), name) != before &&
          PyType_Type.tp_setattro(object.get(), name, before) < 0)
        return false;
    }
    return true;
  }

  bool is_as_before() const override {
    PyObject *name, *old;
    Py_ssize_t position = 0;
    while (PyDict_Next(attributes.get(), &position, &name, &old)) {
      if (cpython::own_attribute(type(), name) != Journal::or_null(old)) return false;
    }
    return true;
  }

  void collect(Effects& effects, const Recording& recording) const override {
    PyObject *name, *old;
    Py_ssize_t position = 0;
    while (PyDict_Next(attributes.get(), &position, &name, &old)) {
      PyObject* now = cpython::own_attribute(type(), name);
      if (now == nullptr || recording.placed.in(cpython::type_dict(type()).get(), name) == now) continue;
      effects.add(object.get(), {Ref<>::share(now)},
                  [name = Ref<>::share(name)](PyObject* target, const FinalValues& values) {
                    return PyType_Type.tp_setattro(target, name.get(), values[0]) == 0;
                  });
    }
  }

  bool wrote_key(PyObject* name) const override { return PyDict_Contains(attributes.get(), name) == 1; }
  bool is_seen_by_lookups() const override { return true; }

 private:
  PyTypeObject* type() const { return reinterpret_cast<PyTypeObject*>(object.get()); }
};

bool note_attribute(Recording& recording, PyTypeObject* type, PyObject* name) {
  WrittenClass& written = recording.journal.note<WrittenClass>(reinterpret_cast<PyObject*>(type));
  if (!written.attributes) written.attributes = Ref<>::steal(PyDict_New());
  if (!written.attributes) return false;
  const int known = PyDict_Contains(written.attributes.get(), name);
  if (known != 0) return known > 0;
  PyObject* old = cpython::own_attribute(type, name);
  return PyDict_SetItem(written.attributes.get(), name, old != nullptr ? old : Journal::absent()) == 0;
}

bool read_class_object(Recording& recording, PyObject* object) {
  auto* const type = reinterpret_cast<PyTypeObject*>(object);
  recording.classes.give_out(type);
  return read_type(recording, type) && read_type(recording, Py_TYPE(object));
}

bool put(Recording& recording, PyObject* object, PyObject* name, PyObject*, PyObject* stands) {
  auto* const type = reinterpret_cast<PyTypeObject*>(object);
  recording.guards.keep(name);
  recording.guards.set_apart(type, name);
  return note_attribute(recording, type, name) && PyType_Type.tp_setattro(object, name, stands) == 0;
}

// `C[key]`
bool read_parameters(Recording& recording, PyObject* object, PyObject*) {
  auto* const type = reinterpret_cast<PyTypeObject*>(object);
  if (!read_class_object(recording, object)) return false;
  return subscripts_plainly(type) ||
         stop(recording, BreakCode::kUnknownFunction, std::string("__class_getitem__ of ") + type->tp_name);
}

// int, NoneType: there as long as the process. The class of an object that the guards know.
bool describe_class(Description& description, size_t step, PyObject* object) {
  auto* const type = reinterpret_cast<PyTypeObject*>(object);
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
    description.stay(step, object);
    return true;
  }
  if (!description.recording.guards.has<TypeGuard>(type)) return description.refuse(object);
  description.begin(step, [held = HeldClass(description.recording.guards, type)](const Rebuild::Given&) {
    return held.get();
  });
  return true;
}

}  // namespace

// Pinned; borrowed: it lives as long as the class.
static PyObject* dict_of_class(Recording& recording, PyTypeObject* type) {
  PyObject* dict = cpython::type_dict(type).get();
  pin(recording, dict, {Origin::dict_of, reinterpret_cast<PyObject*>(type), {}});
  recording.classes.add_dict(dict, type);
  return dict;
}

void note_class_read(Recording& recording, PyObject* name, PyObject* value) {
  if (!is_plain_value(value)) return;
  const Ref<> one = interned(name);
  if (recording.classes.note(one.get())) recording.guards.keep(one.get());
}

Placed stands_apart(Recording& recording, PyTypeObject* type, PyObject* name, PyObject* value) {
  if (!is_plain_value(value)) return Placed::no;
  note_class_read(recording, name, value);
  const bool may_vary = recording.varying != nullptr && recording.varying->has_places();
  if (!may_vary && !recording.classes.has_dicts()) return Placed::no;
  const Ref<> one = interned(name);
  PyTypeObject* holder = holder_of(type, one.get());
  if (holder == nullptr || !is_changeable(holder)) return Placed::no;
  auto* object = reinterpret_cast<PyObject*>(holder);
  if (recording.journal.wrote_key(object, one.get())) return Placed::yes;
  if (!may_vary || recording.classes.is_seen_through(holder)) return Placed::no;
  pin(recording, object,
      {Origin::attribute, reinterpret_cast<PyObject*>(type), Ref<>::steal(PyUnicode_FromString("__mro__"))});
  return see_place(recording, dict_of_class(recording, holder), one.get(), value);
}

bool before_class_attribute_write(Recording& recording, PyTypeObject* type, PyObject* name, PyObject* value) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (is_fresh(recording, object) || !is_changeable(type)) return true;  // the latter raises
  PyTypeObject* metaclass = Py_TYPE(object);
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return false;
  // Names with two underscores are slots of the class, or the metaclass's own; but for what copyreg notes
  // when an instance is copied for the first time.
  const std::string_view called = text;
  if (!is_pinned(recording, object) || value == nullptr ||
      (called.starts_with("__") && called != "__slotnames__"))
    return before_write(recording, object, "an attribute");
  if (!read_type(recording, type) || !read_type(recording, metaclass)) return false;
  PyObject* on_metaclass = _PyType_Lookup(metaclass, name);
  if (on_metaclass != nullptr && Py_TYPE(on_metaclass)->tp_descr_set != nullptr) {
    if (Py_IS_TYPE(on_metaclass, &PyProperty_Type))
      return pin_class_attribute(recording, metaclass, on_metaclass, name);
    return before_write(recording, object, "an attribute");
  }
  const Ref<> one = interned(name);
  if (recording.journal.wrote_key(object, one.get())) return true;
  PyObject* old = cpython::own_attribute(type, one.get());
  if (!before_replacing(recording, old)) return false;
  recording.guards.keep(one.get());
  recording.guards.set_apart(type, one.get());
  PyObject* dict = dict_of_class(recording, type);
  // It may have been read, by whatever way that leads here.
  if (old == nullptr || !is_plain_value(old) || recording.classes.has(one.get()) ||
      recording.classes.is_seen_through(type))
    recording.guards.read(dict, one.get(), old);
  return note_attribute(recording, type, one.get());
}

bool read_type(Recording& recording, PyTypeObject* type) {
  if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return true;
  auto* object = reinterpret_cast<PyObject*>(type);
  if (recording.guards.has<TypeGuard>(type)) return true;
  if (type->tp_mro == nullptr)
    return stop(recording, BreakCode::kUnguardable,
                std::string("class ") + type->tp_name + " is still being made");
  if (PyObject* const method = unseen_special_method(type)) {
    const std::string what = std::string(PyUnicode_AsUTF8(method)) + " of a " + type->tp_name;
    PyObject* const called = _PyType_Lookup(type, method);
    if (called != nullptr && mark_of(called).mark == Mark::disabled)
      return stop(recording, BreakCode::kDisabled, what);
    return stop(recording, BreakCode::kUnknownFunction, what + " is no function");
  }
  if (is_fresh(recording, object)) return true;
  Ref<> alive = Ref<>::steal(PyWeakref_NewRef(object, nullptr));
  if (!alive) return false;
  const unsigned int version = type_version(type);
  recording.guards.add(TypeGuard{type, std::move(alive), version, TypeContents::of(type), nullptr}, object);
  return true;
}

const ObjectKind ClassKind::row = {
    .read = read_class_object, .read_item = read_parameters, .put = put, .describe = describe_class};

}  // namespace stator
