// capture/guards/guard_check.cpp: whether a guard holds, by looking at all that it relies on.
#include "capture/cpython/ordered_dict.h"
#include "capture/guards/guard.h"

namespace stator {
namespace {

bool check_dict_contents(const DictGuard& guard) {
  if (guard.whole) {
    if (PyDict_GET_SIZE(guard.dict) != static_cast<Py_ssize_t>(guard.reads.size())) return false;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    for (const DictGuard::Read& read : guard.reads) {
      if (!PyDict_Next(guard.dict, &position, &key, &value)) return false;
      PyObject* const expected = read.key.get();
      if (expected == nullptr || !expect(expected).matches(key) || !read.value.matches(value)) return false;
    }
    return true;
  }
  for (const DictGuard::Read& read : guard.reads) {
    if (!read.value.matches(read.found_in(guard.dict))) return false;
  }
  return true;
}

struct Checker {
  FoundByGuards found;
  bool bind(const NumberBinding& number, PyObject* value) const {
    return bind_number(value, number.is_real, number.symbol, found.bindings);
  }
  bool check_part(const TupleItemGuard::Part& part, PyObject* value) const {
    if (part.tensor) {
      if (!part.tensor->holds(value, found.bindings)) return false;
      found.tensors.push_back(value);
      return true;
    }
    if (part.number) return bind(*part.number, value);
    if (!part.is_tuple) return part.constant.matches(value);
    if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != static_cast<Py_ssize_t>(part.items.size()))
      return false;
    for (size_t i = 0; i < part.items.size(); i++) {
      if (!check_part(part.items[i], PyTuple_GET_ITEM(value, static_cast<Py_ssize_t>(i)))) return false;
    }
    return true;
  }
  bool operator()(const TupleItemGuard& guard) const {
    PyObject* const key = guard.key.get();
    PyObject* const value = key != nullptr ? item_at(guard.container, key) : nullptr;
    return value != nullptr && check_part(guard.whole, value);
  }
  bool operator()(const DictGuard& guard) const { return check_dict_contents(guard); }
  bool operator()(ListGuard& guard) const {
    const size_t count = guard.items.size();
    if (PyList_GET_SIZE(guard.list) != static_cast<Py_ssize_t>(count)) return false;
    for (size_t i = 0; i < count; i++) {
      ExpectedValue& expected = guard.items[i];
      if (expected.object != nullptr && !expected.is_now(PyList_GET_ITEM(guard.list, i))) return false;
    }
    return true;
  }
  bool operator()(TypeGuard& guard) const {
    if (PyWeakref_GET_OBJECT(guard.alive.get()) != reinterpret_cast<PyObject*>(guard.type)) return false;
    if (guard.version != 0 && guard.type->tp_version_tag == guard.version) return true;
    if (!guard.contents->match(guard.type, guard.apart.get())) return false;
    guard.version = type_version(guard.type);
    return true;
  }
  bool operator()(const ObjectGuard& guard) const {
    return Py_TYPE(guard.object) == guard.type &&
           (guard.dict_slot == nullptr || *guard.dict_slot == guard.dict);
  }
  bool operator()(const FunctionGuard& guard) const {
    const PyFunctionObject* function = guard.function;
    return PyFunction_Check(reinterpret_cast<PyObject*>(guard.function)) &&
           function->func_code == guard.code && function->func_defaults == guard.defaults &&
           function->func_kwdefaults == guard.keyword_defaults && function->func_closure == guard.closure &&
           function->func_globals == guard.globals;
  }
  bool operator()(TupleGuard& guard) const {
    if (Py_TYPE(guard.tuple) != guard.type ||
        PyTuple_GET_SIZE(guard.tuple) != static_cast<Py_ssize_t>(guard.items.size()))
      return false;
    for (size_t i = 0; i < guard.items.size(); i++) {
      if (!guard.items[i].is_now(PyTuple_GET_ITEM(guard.tuple, i))) return false;
    }
    return true;
  }
  bool operator()(const MethodGuard& guard) const {
    if (Py_TYPE(guard.method) != guard.type) return false;
    const MethodFields fields = fields_of(guard.method);
    return *fields.function == guard.function && *fields.self == guard.self;
  }
  bool operator()(CellGuard& guard) const { return guard.content.is_now(PyCell_GET(guard.cell)); }
  bool operator()(SlotGuard& guard) const {
    return guard.content.is_now(read_slot(guard.object, guard.descriptor).get());
  }
  bool operator()(OrderGuard& guard) const {
    const cpython::OrderNode* node = cpython::ordered(guard.dict)->first;
    for (const ExpectedValue& key : guard.keys) {
      if (node == nullptr || !key.matches(node->key)) return false;
      node = node->next;
    }
    return node == nullptr;
  }
  bool operator()(ItemsGuard& guard) const {
    if (guard.mask >= 0 && reinterpret_cast<PySetObject*>(guard.container)->mask != guard.mask) return false;
    size_t count = 0;
    const bool same = each_item(guard.container, [&](PyObject* item) {
      return count < guard.items.size() && guard.items[count++].is_now(item);
    });
    return same && count == guard.items.size();
  }
  bool operator()(FieldGuard& guard) const { return guard.content.is_now(*guard.field); }
  bool operator()(const AnswerGuard& guard) const {
    auto now = Ref<>::steal(PyObject_CallNoArgs(guard.function.get()));
    if (!now) PyErr_Clear();
    return now && Py_TYPE(now.get()) == Py_TYPE(guard.answer.get()) &&
           PyObject_RichCompareBool(now.get(), guard.answer.get(), Py_EQ) == 1;
  }
  bool operator()(const NoExceptionGuard&) const { return !Ref<>::steal(PyErr_GetHandledException()); }
  bool operator()(const ContextVariableGuard& guard) const {
    return guard.content.matches(read_context_variable(guard.variable).get());
  }
  bool operator()(const GetterGuard& guard) const {
    const Ref<> value = read_getter(guard.object, guard.descriptor);
    if (!value) PyErr_Clear();
    return value && guard.content.matches(value.get());
  }
  bool operator()(const GivenAttributeGuard& guard) const {
    PyObject** dict = _PyObject_GetDictPtr(found.tensors[*guard.tensor]);
    return guard.value.matches(dict != nullptr && *dict != nullptr ? item_at(*dict, guard.name.get())
                                                                   : nullptr);
  }
  bool operator()(const PinnedTensorGuard& guard) const {
    return guard.guard->holds(guard.tensor, found.bindings);
  }
  bool operator()(const NumberGuard& guard) const {
    PyObject* const key = guard.key.get();
    PyObject* const value = key != nullptr ? item_at(guard.container, key) : nullptr;
    return value != nullptr && bind(guard.number, value);
  }
  bool operator()(const TensorItemGuard& guard) const {
    PyObject* tensor = guard.find();
    if (tensor == nullptr || !guard.guard->holds(tensor, found.bindings)) return false;
    found.tensors.push_back(tensor);
    return true;
  }
};

}  // namespace

ObjectGuard::ObjectGuard(PyObject* object) : object(object), type(Py_TYPE(object)) {
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
    type_name = Ref<>::share(reinterpret_cast<PyHeapTypeObject*>(type)->ht_name);
  else
    type_name = Ref<>::steal(PyUnicode_InternFromString(type->tp_name));
  if (!type_name) PyErr_Clear();
}

PyObject* DictGuard::Read::found_in(PyObject* dict) const {
  PyObject* const held = key.get();
  return held != nullptr ? item_at(dict, held) : nullptr;
}

MethodFields fields_of(PyObject* method) {
  if (PyMethod_Check(method)) {
    auto* bound = reinterpret_cast<PyMethodObject*>(method);
    return {&bound->im_func, &bound->im_self};
  }
  auto* bound = reinterpret_cast<PyCFunctionObject*>(method);
  return {reinterpret_cast<PyObject* const*>(&bound->m_ml), &bound->m_self};
}

bool holds(Guard& guard, FoundByGuards found) { return std::visit(Checker{found}, guard); }

PyObject* item_at(PyObject* container, PyObject* key) {
  if (PyDict_Check(container)) {
    PyObject* found = PyDict_GetItemWithError(container, key);
    if (found == nullptr) PyErr_Clear();
    return found;
  }
  if (PyCell_Check(container)) return PyCell_GET(container);
  if (!PyList_Check(container)) {
    // The container keeps what its getter gives.
    PyObject* descriptor = _PyType_Lookup(Py_TYPE(container), key);
    const Ref<> found = descriptor != nullptr ? read_getter(container, descriptor) : Ref<>();
    if (!found) PyErr_Clear();
    return found.get();
  }
  const Py_ssize_t index = PyLong_AsSsize_t(key);
  return index < PyList_GET_SIZE(container) ? PyList_GET_ITEM(container, index) : nullptr;
}

PyObject* TensorItemGuard::find() const {
  PyObject* const held = key.get();
  return held != nullptr ? item_at(container, held) : nullptr;
}

bool bind_number(PyObject* value, bool is_real, uint32_t symbol, shape::Bindings& bindings) {
  if (is_real) {
    if (!PyFloat_CheckExact(value)) return false;
    bindings.reals[symbol] = PyFloat_AS_DOUBLE(value);
    return true;
  }
  int overflow = 0;
  if (!PyLong_CheckExact(value)) return false;
  bindings.ints[symbol] = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

}  // namespace stator
