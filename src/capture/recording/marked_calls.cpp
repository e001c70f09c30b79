// capture/recording/marked_calls.cpp: calls of callables that the user has marked.
#include "capture/recording/marked_calls.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/recording/calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/mark.h"
#include "capture/recording/paused_capture.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/results.h"
#include "capture/recording/symbols.h"

namespace stator {
namespace {

std::string name_of(PyObject* function) {
  auto text = Ref<>::steal(_PyObject_FunctionStr(function));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 == nullptr) drop_error();
  return utf8 != nullptr ? utf8 : Py_TYPE(function)->tp_name;
}

// The tensor that a function is given whose result is assumed to be constant: the real one, where the call
// brings it or the capture reaches it; nullptr otherwise.
PyObject* real_tensor(Recording& recording, PyObject* tensor) {
  if (const GivenTensors::Given* given = recording.given_tensors.find(tensor)) return given->real;
  return is_pinned(recording, tensor) ? tensor : nullptr;
}

}  // namespace

bool is_domains_own_break(const Recording& recording) {
  if (recording.frame == nullptr || !PyDict_Check(recording.frame->globals)) return false;
  PyObject* name = PyDict_GetItemString(recording.frame->globals, "__name__");  // borrowed
  const char* text = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  const std::string package = recording.domain.package();
  return text != nullptr && !package.empty() && std::string_view(text).starts_with(package + ".");
}

bool before_marked_call(Recording& recording, const Marked& marked, PyObject* callable,
                        PyObject* const* arguments, Py_ssize_t count) {
  switch (marked.mark) {
    case Mark::captured:
      // Its C code calls the function, whose frames are then captured like any other.
      if (!is_known(recording, callable))
        return stop(recording, BreakCode::kUnguardable, "a compiled function of unknown origin");
      if (is_pinned(recording, callable))
        pin(recording, marked.function,
            {Origin::attribute, callable, Ref<>::steal(PyUnicode_FromString("__wrapped__"))});
      return before_call_with(recording, marked.function, arguments, count);
    case Mark::constant:
      for (Py_ssize_t i = 0; i < count; i++) {
        if (recording.domain.is_tensor(arguments[i]) && real_tensor(recording, arguments[i]) != nullptr)
          continue;
        if (recording.domain.is_tensor(arguments[i]))
          return stop(recording, BreakCode::kUnguardable,
                      "a tensor that is computed here is given to " + name_of(marked.function) +
                          ", whose result is assumed to be constant");
        if (!read_contents(recording, arguments[i])) return false;
      }
      expect_result(recording);
      return true;
    case Mark::opaque:
      for (Py_ssize_t i = 0; i < count; i++) {
        if (!recording.domain.is_tensor(arguments[i]) && !read_contents(recording, arguments[i]))
          return false;
      }
      expect_result(recording);
      return true;
    case Mark::skipped:
      if (PyFunction_Check(callable) && is_domains_own_break(recording)) {
        expect_result(recording);
        return true;
      }
      return stop(recording, BreakCode::kSkipped, name_of(marked.function));
    default:
      return stop(recording, BreakCode::kDisabled, name_of(marked.function));
  }
}

std::optional<bool> before_marked_method(Recording& recording, PyObject* method, PyObject* self,
                                         PyObject* const* arguments, Py_ssize_t count) {
  Ref<> function = Ref<>::share(method);
  const bool is_static = Py_IS_TYPE(method, &PyStaticMethod_Type);
  if (is_static) function = Ref<>::steal(PyObject_GetAttrString(method, "__func__"));
  const Marked marked = function ? mark_of(function.get()) : Marked{};
  if (marked.mark == Mark::none) return std::nullopt;
  PyTypeObject* type = Py_TYPE(self);
  if (!is_known(recording, self))
    return stop(recording, BreakCode::kUnguardable,
                std::string("an object of unknown origin is called (") + type->tp_name + ")");
  if (!read_type(recording, type)) return false;
  pin(recording, function.get(),
      {Origin::attribute, reinterpret_cast<PyObject*>(type), Ref<>::steal(PyUnicode_FromString("__call__"))});
  recording.pending.pop_back();  // of the call of `self`; the mark decides what is expected
  std::vector<PyObject*> all;
  all.reserve(static_cast<size_t>(count) + 1);
  if (!is_static) all.push_back(self);
  for (Py_ssize_t i = 0; i < count; i++) all.push_back(arguments[i]);
  return before_marked_call(recording, marked, function.get(), all.data(),
                            static_cast<Py_ssize_t>(all.size()));
}

PyObject* opaque_result(Recording& recording, PyObject* function, PyObject* const* arguments, size_t flags,
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
    PausedCapture paused(recording.capture);
    result = recording.capture.opaque_call(function, positional.get(), named.get(), why);
    if (!result) drop_error();
  }
  if (!result) {
    stop(recording, BreakCode::kShapeInference, name_of(function) + ": " + why);
    return nullptr;
  }
  return result.release();
}

PyObject* constant_result(Recording& recording, PyObject* function, PyObject* const* arguments, size_t flags,
                          PyObject* keywords) {
  // What it keeps outlives the symbols of this capture.
  const Py_ssize_t named = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  const auto count = static_cast<size_t>(PyVectorcall_NARGS(flags) + named);
  std::vector<Ref<>> given(count);
  std::vector<PyObject*> plain(count);
  for (size_t i = 0; i < count; i++) {
    PyObject* const real =
        recording.domain.is_tensor(arguments[i]) ? real_tensor(recording, arguments[i]) : nullptr;
    given[i] = real != nullptr ? Ref<>::share(real) : key_of(recording, arguments[i]);
    plain[i] = given[i].get();
    if (plain[i] == nullptr) return nullptr;
  }
  Ref<> result;
  {
    PausedCapture paused(recording.capture);
    result = Ref<>::steal(PyObject_Vectorcall(function, plain.data(),
                                              static_cast<size_t>(PyVectorcall_NARGS(flags)), keywords));
  }
  if (!result) {
    // The function that runs natively raises it again.
    stop(recording, BreakCode::kException, name_of(function) + " raises");
    return nullptr;
  }
  pin(recording, result.get(),
      {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString(("constant " + name_of(function)).c_str()))});
  recording.guards.keep(result.get());
  return result.release();
}

}  // namespace stator
