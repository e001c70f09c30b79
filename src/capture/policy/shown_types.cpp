// capture/policy/shown_types.cpp: the types of C whose instances are put into words without their address.
#include "capture/policy/shown_types.h"

#include <algorithm>
#include <string_view>

namespace stator {
namespace {

constexpr std::string_view kValues[] = {
    "int",
    "float",
    "complex",
    "bool",
    "str",
    "bytes",
    "bytearray",
    "NoneType",
    "ellipsis",
    "NotImplementedType",
    "range",
    "type",
    "module",
    "array.array",
    "decimal.Decimal",
    "method_descriptor",
    "classmethod_descriptor",
    "wrapper_descriptor",
    "getset_descriptor",
    "member_descriptor",
    "re.Pattern",
    "re.Match",
    "typing.TypeVar",
    "typing.ParamSpec",
};

constexpr std::string_view kContainers[] = {
    "tuple",
    "list",
    "dict",
    "set",
    "frozenset",
    "slice",
    "method",
    "mappingproxy",
    "dict_keys",
    "dict_values",
    "dict_items",
    "odict_keys",
    "odict_values",
    "odict_items",
    "staticmethod",
    "classmethod",
    "BaseException",
    "collections.deque",
    "collections.defaultdict",
    "collections.OrderedDict",
    "functools.partial",
    "itertools.count",
    "itertools.repeat",
    "operator.attrgetter",
    "operator.itemgetter",
    "operator.methodcaller",
    "types.GenericAlias",
    "types.SimpleNamespace",
    "types.UnionType",
    "typing.Union",
};

template <size_t count>
bool is_among(const std::string_view (&names)[count], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_by_program(PyTypeObject* type, const char* method) {
  auto* const name = PyUnicode_InternFromString(method);
  PyObject* const found = name != nullptr ? _PyType_Lookup(type, name) : nullptr;
  Py_XDECREF(name);
  return found != nullptr && PyFunction_Check(found);
}

// The class in C that a type has this function from.
template <reprfunc PyTypeObject::*slot>
const PyTypeObject* origin_of(const PyTypeObject* type) {
  while (type->tp_base != nullptr && type->tp_base->*slot == type->*slot) type = type->tp_base;
  return type;
}

ShownAs shown_as(const PyTypeObject* origin) {
  const std::string_view name = origin->tp_name;
  if (is_among(kValues, name) || name.starts_with("datetime.")) return ShownAs::value;
  // Named tuples of C (`time.struct_time`) are tuples.
  if (is_among(kContainers, name) || PyType_IsSubtype(const_cast<PyTypeObject*>(origin), &PyTuple_Type))
    return ShownAs::contents;
  const bool is_exception = PyType_IsSubtype(const_cast<PyTypeObject*>(origin),
                                             reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
  return is_exception ? ShownAs::contents : ShownAs::address;
}

}  // namespace

ShownAs shown_by_repr(PyTypeObject* type) {
  if (is_by_program(type, "__repr__")) return ShownAs::by_program;
  return shown_as(origin_of<&PyTypeObject::tp_repr>(type));
}

ShownAs shown_by_str(PyTypeObject* type) {
  if (type->tp_str == PyBaseObject_Type.tp_str) return shown_by_repr(type);
  if (is_by_program(type, "__str__")) return ShownAs::by_program;
  return shown_as(origin_of<&PyTypeObject::tp_str>(type));
}

}  // namespace stator
