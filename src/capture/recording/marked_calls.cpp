// capture/recording/marked_calls.cpp: calls of callables that the user has marked.
#include "capture/cpython/exported.h"
#include "capture/hook/engine.h"
#include "capture/marks/mark.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

std::string name_of(PyObject* function) {
  auto text = Ref<>::steal(_PyObject_FunctionStr(function));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 == nullptr) PyErr_Clear();
  return utf8 != nullptr ? utf8 : Py_TYPE(function)->tp_name;
}

// The thread does not capture while this lives.
class PausedCapture {
 public:
  explicit PausedCapture(DomainCapture& capture)
      : capture_(capture), mode_(thread_context.mode), recording_(thread_context.recording) {
    thread_context.mode = Mode::off;
    thread_context.recording = nullptr;
    capture_.pause();
  }
  ~PausedCapture() {
    capture_.resume();
    thread_context.recording = recording_;
    thread_context.mode = mode_;
  }
  PausedCapture(const PausedCapture&) = delete;
  PausedCapture& operator=(const PausedCapture&) = delete;

 private:
  DomainCapture& capture_;
  Mode mode_;
  Recording* recording_;
};

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
    case Mark::skipped:
      return stop(BreakCode::kSkipped, name_of(marked.function));
    default:
      return stop(BreakCode::kDisabled, name_of(marked.function));
  }
}

PyObject* Recording::constant_result(PyObject* function, PyObject* const* arguments, size_t flags,
                                     PyObject* keywords) {
  Ref<> result;
  {
    PausedCapture paused(capture_);
    result = Ref<>::steal(PyObject_Vectorcall(function, arguments, flags, keywords));
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
