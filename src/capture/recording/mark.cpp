// capture/recording/mark.cpp: the callable types that carry a mark.
#include "capture/recording/mark.h"

#include <array>
#include <cstring>
#include <unordered_map>

#include "capture/engine/engine.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/marked_calls.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

struct Row {
  PyTypeObject* type = nullptr;
  Marked (*read)(PyObject*) = nullptr;
};
std::array<Row, 2> rows;  // written while the extension module is initialised

constexpr const char* kNames[] = {"none", "captured", "disabled", "skipped", "constant", "opaque"};

// By address: a function that comes to lie where a marked one was has the usual vectorcall.
std::unordered_map<PyObject*, Mark>& marked_functions() {
  static auto* const functions = new std::unordered_map<PyObject*, Mark>;
  return *functions;
}
vectorcallfunc usual_vectorcall = nullptr;

PyObject* call_marked(PyObject* function, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  Recording* recording = thread_context.recording;
  const Mark mark = marked_functions()[function];
  if (recording == nullptr) {
    // Below a compiled function that runs eagerly, a break is one still.
    if (mark == Mark::skipped && thread_context.callees() != nullptr && stop_policy.is_error != nullptr &&
        stop_policy.is_error()) {
      CaptureStop stopped;
      stopped.code = BreakCode::kSkipped;
      stop_policy.raise(stopped);
      return nullptr;
    }
    return usual_vectorcall(function, arguments, flags, keywords);
  }
  // What the domain runs by itself is no part of the program.
  if (recording->capture.runs_own_code()) return usual_vectorcall(function, arguments, flags, keywords);
  if (mark == Mark::opaque) return opaque_result(*recording, function, arguments, flags, keywords);
  if (mark == Mark::skipped) {
    if (is_domains_own_break(*recording)) Py_RETURN_NONE;
    // Called by C code: a call by an instruction has stopped before.
    stop(*recording, BreakCode::kSkipped);
    return nullptr;
  }
  return constant_result(*recording, function, arguments, flags, keywords);
}

}  // namespace

const char* name(Mark mark) { return kNames[static_cast<size_t>(mark)]; }

Mark mark_from_name(const char* name) {
  for (size_t i = 1; i < std::size(kNames); i++) {
    if (std::strcmp(name, kNames[i]) == 0) return static_cast<Mark>(i);
  }
  return Mark::none;
}

bool mark_function(PyObject* object, Mark mark) {
  auto* function = reinterpret_cast<PyFunctionObject*>(object);
  if (function->vectorcall != call_marked) {
    if (usual_vectorcall == nullptr) usual_vectorcall = function->vectorcall;
    if (function->vectorcall != usual_vectorcall) {
      PyErr_SetString(PyExc_TypeError, "stator: another library runs this function in its own way");
      return false;
    }
    function->vectorcall = call_marked;
    function->func_version = 0;  // what CPython has specialised for it no longer holds
  }
  marked_functions()[object] = mark;
  return true;
}

void recognise_mark(PyTypeObject* type, Marked (*read)(PyObject*)) {
  for (Row& row : rows) {
    if (row.type != nullptr && row.type != type) continue;
    row = {type, read};
    return;
  }
}

Marked mark_of(PyObject* callable) {
  for (const Row& row : rows) {
    if (Py_TYPE(callable) == row.type) return row.read(callable);
  }
  if (PyFunction_Check(callable) &&
      reinterpret_cast<PyFunctionObject*>(callable)->vectorcall == call_marked) {
    return {marked_functions()[callable], callable};
  }
  return {};
}

}  // namespace stator
