// capture/recording/operands.cpp: how far an instruction looks into its operands, beyond contents.h.
#include "capture/recording/operands.h"

#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/object_kind.h"
#include "capture/recording/reads.h"
#include "capture/recording/unread_holders.h"

namespace stator {

static bool is_heap_type(PyTypeObject* type) { return type->tp_flags & Py_TPFLAGS_HEAPTYPE; }

bool read_class(Recording& recording, PyObject* object) {
  read_class_of(recording, object);
  return read_behaviour(recording, object);
}

// What an argument holds is noted as far as it is asked for; the methods that answer are its class's.
bool read_truth(Recording& recording, PyObject* object) {
  if (Argument* argument = find_argument(recording, object))
    return read_type(recording, Py_TYPE(object)) && read_argument_truth(recording, *argument);
  if (const ObjectKind& kind = kind_of(recording, object); kind.type == Py_TYPE(object))
    return kind.read_length(recording, object);
  read_class_of(recording, object);
  return read_contents(recording, object);
}

bool read_size(Recording& recording, PyObject* object) {
  if (Argument* argument = find_argument(recording, object))
    return read_type(recording, Py_TYPE(object)) && read_argument_length(recording, *argument);
  const ObjectKind& kind = kind_of(recording, object);
  return kind.type == Py_TYPE(object) ? kind.read_length(recording, object)
                                      : read_contents(recording, object);
}

bool read_hashed(Recording& recording, PyObject* key) {
  if (is_constant(key) || recording.domain.is_tensor(key)) return true;
  if (!PyTuple_Check(key) && !PyFrozenSet_Check(key)) {
    // By its address, or by code of its class that is captured as it runs; else by C code that looks inside.
    const bool looks_inside =
        Py_TYPE(key)->tp_hash != PyBaseObject_Type.tp_hash && !is_heap_type(Py_TYPE(key));
    return looks_inside ? read_deep(recording, key) : read_class(recording, key);
  }
  if (!read_contents(recording, key)) return false;
  if (Py_EnterRecursiveCall(" while a key is looked at")) return false;
  bool read = true;
  if (PyTuple_Check(key)) {
    for (Py_ssize_t i = 0; read && i < PyTuple_GET_SIZE(key); i++)
      read = read_hashed(recording, PyTuple_GET_ITEM(key, i));
  } else {
    read = each_item(key, [&](PyObject* item) { return read_hashed(recording, item); });
  }
  Py_LeaveRecursiveCall();
  return read;
}

bool read_members(Recording& recording, PyObject* container) {
  if (!read_contents(recording, container)) return false;
  if (PyAnySet_Check(container))
    return each_item(container, [&](PyObject* item) { return read_hashed(recording, item); });
  if (!PyDict_Check(container)) return true;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(container, &position, &key, &value)) {
    if (!read_hashed(recording, key)) return false;
  }
  return true;
}

bool read_mapping(Recording& recording, PyObject* mapping) {
  if (!(find_argument(recording, mapping) != nullptr || is_holder(recording, mapping)
            ? read_moved(recording, mapping)
            : read_members(recording, mapping)))
    return false;
  if (PyDict_Check(mapping) || !is_heap_type(Py_TYPE(mapping))) return true;
  static PyObject* const keys = PyUnicode_InternFromString("keys");
  return read_attribute(recording, mapping, keys);
}

bool read_index(Recording& recording, PyObject* container, PyObject* key) {
  if (is_constant(key)) return true;
  if (PyDict_Check(container)) return read_hashed(recording, key);
  const bool is_tensor = recording.domain.is_tensor(container);
  // Python code that is captured as it runs, unless a base in C looks it up.
  if (is_heap_type(Py_TYPE(container)) && !is_tensor && !PyList_Check(container) && !PyTuple_Check(container))
    return true;
  if (PySlice_Check(key)) {
    auto* const slice = reinterpret_cast<PySliceObject*>(key);
    return read_index(recording, container, slice->start) && read_index(recording, container, slice->stop) &&
           read_index(recording, container, slice->step);
  }
  if (PyTuple_CheckExact(key)) {
    if (!read_contents(recording, key)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
      if (!read_index(recording, container, PyTuple_GET_ITEM(key, i))) return false;
    }
    return true;
  }
  return read_deep(recording, key);
}

}  // namespace stator
