// bindings/capture/module.cpp: the extension module stator._capture.
#include "bindings/capture/compiled.h"
#include "bindings/capture/function_wrapper.h"
#include "bindings/capture/interpreted.h"
#include "bindings/capture/marked.h"
#include "bindings/capture/scoped_attributes.h"
#include "bindings/capture/stance.h"
#include "capture/cpython/ref.h"
#include "capture/engine/engine.h"
#include "capture/interpreter/gadget.h"
#include "capture/no_tensors.h"
#include "capture/policy/native_table.h"
#include "capture/recording/frame_owners.h"
#include "capture/recording/random_breaks.h"
#include "capture/session/callee_captures.h"

namespace stator {
namespace {

PyObject* interpret_everything(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  Engine::get().interpret_everything(truth != 0);
  Py_RETURN_NONE;
}

bool set_count(PyObject* dict, const char* name, uint64_t count) {
  auto number = Ref<>::steal(PyLong_FromUnsignedLongLong(count));
  return number && PyDict_SetItemString(dict, name, number.get()) == 0;
}

PyObject* statistics(PyObject*, PyObject*) {
  const Statistics& counted = Engine::get().statistics;
  auto result = Ref<>::steal(PyDict_New());
  auto reasons = Ref<>::steal(PyDict_New());
  if (!result || !reasons) return nullptr;
  static const char* const kReasons[] = {"a tool was switched on", "instruction limit"};
  bool ok = set_count(result.get(), "frames", counted.frames) &&
            set_count(result.get(), "finished", counted.finished) &&
            set_count(result.get(), "passed", counted.passed) &&
            set_count(result.get(), "handed_over", counted.handed_over);
  for (size_t i = 0; ok && i < counted.by_opcode.size(); i++) {
    if (counted.by_opcode[i] != 0) {
      ok = set_count(reasons.get(), opcode_name(static_cast<Opcode>(i)), counted.by_opcode[i]);
    }
  }
  for (size_t i = 0; ok && i < counted.by_reason.size(); i++) {
    if (counted.by_reason[i] != 0) ok = set_count(reasons.get(), kReasons[i], counted.by_reason[i]);
  }
  if (!ok || PyDict_SetItemString(result.get(), "handover_reasons", reasons.get()) < 0) return nullptr;
  return result.release();
}

PyObject* break_at_random(PyObject*, PyObject* arguments) {
  RandomBreaks breaks;
  if (!PyArg_ParseTuple(arguments, "I|I", &breaks.one_in, &breaks.seed)) return nullptr;
  random_breaks = breaks;
  Py_RETURN_NONE;
}

PyObject* capture_everything(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  // Never freed: a thread may be in the middle of it.
  static CalleeCaptures* const captures =
      new CalleeCaptures(no_tensors(), CaptureOptions{}, /*limit=*/3, /*every=*/true);
  Engine::get().capture_everything(truth != 0 ? captures : nullptr);
  Py_RETURN_NONE;
}

PyObject* capture_statistics(PyObject*, PyObject*) {
  const Statistics& counted = Engine::get().statistics;
  auto result = Ref<>::steal(PyDict_New());
  const bool ok = result && set_count(result.get(), "captures", counted.captures) &&
                  set_count(result.get(), "stops", counted.stops) &&
                  set_count(result.get(), "served", counted.served) &&
                  set_count(result.get(), "unrestored", counted.unrestored);
  return ok ? result.release() : nullptr;
}

PyObject* native_functions(PyObject*, PyObject*) {
  auto result = Ref<>::steal(PyDict_New());
  for (const NamedFunction& function : named_functions()) {
    PyObject* const found = function.is_found ? Py_True : Py_False;
    if (!result || PyDict_SetItemString(result.get(), function.path.c_str(), found) < 0) return nullptr;
  }
  return result.release();
}

PyObject* reset_statistics(PyObject*, PyObject*) {
  Engine::get().statistics = {};
  Py_RETURN_NONE;
}

PyObject* own_code(PyObject*, PyObject* code) {
  if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "a code object is needed");
  if (!is_owned_code(reinterpret_cast<PyCodeObject*>(code))) note_owned_code(code);
  Py_RETURN_NONE;
}

PyObject* owners_of_line(PyObject*, PyObject* line) {
  const unsigned long number = PyLong_AsUnsignedLong(line);
  if (PyErr_Occurred()) return nullptr;
  auto list = Ref<>::steal(PyList_New(0));
  for (const FrameOwner* owner : frame_owners(static_cast<LineId>(number))) {
    const auto row = Ref<>::steal(
        Py_BuildValue("(NOs)", PyLong_FromVoidPtr(owner->object), owner->type.get(), owner->source.c_str()));
    if (!list || !row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

PyMethodDef functions[] = {
    {"interpret_everything", interpret_everything, METH_O,
     "interpret_everything(on)\n--\n\nInterprets every Python frame of every thread, or stops doing so."},
    {"capture_everything", capture_everything, METH_O,
     "capture_everything(on)\n--\n\nCaptures every function that is called, in every thread, or stops doing "
     "so."},
    {"break_at_random", break_at_random, METH_VARARGS,
     "break_at_random(one_in, seed=0, /)\n--\n\nCaptures break at one of so many instructions, drawn by the "
     "seed, beside those that are not captured; 0: at no others."},
    {"capture_statistics", capture_statistics, METH_NOARGS,
     "capture_statistics()\n--\n\nWhat became of the functions that were captured on their own."},
    {"statistics", statistics, METH_NOARGS, "statistics()\n--\n\nWhat became of the frames so far."},
    {"own_code", own_code, METH_O,
     "own_code(code, /)\n--\n\nFrames of this code belong to their first argument."},
    {"owners_of_line", owners_of_line, METH_O,
     "owners_of_line(line, /)\n--\n\n(id, class, source) of each object whose frames led to a line of the "
     "capture that is being made, outermost first."},
    {"native_functions", native_functions, METH_NOARGS,
     "native_functions()\n--\n\nThe C functions that have a row, and whether this Python has them."},
    {"reset_statistics", reset_statistics, METH_NOARGS, "reset_statistics()\n--\n\nStarts counting anew."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "stator._capture",
                          "Frames and the bytecode interpreter.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace stator

PyMODINIT_FUNC PyInit__capture() {
  auto module = stator::Ref<>::steal(PyModule_Create(&stator::definition));
  if (!module || !stator::Engine::get().start() || !stator::make_gadgets() ||
      !stator::add_function_wrapper(module.get()) || !stator::add_interpreted(module.get()) ||
      !stator::add_stance(module.get()) || !stator::add_marked(module.get()) ||
      !stator::add_scoped_attributes(module.get()) || !stator::add_compiled(module.get()))
    return nullptr;
  return module.release();
}
