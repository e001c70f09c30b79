// bindings/capture/scoped_attributes.cpp: see the header.
#include "bindings/capture/scoped_attributes.h"

#include <vector>

#include "capture/cpython/error_scope.h"

namespace stator {
namespace {

// Sets attributes of an object, and puts the older ones back in the end.
class ScopedAttributes {
 public:
  explicit ScopedAttributes(PyObject* owner) : owner_(Ref<>::share(owner)) {}
  ~ScopedAttributes() {
    ErrorScope outer;
    for (auto each = older_.rbegin(); each != older_.rend(); ++each) {
      const auto& [name, value] = *each;
      if (PyObject_SetAttr(owner_.get(), name.get(), value.get()) < 0) drop_error();
    }
  }
  ScopedAttributes(const ScopedAttributes&) = delete;
  ScopedAttributes& operator=(const ScopedAttributes&) = delete;

  bool set(PyObject* name, PyObject* value) {
    auto older = Ref<>::steal(PyObject_GetAttr(owner_.get(), name));
    if (!older) {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
      drop_error();
    }
    if (PyObject_SetAttr(owner_.get(), name, value) < 0) return false;
    older_.push_back({Ref<>::share(name), std::move(older)});
    return true;
  }

 private:
  struct Older {
    Ref<> name;
    Ref<> value;  // none: there was no such attribute
  };

  Ref<> owner_;
  std::vector<Older> older_;
};

PyObject* call_with_attributes(PyObject*, PyObject* arguments) {
  if (PyTuple_GET_SIZE(arguments) < 3 || !PyDict_Check(PyTuple_GET_ITEM(arguments, 1))) {
    PyErr_SetString(PyExc_TypeError,
                    "call_with_attributes: an object, a dictionary and a function are needed");
    return nullptr;
  }
  ScopedAttributes scope(PyTuple_GET_ITEM(arguments, 0));
  PyObject *name, *value;
  for (Py_ssize_t at = 0; PyDict_Next(PyTuple_GET_ITEM(arguments, 1), &at, &name, &value);)
    if (!scope.set(name, value)) return nullptr;
  const auto passed = Ref<>::steal(PyTuple_GetSlice(arguments, 3, PyTuple_GET_SIZE(arguments)));
  return passed ? PyObject_CallObject(PyTuple_GET_ITEM(arguments, 2), passed.get()) : nullptr;
}

PyMethodDef functions[] = {
    {"call_with_attributes", call_with_attributes, METH_VARARGS,
     "call_with_attributes(owner, attributes, function, /, *arguments)\n--\n\nCalls the function while the "
     "object "
     "has these attributes, which are set and put back without a place in between for an interrupt."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_scoped_attributes(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace stator
