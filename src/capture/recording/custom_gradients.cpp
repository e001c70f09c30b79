// capture/recording/custom_gradients.cpp: functions of the program's that bring a gradient of their own.
//
// Such a call becomes one node, which makes the very call again in every run: forward and gradient are the
// program's Python code. Here its forward is followed once, unrecorded, to learn what comes out of it. What
// it reads is guarded like everything else; it must leave nothing behind, and must not read what the program
// has written before it, since the program's writes are made when the graph has run.
#include "capture/hook/engine.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

PyObject* call_followed(PyObject* apply, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  Recording* recording = thread_context.recording;
  if (recording == nullptr)
    return PyObject_Vectorcall(apply, arguments, static_cast<size_t>(count), keywords);
  return recording->followed_result(apply, arguments, count);
}

PyMethodDef followed_call = {"apply",
                             reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_followed)),
                             METH_FASTCALL | METH_KEYWORDS, nullptr};

PyObject* class_of(PyObject* apply) { return reinterpret_cast<PyCFunctionObject*>(apply)->m_self; }

std::string name_of(PyObject* apply) { return reinterpret_cast<PyTypeObject*>(class_of(apply))->tp_name; }

}  // namespace

// On the stack the function gives way to one that calls it, and knows what comes back.
bool Recording::follow_call(PyObject*& callable) {
  if (Ref<> instead = domain_.called_instead(callable)) Py_SETREF(callable, instead.release());
  if (!PyCFunction_Check(callable) || class_of(callable) == nullptr || !PyType_Check(class_of(callable)) ||
      std::string_view(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name) != "apply" ||
      domain_.classify(callable) != CallKind::autograd)
    return true;
  PyObject* followed = PyCFunction_New(&followed_call, callable);
  if (followed == nullptr) return false;
  Py_SETREF(callable, followed);
  return true;
}

bool Recording::is_followed(PyObject* callable) {
  return PyCFunction_Check(callable) &&
         reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &followed_call;
}

// Nobody can change it behind the graph's back.
bool Recording::stays_as_given(PyObject* argument) const {
  if (domain_.is_tensor(argument) || domain_.is_immutable(argument) || is_constant(argument)) return true;
  if (!PyTuple_CheckExact(argument)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(argument); i++) {
    if (!stays_as_given(PyTuple_GET_ITEM(argument, i))) return false;
  }
  return true;
}

// The functions of a class that C code is about to call: which of them is given an object that is made for
// it.
bool Recording::before_class_call(PyObject* owner) {
  const auto text = [](const char* name) { return Ref<>::steal(PyUnicode_InternFromString(name)); };
  const char* taker = domain_.takes_new_object(owner);
  for (const Ref<>& name : {text("forward"), text(taker)}) {
    if (!read_attribute(owner, name.get())) return false;
    const Ref<> function = Ref<>::steal(PyObject_GetAttr(owner, name.get()));
    if (!function) return false;
    // A class method is given the class before that object.
    const bool is_bound = Py_IS_TYPE(function.get(), &PyMethod_Type);
    given_new_object_ = is_bound ? PyMethod_GET_FUNCTION(function.get()) : function.get();
  }
  return true;
}

bool Recording::before_followed_call(PyObject* callable, PyObject* const* arguments, Py_ssize_t count) {
  PyObject* apply = reinterpret_cast<PyCFunctionObject*>(callable)->m_self;
  for (const Written& written : journal_.written()) {
    if (written.kind == Written::Kind::type || written.kind == Written::Kind::slot)
      return stop(BreakCode::kAutogradFunction,
                  name_of(apply) + ": it might read an attribute that was written");
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!stays_as_given(arguments[i]))
      return stop(BreakCode::kAutogradFunction,
                  name_of(apply) + ": an argument is a " + Py_TYPE(arguments[i])->tp_name);
    look_at(arguments[i]);
  }
  return before_class_call(class_of(apply));
}

PyObject* Recording::followed_result(PyObject* apply, PyObject* const* arguments, Py_ssize_t count) {
  auto given = Ref<>::steal(PyTuple_New(count));
  if (!given) return nullptr;
  for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(given.get(), i, Py_NewRef(arguments[i]));
  const uint64_t writes = journal_.writes();
  std::string why;
  following_++;
  Ref<> result = capture_.followed_call(apply, given.get(), why);
  following_--;
  if (result && journal_.writes() != writes) {
    result = {};
    why = "its forward writes to an object that existed before";
  }
  if (result) return result.release();
  note_error();
  if (!stop_.happened()) {
    PyErr_Clear();
    stop(BreakCode::kAutogradFunction, name_of(apply) + ": " + why);
  }
  stop(*stop_.code);  // an error is set, whatever became of the first one
  return nullptr;
}

// Backward would make again what the code writes there; a program makes its writes once.
bool Recording::before_region_mark() {
  if (!writes_before_region_) {
    writes_before_region_ = journal_.writes();
    return true;
  }
  if (journal_.writes() != *writes_before_region_)
    return stop(BreakCode::kHigherOrderOperator,
                "torch.utils.checkpoint of code that writes to an object that existed before");
  writes_before_region_.reset();
  return true;
}

// Whether code is followed that cannot see what the program wrote here.
bool Recording::is_withheld(PyObject* object) {
  if (following_ == 0 || journal_.find(object) == nullptr) return false;
  stop(BreakCode::kAutogradFunction, "its forward reads what the program has written before");
  return true;
}

}  // namespace stator
