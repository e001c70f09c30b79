/* capture/cpython/instance_values.c: values of instances, on each version where it keeps them. */
#define Py_BUILD_CORE_MODULE 1
#include "capture/cpython/instance_values.h"

#include "internal/pycore_dict.h"
#include "internal/pycore_object.h"

#if STATOR_PY == 311
static int has_values(const PyTypeObject* type) { return (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0; }

static PyDictValues* values_of(PyObject* object) { return *_PyObject_ValuesPointer(object); }
#elif STATOR_PY == 312
static int has_values(const PyTypeObject* type) { return (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0; }

static PyDictValues* values_of(PyObject* object) {
  const PyDictOrValues found = *_PyObject_DictOrValuesPointer(object);
  return _PyDictOrValues_IsValues(found) ? _PyDictOrValues_GetValues(found) : NULL;
}
#else
static int has_values(const PyTypeObject* type) { return (type->tp_flags & Py_TPFLAGS_INLINE_VALUES) != 0; }

static PyDictValues* values_of(PyObject* object) {
  PyDictValues* values = _PyObject_InlineValues(object);
  return values->valid && _PyObject_GetManagedDict(object) == NULL ? values : NULL;
}
#endif

Py_ssize_t stator_value_index(PyTypeObject* type, PyObject* name) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || !has_values(type)) return -1;
  PyDictKeysObject* keys = ((PyHeapTypeObject*)type)->ht_cached_keys;
  if (keys == NULL || !DK_IS_UNICODE(keys)) return -1;
  for (Py_ssize_t i = 0; i < keys->dk_nentries; i++) {
    if (DK_UNICODE_ENTRIES(keys)[i].me_key == name) return i;
  }
  return -1;
}

int stator_store_value(PyObject* object, Py_ssize_t index, PyObject* value) {
  if (!has_values(Py_TYPE(object))) return 0;
  PyDictValues* values = values_of(object);
  if (values == NULL || values->values[index] != NULL) return 0;
  values->values[index] = Py_NewRef(value);
  _PyDictValues_AddToInsertionOrder(values, index);
  return 1;
}

int stator_has_no_attributes(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  const PyDictValues* const values = has_values(type) ? values_of(object) : NULL;
  if (values == NULL) {
    PyObject** const dict = _PyObject_GetDictPtr(object);
    return dict == NULL || *dict == NULL || PyDict_GET_SIZE(*dict) == 0;
  }
  const PyDictKeysObject* const keys = ((PyHeapTypeObject*)type)->ht_cached_keys;
  for (Py_ssize_t i = 0; keys != NULL && i < keys->dk_nentries; i++) {
    if (values->values[i] != NULL) return 0;
  }
  return 1;
}
