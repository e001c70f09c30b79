// capture/recording/argument_operands.cpp: before each instruction, unread values that it looks at give way
// to what stands for them.
//
// The default is strict: an instruction that is not listed here reads everything on the stack of its frame.
#include "capture/recording/argument_operands.h"

#include <algorithm>

#include "capture/cpython/exported.h"
#include "capture/cpython/traits.h"
#include "capture/interpreter/calls.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/unread_holders.h"
#include "capture/recording/unread_value.h"

namespace stator {
namespace {

using cpython::Frame;

// As many operands as the instruction has.
bool read_top(Recording& recording, PyObject** sp, int count) {
  for (int i = 1; i <= count; i++) {
    if (!read_fully(recording, sp[-i])) return false;
  }
  return true;
}

// super() finds its object in the frame.
bool read_first_local(Recording& recording, Frame* frame) {
  if (frame->code->co_argcount == 0) return true;
  PyObject*& first = frame->localsplus[0];
  if (first != nullptr && PyCell_Check(first))
    return read_at(recording, reinterpret_cast<PyCellObject*>(first)->ob_ref);
  return read_at(recording, first);
}

// A local that was read before is put into its place at once.
void settle_local(Frame* frame, int index) {
  PyObject*& local = frame->localsplus[index];
  if (!is_unread(local)) return;
  if (const Argument* argument = argument_of(local); argument != nullptr && argument->stands)
    Py_SETREF(local, Py_NewRef(argument->stands.get()));
}

bool read_before_call(Recording& recording, const Instruction& instruction, Frame* frame, PyObject** sp) {
  if (instruction.opcode == Opcode::CALL_FUNCTION_EX) {
    const bool has_keywords = (instruction.argument & 1) != 0;
    PyObject*& callable = sp[(has_keywords ? -4 : -3) + (cpython::kCallableBelowSelf ? 0 : 1)];
    PyObject** const first = &sp[has_keywords ? -2 : -1];
    if (!read_at(recording, callable) || !read_at(recording, *first) ||
        (has_keywords && !read_at(recording, sp[-1])))
      return false;
    return read_call_operands(recording, callable, first, sp);
  }
  if (instruction.opcode == Opcode::CALL_KW) sp--;
  PyObject** const base = sp - instruction.argument - 2;
  if (!read_at(recording, base[0]) || !read_at(recording, base[1])) return false;
  const bool has_self = cpython::kCallableBelowSelf ? base[1] != nullptr : base[0] != nullptr;
  PyObject* const callable = cpython::kCallableBelowSelf || has_self ? base[0] : base[1];
  if (callable == reinterpret_cast<PyObject*>(&PySuper_Type) && !read_first_local(recording, frame))
    return false;
  return read_call_operands(recording, callable, has_self ? base + 1 : base + 2, sp);
}

// Methods of dictionaries that move values and look at none of them.
bool only_moves_items(PyObject* callable) {
  static const char* const names[] = {"get", "pop", "setdefault", "__contains__", "copy"};
  PyObject* name = nullptr;
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type) && PyDescr_TYPE(callable) == &PyDict_Type)
    name = PyDescr_NAME(callable);
  return name != nullptr && std::any_of(std::begin(names), std::end(names), [&](const char* text) {
           return PyUnicode_CompareWithASCIIString(name, text) == 0;
         });
}

}  // namespace

bool hands_to_python(PyObject* callable) {
  if (Py_IS_TYPE(callable, &PyMethod_Type)) callable = PyMethod_GET_FUNCTION(callable);
  if (is_python_function(callable)) return true;
  const PyTypeObject* type = Py_TYPE(callable);
  if (PyType_Check(callable) || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  PyObject* const method = _PyType_Lookup(Py_TYPE(callable), name);
  return method != nullptr && is_python_function(method);
}

bool read_call_operands(Recording& recording, PyObject* callable, PyObject** arguments, PyObject** end) {
  if (!recording.arguments.are_lazy) return true;
  std::vector<Frame*>& passing = recording.arguments.passing;
  if (hands_to_python(callable)) {
    if (passing.empty() || passing.back() != recording.frame) passing.push_back(recording.frame);
    return true;
  }
  if (!passing.empty() && passing.back() == recording.frame) passing.pop_back();
  const bool moves = only_moves_items(callable);
  const bool hashes = Py_IS_TYPE(callable, &PyMethodDescr_Type) &&
                      (PyType_IsSubtype(PyDescr_TYPE(callable), &PyDict_Type) ||
                       PyDescr_TYPE(callable) == &PySet_Type || PyDescr_TYPE(callable) == &PyFrozenSet_Type);
  for (PyObject** place = arguments; place != end; place++) {
    const bool is_self = place == arguments;
    if (!(moves && is_self     ? read_at(recording, *place)
          : hashes && !is_self ? read_key(recording, *place)
                               : read_fully(recording, *place)))
      return false;
  }
  // A copy, or a default that was kept.
  if (moves && end != arguments && is_holder(recording, *arguments) &&
      PyUnicode_CompareWithASCIIString(PyDescr_NAME(callable), "copy") == 0)
    return read_holder(recording, *arguments);
  return true;
}

bool read_operands(Recording& recording, const Instruction& instruction, Frame* frame, PyObject** sp) {
  GivenArguments& given = recording.arguments;
  if (given.builds_holder) {
    given.builds_holder = false;
    add_holder(recording, sp[-1]);
  }
  const int argument = instruction.argument;
  switch (instruction.opcode) {
    case Opcode::LOAD_FAST:
      settle_local(frame, argument);
      return true;
    case Opcode::NOP:
    case Opcode::POP_TOP:
    case Opcode::PUSH_NULL:
    case Opcode::COPY:
    case Opcode::SWAP:
    case Opcode::LOAD_CONST:
    case Opcode::LOAD_FAST_AND_CLEAR:
    case Opcode::LOAD_FAST_LOAD_FAST:
    case Opcode::STORE_FAST:
    case Opcode::STORE_FAST_LOAD_FAST:
    case Opcode::STORE_FAST_STORE_FAST:
    case Opcode::DELETE_FAST:
    case Opcode::LOAD_CLOSURE:
    case Opcode::LOAD_GLOBAL:
    case Opcode::LOAD_DEREF:
    case Opcode::MAKE_CELL:
    case Opcode::COPY_FREE_VARS:
    case Opcode::LOAD_ASSERTION_ERROR:
    case Opcode::RESUME:
    case Opcode::JUMP_FORWARD:
    case Opcode::JUMP_BACKWARD:
    case Opcode::JUMP_BACKWARD_NO_INTERRUPT:
    case Opcode::RETURN_GENERATOR:
    case Opcode::RETURN_CONST:
      return true;
    case Opcode::RETURN_VALUE:
      // Whoever called the frame gets the value: the caller of the capture, or Python code.
      if (!given.passing.empty() && given.passing.back() == frame) given.passing.pop_back();
      if (frame == recording.first_frame ||
          (!given.passing.empty() && given.passing.back() == frame->previous))
        return true;
      return read_top(recording, sp, 1);
    default:
      break;
  }
  if (!given.passing.empty() && given.passing.back() == frame) given.passing.pop_back();
  switch (instruction.opcode) {
    case Opcode::CALL:
    case Opcode::CALL_KW:
    case Opcode::CALL_FUNCTION_EX:
      return read_before_call(recording, instruction, frame, sp);
    case Opcode::BUILD_TUPLE:
    case Opcode::BUILD_LIST:
      for (int i = 1; i <= argument; i++) {
        if (is_holder(recording, sp[-i]) && !read_holder(recording, sp[-i])) return false;
        given.builds_holder = given.builds_holder || is_unread(sp[-i]);
      }
      return true;
    case Opcode::LIST_TO_TUPLE:
      given.builds_holder = is_holder(recording, sp[-1]);
      return true;
    case Opcode::LIST_EXTEND:
    case Opcode::DICT_MERGE:
      if (!read_at(recording, sp[-1])) return false;
      if (is_holder(recording, sp[-1]) || find_argument(recording, sp[-1]) != nullptr)
        add_holder(recording, sp[-1 - argument]);
      return true;
    case Opcode::LOAD_ATTR:
    case Opcode::LOAD_METHOD:
    case Opcode::POP_JUMP_IF_FALSE:
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_NONE:
    case Opcode::POP_JUMP_IF_NOT_NONE:
    case Opcode::JUMP_IF_FALSE_OR_POP:
    case Opcode::JUMP_IF_TRUE_OR_POP:
    case Opcode::UNARY_NOT:
    case Opcode::TO_BOOL:
    case Opcode::UNPACK_SEQUENCE:
      return read_at(recording, sp[-1]);
    case Opcode::UNARY_NEGATIVE:
    case Opcode::UNARY_POSITIVE:
    case Opcode::UNARY_INVERT:
    case Opcode::GET_ITER:
    case Opcode::FORMAT_SIMPLE:
    case Opcode::CONVERT_VALUE:
    case Opcode::STORE_DEREF:
    case Opcode::STORE_GLOBAL:
    case Opcode::YIELD_VALUE:
    case Opcode::FOR_ITER:
      return read_top(recording, sp, 1);
    case Opcode::BINARY_SUBSCR:
      if (!read_key(recording, sp[-1]) || !read_at(recording, sp[-2])) return false;
      return !is_holder(recording, sp[-2]) || !PySlice_Check(sp[-1]) || read_holder(recording, sp[-2]);
    case Opcode::IS_OP:
      return read_at(recording, sp[-1]) && read_at(recording, sp[-2]);
    case Opcode::CONTAINS_OP:
      if (!read_key(recording, sp[-2]) || !read_at(recording, sp[-1])) return false;
      return !is_holder(recording, sp[-1]) || PyDict_CheckExact(sp[-1]) || read_holder(recording, sp[-1]);
    case Opcode::BINARY_OP:
    case Opcode::COMPARE_OP:
    case Opcode::STORE_ATTR:
      return read_top(recording, sp, 2);
    case Opcode::BUILD_MAP:
      for (int i = 1; i <= 2 * argument; i++) {
        if (!read_key(recording, sp[-i])) return false;
      }
      return true;
    case Opcode::BUILD_STRING:
    case Opcode::BUILD_SLICE:
      return read_top(recording, sp, argument);
    case Opcode::LIST_APPEND:
      return read_top(recording, sp, 1);
    case Opcode::STORE_SUBSCR:
      return read_key(recording, sp[-1]) && read_top(recording, sp, 3);
    default:
      break;
  }
  for (PyObject** place = cpython::stack_base(frame); place != sp; place++) {
    if (*place != nullptr && !read_key(recording, *place)) return false;
  }
  return true;
}

}  // namespace stator
