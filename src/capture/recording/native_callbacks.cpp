// capture/recording/native_callbacks.cpp: callables that C code is given, and what Python code gives to C
// code.
#include "capture/recording/native_callbacks.h"

#include <algorithm>
#include <string>

#include "capture/cpython/interrupts.h"
#include "capture/engine/engine.h"
#include "capture/interpreter/calls.h"
#include "capture/interpreter/interpreter.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/named_arguments.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

constexpr int kMostParameters = 8;

// The codes of `lambda a, ...: f(a, ...)` by the number of parameters, and last of `lambda *a: f(*a)`; null
// where they could not be made.
const std::vector<PyCodeObject*>& callback_codes() {
  static const std::vector<PyCodeObject*> codes = [] {
    std::vector<PyCodeObject*> made;
    for (int count = 0; count <= kMostParameters + 1; count++) {
      std::string names = count > kMostParameters ? "*a" : "";
      for (int i = 0; i < count && count <= kMostParameters; i++) names += "a" + std::to_string(i) + ",";
      const std::string text = "def make(f):\n return lambda " + names + ": f(" + names + ")";
      // The module's code holds that of `make`, which holds that of the function.
      auto code = Ref<>::steal(Py_CompileString(text.c_str(), "<stator>", Py_file_input));
      for (int level = 0; level < 2 && code; level++) {
        PyObject* constants = reinterpret_cast<PyCodeObject*>(code.get())->co_consts;
        Ref<> inner;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++) {
          if (PyCode_Check(PyTuple_GET_ITEM(constants, i)))
            inner = Ref<>::share(PyTuple_GET_ITEM(constants, i));
        }
        code = std::move(inner);
      }
      drop_error();
      made.push_back(reinterpret_cast<PyCodeObject*>(code.release()));  // never freed
    }
    return made;
  }();
  return codes;
}

// A function made here that calls `callable` with so many arguments.
Ref<> function_around(Recording& recording, PyObject* callable, int arity) {
  const auto& codes = callback_codes();
  PyCodeObject* code =
      codes[arity >= 0 && arity <= kMostParameters ? static_cast<size_t>(arity) : codes.size() - 1];
  const Ref<> globals = Ref<>::steal(PyDict_New());
  const Ref<> cell = Ref<>::steal(PyCell_New(callable));
  const Ref<> closure = Ref<>::steal(cell ? PyTuple_Pack(1, cell.get()) : nullptr);
  if (code == nullptr || !globals || !closure ||
      PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) < 0)
    return {};
  Ref<> function = Ref<>::steal(PyFunction_New(reinterpret_cast<PyObject*>(code), globals.get()));
  if (!function || PyFunction_SetClosure(function.get(), closure.get()) < 0) return {};
  make_fresh(recording, globals.get());
  make_fresh(recording, function.get());
  return function;
}

const CallSlots* slots_of_call(const Recording& recording) {
  const CallSlots& slots = recording.slots;
  return slots.frame == recording.frame && slots.at == recording.at ? &slots : nullptr;
}

// The argument that stands so far from the end.
bool replace_argument(Recording& recording, size_t from_end, Ref<> value) {
  const CallSlots* slots = slots_of_call(recording);
  if (slots == nullptr || from_end > static_cast<size_t>(slots->count)) return false;
  const Py_ssize_t index = slots->count - static_cast<Py_ssize_t>(from_end);
  if (slots->values != nullptr) {
    Py_SETREF(slots->values[index], value.release());
    return true;
  }
  if (slots->tuple == nullptr) return false;
  const Py_ssize_t positional = PyTuple_GET_SIZE(*slots->tuple);
  if (index >= positional) {
    PyObject* const copy = PyDict_Copy(*slots->dict);
    if (copy == nullptr) return false;
    make_fresh(recording, copy);
    PyObject* name = slots->names[static_cast<size_t>(index - positional)];
    if (PyDict_SetItem(copy, name, value.get()) < 0) {
      Py_DECREF(copy);
      return false;
    }
    Py_SETREF(*slots->dict, copy);
    return true;
  }
  PyObject* const copy = PyTuple_New(positional);
  if (copy == nullptr) return false;
  for (Py_ssize_t i = 0; i < positional; i++) {
    PyObject* item = i == index ? value.get() : PyTuple_GET_ITEM(*slots->tuple, i);
    PyTuple_SET_ITEM(copy, i, Py_NewRef(item));
  }
  Py_SETREF(*slots->tuple, copy);
  return true;
}

// Whether C code that calls Python code for this instruction looks at what it gives, where nothing else is
// noted: comparisons ask whether it is true, iterators that are unpacked whether to go on.
bool looks_at_values(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::CALL:
    case Opcode::CALL_KW:
    case Opcode::CALL_FUNCTION_EX:
    case Opcode::LOAD_ATTR:
    case Opcode::LOAD_METHOD:
    case Opcode::LOAD_SUPER_ATTR:
    case Opcode::STORE_ATTR:
    case Opcode::DELETE_ATTR:
    case Opcode::BINARY_SUBSCR:
    case Opcode::BINARY_SLICE:
    case Opcode::STORE_SUBSCR:
    case Opcode::STORE_SLICE:
    case Opcode::DELETE_SUBSCR:
    case Opcode::BINARY_OP:
    case Opcode::GET_ITER:
    case Opcode::GET_YIELD_FROM_ITER:
    case Opcode::BEFORE_WITH:
    case Opcode::IMPORT_NAME:
    case Opcode::IMPORT_FROM:
      return false;
    default:
      return true;
  }
}

}  // namespace

bool is_callback_code(const PyCodeObject* code) {
  const auto& codes = callback_codes();
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

size_t named_arguments(const Recording& recording, const std::vector<PyObject*>& all) {
  const CallSlots* slots = slots_of_call(recording);
  return slots != nullptr ? std::min(slots->names.size(), all.size()) : 0;
}

size_t called_argument(const Recording& recording, const Calls& calls, const std::vector<PyObject*>& all) {
  const CallSlots* slots = slots_of_call(recording);
  const size_t named = named_arguments(recording, all);
  size_t index = all.size();
  if (calls.position >= 0 && static_cast<size_t>(calls.position) < all.size() - named)
    index = static_cast<size_t>(calls.position);
  for (size_t i = 0; i < named && calls.keyword != nullptr; i++) {
    PyObject* name = slots->names[slots->names.size() - named + i];
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, calls.keyword) == 0)
      index = all.size() - named + i;
  }
  return index < all.size() && all.size() >= calls.least && PyCallable_Check(all[index]) ? index : all.size();
}

bool give_as_function(Recording& recording, const Calls& calls, std::vector<PyObject*>& all, size_t index) {
  PyObject* callable = all[index];
  if (is_python_function(callable)) return true;  // captured where its frame is entered
  const int arity = calls.arity == Calls::kOthers ? static_cast<int>(all.size()) - 1 : calls.arity;
  Ref<> function = function_around(recording, callable, arity);
  if (!function) return false;
  PyObject* const given = function.get();
  if (!replace_argument(recording, all.size() - index, std::move(function))) {
    if (PyErr_Occurred()) return false;
    return stop(recording, BreakCode::kUnknownFunction,
                std::string("a ") + Py_TYPE(callable)->tp_name + " is called by C code");
  }
  all[index] = given;  // made here, and kept as that
  return true;
}

void note_use(Recording& recording, Given given) {
  const NativeUse use{recording.frame, recording.at->at, recording.at->last(), given};
  for (size_t i = recording.uses.size(); i > 0; i--) {
    if (recording.uses[i - 1].frame != recording.frame) continue;
    recording.uses[i - 1] = use;
    return;
  }
  recording.uses.push_back(use);
}

void note_operands(Recording& recording, PyObject* left, PyObject* right) {
  const auto looks_at_items = [](PyObject* operand) {
    return PyAnySet_Check(operand) || PyDict_Check(operand) || is_view(operand);
  };
  const bool formats = PyUnicode_Check(left) || PyBytes_Check(left) || PyByteArray_Check(left);
  if (is_constant(right) || !(formats || looks_at_items(left) || looks_at_items(right))) return;
  note_use(recording, Given::looked_at);
}

void note_key(Recording& recording, PyObject* container, PyObject* key) {
  if (is_constant(key)) return;
  if (recording.domain.is_tensor(container))
    note_use(recording, Given::made_numbers);
  else if (PyDict_Check(container))
    note_use(recording, Given::looked_at);
}

// Whether the values of tensors lie in it, as far as C code comes without code of the program's.
static bool holds_tensors(const Recording& recording, PyObject* value) {
  if (recording.domain.is_tensor(value)) return true;
  if (!PyList_Check(value) && !PyTuple_Check(value)) return false;
  PyObject** const items = PySequence_Fast_ITEMS(value);
  return std::any_of(items, items + PySequence_Fast_GET_SIZE(value),
                     [&](PyObject* item) { return holds_tensors(recording, item); });
}

bool before_giving(Recording& recording, const cpython::Frame* frame, PyObject* value) {
  const cpython::Frame* const caller = frame->previous;
  if (is_constant(value) || caller == nullptr || recording.domain.answers_for_operators(frame->code))
    return true;
  const auto use = std::find_if(recording.uses.rbegin(), recording.uses.rend(),
                                [&](const NativeUse& each) { return each.frame == caller; });
  const cpython::Unit* const unit = caller->instruction;
  if (recording.domain.runs_plainly(caller->code)) return true;
  Given given = Given::looked_at;
  if (use != recording.uses.rend() && unit >= use->first && unit <= use->last) {
    given = use->given;
  } else if (const CodeState* state = Engine::get().code_state(caller->code);
             state != nullptr && state->decoded != nullptr) {
    if (!looks_at_values(*state->decoded->at_unit(unit))) given = Given::passed_on;
  }
  if (given == Given::passed_on) return true;
  if (!read_deep(recording, value)) return false;
  return given != Given::made_numbers || !holds_tensors(recording, value) ||
         stop(recording, BreakCode::kReadsMemory, "a tensor made of the values of others");
}

}  // namespace stator
