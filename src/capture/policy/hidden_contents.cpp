// capture/policy/hidden_contents.cpp: classes whose instances hold what only C code knows.
#include "capture/policy/hidden_contents.h"

#include <algorithm>
#include <string_view>

#include "capture/cpython/python_class.h"
#include "capture/cpython/type_dict.h"

namespace stator {
namespace {

// The class in C that decides how an instance is laid out.
PyTypeObject* native_base(PyTypeObject* type) {
  while (type->tp_base != nullptr && cpython::is_python_class(type)) type = type->tp_base;
  return type;
}

// Nothing can be asked of an instance but which one it is.
bool shows_nothing(const PyTypeObject* type) {
  const PyNumberMethods* number = type->tp_as_number;
  const PySequenceMethods* sequence = type->tp_as_sequence;
  const PyMappingMethods* mapping = type->tp_as_mapping;
  const PyBufferProcs* buffer = type->tp_as_buffer;
  return type->tp_richcompare == PyBaseObject_Type.tp_richcompare &&
         type->tp_hash == PyBaseObject_Type.tp_hash && type->tp_repr == PyBaseObject_Type.tp_repr &&
         type->tp_str == PyBaseObject_Type.tp_str && type->tp_iter == nullptr &&
         type->tp_iternext == nullptr &&
         (number == nullptr || (number->nb_bool == nullptr && number->nb_index == nullptr &&
                                number->nb_int == nullptr && number->nb_float == nullptr)) &&
         (sequence == nullptr || (sequence->sq_length == nullptr && sequence->sq_item == nullptr &&
                                  sequence->sq_contains == nullptr)) &&
         (mapping == nullptr || (mapping->mp_length == nullptr && mapping->mp_subscript == nullptr)) &&
         (buffer == nullptr || buffer->bf_getbuffer == nullptr);
}

// An enumeration of pybind11's: each member is one number for good, and its special methods are C code that
// looks at nothing else.
bool is_pybind_enum(PyTypeObject* type) {
  if (std::string_view(Py_TYPE(type)->tp_name) != "pybind11_type") return false;
  static PyObject* const entries = PyUnicode_InternFromString("__entries");
  return entries != nullptr && cpython::own_attribute(type, entries) != nullptr;
}

// Made once and never changed: what they hold can be read as long as they are known by address.
bool is_immutable(PyTypeObject* type) {
  for (const PyTypeObject* known :
       {&PyLong_Type, &PyFloat_Type, &PyComplex_Type, &PyUnicode_Type, &PyBytes_Type, &PyBool_Type}) {
    if (type == known) return true;
  }
  const std::string_view name = type->tp_name;
  return (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE &&
          (name == "re.Pattern" || name == "re.Match" || name == "operator.itemgetter" ||
           name == "operator.attrgetter" || name == "operator.methodcaller")) ||
         is_pybind_enum(type);
}

}  // namespace

bool shows_referents(const PyTypeObject* type) {
  static constexpr std::string_view kNames[] = {
      "functools.partial",
      "functools.KeyWrapper",
      "operator.itemgetter",
      "operator.attrgetter",
      "operator.methodcaller",
      "types.SimpleNamespace",
      "types.GenericAlias",
      "types.UnionType",
      "classmethod",
      "staticmethod",
      "property",
  };
  const bool is_python_class = type->tp_flags & Py_TPFLAGS_HEAPTYPE && cpython::is_python_class(type);
  return !is_python_class &&
         std::find(std::begin(kNames), std::end(kNames), type->tp_name) != std::end(kNames);
}

bool hides_contents(PyTypeObject* type) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return true;
  PyTypeObject* base = native_base(type);
  if (base->tp_basicsize == PyBaseObject_Type.tp_basicsize && base->tp_itemsize == 0) return false;
  if (is_immutable(base) || shows_nothing(base)) return false;
  const bool is_plain_exception =
      PyType_IsSubtype(base, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) &&
      base->tp_basicsize == sizeof(PyBaseExceptionObject);
  return !is_plain_exception;
}

}  // namespace stator
