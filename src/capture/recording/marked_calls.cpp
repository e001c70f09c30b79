// capture/recording/marked_calls.cpp: calls of callables that the user has marked.
#include "capture/cpython/exported.h"
#include "capture/marks/mark.h"
#include "capture/recording/paused_capture.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

std::string name_of(PyObject* function) {
  auto text = Ref<>::steal(_PyObject_FunctionStr(function));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 == nullptr) PyErr_Clear();
  return utf8 != nullptr ? utf8 : Py_TYPE(function)->tp_name;
}

}  // namespace

bool Recording::before_marked_call(const Marked& marked, PyObject* callable, PyObject* const* arguments,
                                   Py_ssize_t count) {
  switch (marked.mark) {
    case Mark::captured:
      // Its C code calls the function, whose frames are then captured like any other.
      if (!is_known(callable)) return stop(BreakCode::kUnguardable, "a compiled function of unknown origin");
      if (is_pinned(callable))
        pin(marked.function,
            {Origin::attribute, callable, Ref<>::steal(PyUnicode_FromString("__wrapped__"))});
      return before_call_with(marked.function, arguments, count);
    case Mark::constant:
      for (Py_ssize_t i = 0; i < count; i++) {
        if (domain_.is_tensor(arguments[i]))
          return stop(BreakCode::kUnguardable, "a tensor is given to " + name_of(marked.function) +
                                                   ", whose result is assumed to be constant");
        if (!read_contents(arguments[i])) return false;
      }
      expect_result();
      return true;
    case Mark::opaque:
      for (Py_ssize_t i = 0; i < count; i++) {
        if (!domain_.is_tensor(arguments[i]) && !read_contents(arguments[i])) return false;
      }
      expect_result();
      return true;
    case Mark::skipped:
      return stop(BreakCode::kSkipped, name_of(marked.function));
    default:
      return stop(BreakCode::kDisabled, name_of(marked.function));
  }
}

std::optional<bool> Recording::before_marked_method(PyObject* method, PyObject* self,
                                                    PyObject* const* arguments, Py_ssize_t count) {
  Ref<> function = Ref<>::share(method);
  const bool is_static = Py_IS_TYPE(method, &PyStaticMethod_Type);
  if (is_static) function = Ref<>::steal(PyObject_GetAttrString(method, "__func__"));
  const Marked marked = function ? mark_of(function.get()) : Marked{};
  if (marked.mark == Mark::none) return std::nullopt;
  PyTypeObject* type = Py_TYPE(self);
  if (!is_known(self))
    return stop(BreakCode::kUnguardable,
                std::string("an object of unknown origin is called (") + type->tp_name + ")");
  if (!read_type(type)) return false;
  pin(function.get(),
      {Origin::attribute, reinterpret_cast<PyObject*>(type), Ref<>::steal(PyUnicode_FromString("__call__"))});
  pending_.pop_back();  // of the call of `self`; the mark decides what is expected
  std::vector<PyObject*> all;
  all.reserve(static_cast<size_t>(count) + 1);
  if (!is_static) all.push_back(self);
  for (Py_ssize_t i = 0; i < count; i++) all.push_back(arguments[i]);
  return before_marked_call(marked, function.get(), all.data(), static_cast<Py_ssize_t>(all.size()));
}

PyObject* Recording::opaque_result(PyObject* function, PyObject* const* arguments, size_t flags,
                                   PyObject* keywords) {
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  auto positional = Ref<>::steal(PyTuple_New(count));
  auto named = Ref<>::steal(PyDict_New());
  if (!positional || !named) return nullptr;
  for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(arguments[i]));
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_GET_SIZE(keywords); i++) {
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(keywords, i), arguments[count + i]) < 0) return nullptr;
  }
  Ref<> result;
  std::string why;
  {
    PausedCapture paused(capture_);
    result = capture_.opaque_call(function, positional.get(), named.get(), why);
    if (!result) PyErr_Clear();
  }
  if (!result) {
    stop(BreakCode::kShapeInference, name_of(function) + ": " + why);
    return nullptr;
  }
  return result.release();
}

PyObject* Recording::constant_result(PyObject* function, PyObject* const* arguments, size_t flags,
                                     PyObject* keywords) {
  // What it keeps outlives the symbols of this capture.
  const Py_ssize_t named = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  const auto count = static_cast<size_t>(PyVectorcall_NARGS(flags) + named);
  std::vector<Ref<>> given(count);
  std::vector<PyObject*> plain(count);
  for (size_t i = 0; i < count; i++) {
    given[i] = key_of(arguments[i]);
    plain[i] = given[i].get();
    if (plain[i] == nullptr) return nullptr;
  }
  Ref<> result;
  {
    PausedCapture paused(capture_);
    result = Ref<>::steal(PyObject_Vectorcall(function, plain.data(),
                                              static_cast<size_t>(PyVectorcall_NARGS(flags)), keywords));
  }
  if (!result) {
    // The function that runs natively raises it again.
    stop(BreakCode::kException, name_of(function) + " raises");
    return nullptr;
  }
  pin(result.get(),
      {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString(("constant " + name_of(function)).c_str()))});
  guards_.keep(result.get());
  return result.release();
}

}  // namespace stator
