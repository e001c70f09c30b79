// capture/recording/known_objects.cpp: which objects a capture may read and write.
#include "capture/recording/known_objects.h"

#include "capture/cpython/finalizers.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/method_wrapper.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/recording.h"

namespace stator {

void make_fresh(Recording& recording, PyObject* object) {
  if (!recording.known.fresh.insert(object).second) return;
  recording.known.kept.push_back(Ref<>::share(object));
  recording.known.made_by.push_back(recording.end.now.number);
}

size_t maker_of(const Recording& recording, PyObject* object) {
  const std::vector<Ref<>>& kept = recording.known.kept;
  for (size_t i = kept.size(); i-- > 0;) {
    if (kept[i].get() == object) return recording.known.made_by[i];
  }
  return 0;
}

void make_given(Recording& recording, PyObject* object) { recording.known.given.insert(object); }

void note_constant(Recording& recording, PyObject* constant, PyObject* parent, PyObject* key) {
  recording.known.constants.add(constant, parent, key);
}

bool is_fresh(const Recording& recording, PyObject* object) { return recording.known.fresh.contains(object); }

bool is_pinned(const Recording& recording, PyObject* object) {
  return recording.known.pinned.contains(object);
}

bool reads_freely(const Recording& recording, PyObject* object) {
  return is_fresh(recording, object) || recording.known.given.contains(object);
}

bool is_of_call(const Recording& recording, PyObject* object) {
  return reads_freely(recording, object) || find_argument(recording, object) != nullptr;
}

bool is_writable(const Recording& recording, PyObject* object) {
  return is_pinned(recording, object) || recording.known.given.contains(object) ||
         find_argument(recording, object) != nullptr;
}

bool is_identity(const Recording& recording, PyObject* number) {
  return !recording.known.identities.empty() && recording.known.identities.contains(PyLong_AsSize_t(number));
}

static bool holds_constants_only(PyObject* object) {
  if (is_constant(object)) return true;
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
    if (!holds_constants_only(PyTuple_GET_ITEM(object, i))) return false;
  }
  return true;
}

// A compiled regular expression, or what it found.
static bool is_of_re(PyObject* object) {
  const std::string_view name = Py_TYPE(object)->tp_name;
  return Py_TYPE(object)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE && (name == "re.Pattern" || name == "re.Match");
}

// What C code sees of such an object lies in its own memory, where no guard looks: the values of subclasses
// of numbers and texts too.
static bool has_value_of_its_own(PyObject* object) {
  return PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object) ||
         PyUnicode_Check(object) || PyBytes_Check(object) || PyTuple_Check(object) ||
         PyFrozenSet_Check(object) || PySlice_Check(object) || PyRange_Check(object) ||
         PyCode_Check(object) || Py_IS_TYPE(object, &PyDictProxy_Type) || PyDictKeys_Check(object) ||
         PyDictItems_Check(object) || PyDictValues_Check(object) || cpython::is_method_wrapper(object) ||
         is_of_re(object);
}

// Such a function lives as long as the module, which is known by itself.
static bool is_of_module(PyObject* function) {
  const auto* builtin = reinterpret_cast<PyCFunctionObject*>(function);
  if (builtin->m_self == nullptr || !PyModule_Check(builtin->m_self)) return false;
  PyObject* const attributes = PyModule_GetDict(builtin->m_self);
  return attributes != nullptr && PyDict_GetItemString(attributes, builtin->m_ml->ml_name) == function;
}

// Without taking part in how long it lives, where it can be watched.
static void keep_known(Recording& recording, PyObject* object) {
  Ref<> reference = Ref<>::steal(PyWeakref_NewRef(object, nullptr));
  if (reference) return recording.guards.add(AliveGuard{object, std::move(reference)}, object);
  drop_error();
  recording.guards.keep(object);
}

// What is read of an object that never changes has no guard but its address: see TupleGuard.
void hold(Recording& recording, PyObject* object) {
  if (PyTuple_Check(object) && !holds_constants_only(object)) {
    recording.guards.add(TupleGuard(object), object);
  } else if (PyMethod_Check(object) || PyCFunction_Check(object)) {
    if (PyCFunction_Check(object) && is_of_module(object)) return recording.guards.keep(object);
    recording.guards.add(MethodGuard(object), object);
  } else if (has_value_of_its_own(object) || recording.domain.is_immutable(object)) {
    keep_known(recording, object);
  }
}

static void note_class_name(Recording& recording, const PyObject* parent) {
  auto* const object = const_cast<PyObject*>(parent);
  if (!PyType_Check(object) || recording.known.class_names.contains(parent)) return;
  const char* const name = reinterpret_cast<PyTypeObject*>(object)->tp_name;
  recording.known.class_names.emplace(parent, Ref<>::steal(PyUnicode_FromString(name)));
}

void pin(Recording& recording, PyObject* object, Origin origin) {
  if (is_constant(object)) {
    note_constant(recording, object, origin.parent, origin.key.get());
    return;
  }
  if (is_of_call(recording, object)) return;
  // A function and its globals may each have been reached through the other: sources must end somewhere.
  const PyObject* parent = origin.parent;
  for (int i = 0; parent != nullptr && i < 8; i++) {
    if (parent == object) {
      origin = {Origin::root, nullptr, std::move(origin.key)};
      break;
    }
    const auto above = recording.known.pinned.find(const_cast<PyObject*>(parent));
    if (i == 0 && above == recording.known.pinned.end()) note_class_name(recording, parent);
    parent = above == recording.known.pinned.end() ? nullptr : above->second.parent;
  }
  if (recording.known.pinned.emplace(object, std::move(origin)).second) hold(recording, object);
}

bool never_changes(const Recording& recording, PyObject* object) {
  if (is_constant(object) || PyTuple_CheckExact(object) || PyFrozenSet_CheckExact(object) ||
      PyRange_Check(object) || PySlice_Check(object) || PyCFunction_Check(object) || PyCode_Check(object) ||
      Py_IS_TYPE(object, &PyMethodDescr_Type) || Py_IS_TYPE(object, &PyWrapperDescr_Type) ||
      Py_IS_TYPE(object, &PyMethod_Type)) {
    return true;
  }
  return recording.domain.is_immutable(object);
}

bool is_known(const Recording& recording, PyObject* object) {
  return is_of_call(recording, object) || is_pinned(recording, object) || never_changes(recording, object);
}

void abandon(Recording& recording) {
  for (const Ref<>& object : recording.known.kept) {
    if (cpython::has_finalizer(object.get())) cpython::drop_finalizer(object.get());
  }
}

}  // namespace stator
