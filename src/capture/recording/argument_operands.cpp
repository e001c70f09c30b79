// capture/recording/argument_operands.cpp: before each instruction, unread values that it looks at give way
// to what stands for them.
//
// Each opcode is listed: one that is new does not compile.
#include "capture/recording/argument_operands.h"

#include <algorithm>
#include <bit>

#include "capture/bytecode/arguments.h"
#include "capture/cpython/exported.h"
#include "capture/cpython/traits.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
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

// Code, and a closure with its cells, are known where the same capture loaded them. `attributes`: the bits of
// those that the function is given, the closure being the topmost.
bool makes_known_function(Recording& recording, PyObject** sp, int attributes) {
  constexpr int kClosure = 8;
  const int count = 1 + std::popcount(static_cast<unsigned>(attributes));
  const auto known = [](PyObject* value) { return !is_unread(value); };
  bool all = std::all_of(sp - count, sp, known);
  if (all && (attributes & kClosure) != 0) {
    PyObject** const cells = PySequence_Fast_ITEMS(sp[-2]);
    all = std::all_of(cells, cells + PyTuple_GET_SIZE(sp[-2]), known);
  }
  return all || stop(recording, BreakCode::kUnguardable, "a function is made of what lay on the stack");
}

// A local that was read before is put into its place at once.
void settle_local(Frame* frame, int index) {
  PyObject*& local = frame->localsplus[index];
  if (!is_unread(local)) return;
  if (const Argument* argument = argument_of(local); argument != nullptr && argument->stands)
    Py_SETREF(local, Py_NewRef(argument->stands.get()));
}

bool keeps_references(PyObject* container) {
  return PyList_CheckExact(container) || PyDict_CheckExact(container);
}

void note_built(Recording& recording, PyObject* item) {
  bool& holds = recording.arguments.builds_holder;
  holds = holds || is_unread(item) || is_holder(recording, item);
}

// No code but that of the dictionary of attributes gets the value.
bool stores_plainly(PyObject* owner, PyObject* name) {
  if (PyModule_CheckExact(owner)) return true;
  PyTypeObject* const type = Py_TYPE(owner);
  if (PyType_Check(owner) || type->tp_setattro != PyObject_GenericSetAttr) return false;
  PyObject* const on_type = _PyType_Lookup(type, name);
  return on_type == nullptr || Py_TYPE(on_type)->tp_descr_set == nullptr;
}

}  // namespace

bool read_operands(Recording& recording, const Instruction& instruction, Frame* frame, PyObject** sp) {
  GivenArguments& given = recording.arguments;
  if (given.builds_holder) {
    given.builds_holder = false;
    add_holder(recording, sp[-1]);
  }
  const int argument = instruction.argument;
  const auto read_each = [&](int first, int last) {
    for (int i = first; i <= last; i++) {
      if (!read_at(recording, sp[-i])) return false;
    }
    return true;
  };
  // The call that this frame made last is over.
  if (!given.passing.empty() && given.passing.back() == frame) given.passing.pop_back();
  using enum Opcode;
  switch (instruction.opcode) {  // each opcode stands here: one that is new does not compile
    case LOAD_FAST:
      settle_local(frame, argument);
      return true;
    case RETURN_VALUE:
      // Whoever called the frame gets the value: the caller of the capture, or Python code.
      return frame == recording.first_frame ||
             (!given.passing.empty() && given.passing.back() == frame->previous) ||
             read_top(recording, sp, 1);
    case NOP:
    case POP_TOP:
    case PUSH_NULL:
    case COPY:
    case SWAP:
    case LOAD_CONST:
    case LOAD_FAST_AND_CLEAR:
    case LOAD_FAST_LOAD_FAST:
    case STORE_FAST:
    case STORE_FAST_LOAD_FAST:
    case STORE_FAST_STORE_FAST:
    case DELETE_FAST:
    case LOAD_CLOSURE:
    case LOAD_GLOBAL:
    case LOAD_DEREF:
    case MAKE_CELL:
    case COPY_FREE_VARS:
    case LOAD_ASSERTION_ERROR:
    case RESUME:
    case JUMP_FORWARD:
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
    case RETURN_GENERATOR:
    case RETURN_CONST:
    case END_FOR:
    case END_SEND:
    case DELETE_GLOBAL:
    case DELETE_DEREF:
    case STORE_GLOBAL:
    case STORE_DEREF:
      return true;
    case MAKE_FUNCTION:
      return makes_known_function(recording, sp, cpython::kMakeFunctionHasFlags ? argument & 15 : 0);
    case SET_FUNCTION_ATTRIBUTE:
      return makes_known_function(recording, sp, argument);
    // They end the capture.
    case LOAD_NAME:
    case STORE_NAME:
    case DELETE_NAME:
    case LOAD_LOCALS:
    case LOAD_FROM_DICT_OR_GLOBALS:
    case LOAD_FROM_DICT_OR_DEREF:
    case LOAD_CLASSDEREF:
    case LOAD_BUILD_CLASS:
    case SETUP_ANNOTATIONS:
    case CALL_INTRINSIC_2:
    case GET_AWAITABLE:
    case GET_AITER:
    case GET_ANEXT:
    case END_ASYNC_FOR:
    case ASYNC_GEN_WRAP:
    case CHECK_EG_MATCH:
    case PREP_RERAISE_STAR:
    case BEFORE_ASYNC_WITH:
    case IMPORT_STAR:
    case PRINT_EXPR:
    case EXTENDED_ARG:
    case KW_NAMES:
    case PRECALL:
    case UNKNOWN:
      return true;

    case CALL:
    case CALL_KW:
    case CALL_FUNCTION_EX:
      return read_before_call(recording, instruction, frame, sp);

    // What is built holds unread values.
    case BUILD_TUPLE:
    case BUILD_LIST:
      for (int i = 1; i <= argument; i++) note_built(recording, sp[-i]);
      return true;
    case BUILD_MAP:
      for (int i = 1; i <= 2 * argument; i += 2) {
        if (!read_key(recording, sp[-i - 1])) return false;
        note_built(recording, sp[-i]);
      }
      return true;
    case BUILD_CONST_KEY_MAP:
      for (int i = 2; i <= argument + 1; i++) note_built(recording, sp[-i]);
      return true;
    case LIST_TO_TUPLE:
      if (!read_at(recording, sp[-1])) return false;
      given.builds_holder = is_holder(recording, sp[-1]);
      return true;
    case CALL_INTRINSIC_1:
      if (static_cast<Intrinsic>(argument) != Intrinsic::list_to_tuple) return read_top(recording, sp, 1);
      given.builds_holder = is_holder(recording, sp[-1]);
      return true;
    // The container that is filled may lie on the stack of a frame that the capture has taken up.
    case LIST_APPEND:
      if (!read_at(recording, sp[-1 - argument])) return false;
      keep_unread(recording, sp[-1 - argument], sp[-1]);
      return true;
    case MAP_ADD:
      if (!read_key(recording, sp[-2]) || !read_at(recording, sp[-2 - argument])) return false;
      keep_unread(recording, sp[-2 - argument], sp[-1]);
      return true;
    case LIST_EXTEND:
    case DICT_UPDATE:
    case DICT_MERGE:
      if (!read_at(recording, sp[-1]) || !read_at(recording, sp[-1 - argument])) return false;
      if (is_holder(recording, sp[-1]) || find_argument(recording, sp[-1]) != nullptr)
        add_holder(recording, sp[-1 - argument]);
      return true;

    case STORE_ATTR: {
      if (!read_at(recording, sp[-1])) return false;
      PyObject* const name = PyTuple_GET_ITEM(frame->code->co_names, argument);
      return (stores_plainly(sp[-1], name) && !recording.domain.is_tensor(sp[-1])) ||
             read_fully(recording, sp[-2]);
    }
    case STORE_SUBSCR:
      if (!read_key(recording, sp[-1]) || !read_at(recording, sp[-2])) return false;
      if (!keeps_references(sp[-2]) || PySlice_Check(sp[-1])) return read_fully(recording, sp[-3]);
      keep_unread(recording, sp[-2], sp[-3]);
      return true;
    case DELETE_SUBSCR:
      return read_key(recording, sp[-1]) && read_at(recording, sp[-2]);

    case LOAD_ATTR:
    case LOAD_METHOD:
    case DELETE_ATTR:
    case UNARY_NOT:
    case TO_BOOL:
    case POP_JUMP_IF_FALSE:
    case POP_JUMP_IF_TRUE:
    case JUMP_IF_FALSE_OR_POP:
    case JUMP_IF_TRUE_OR_POP:
    case UNPACK_SEQUENCE:
    case FOR_ITER:
    case BEFORE_WITH:
    case IMPORT_FROM:
    case GET_LEN:
    case MATCH_MAPPING:
    case MATCH_SEQUENCE:
      return read_each(1, 1);
    case POP_JUMP_IF_NONE:
    case POP_JUMP_IF_NOT_NONE:
      // Anything but None goes the same way.
      if (Argument* unread = find_unread(sp[-1]);
          unread != nullptr && !unread->stands && unread->real != Py_None) {
        unread->not_none = true;
        return true;
      }
      return read_each(1, 1);
    case IS_OP:
      return read_each(1, 2);
    case LOAD_SUPER_ATTR:
      return read_each(1, 3);
    case BINARY_SUBSCR:
      if (!read_key(recording, sp[-1]) || !read_at(recording, sp[-2])) return false;
      return !is_holder(recording, sp[-2]) || !PySlice_Check(sp[-1]) || read_holder(recording, sp[-2]);
    case CONTAINS_OP:
      if (!read_key(recording, sp[-2]) || !read_at(recording, sp[-1])) return false;
      return !is_holder(recording, sp[-1]) || PyDict_CheckExact(sp[-1]) || read_holder(recording, sp[-1]);

    case UNARY_NEGATIVE:
    case UNARY_POSITIVE:
    case UNARY_INVERT:
    case GET_ITER:
    case GET_YIELD_FROM_ITER:
    case UNPACK_EX:
    case FORMAT_SIMPLE:
    case CONVERT_VALUE:
    case YIELD_VALUE:
    case PUSH_EXC_INFO:
      return read_top(recording, sp, 1);
    case BINARY_OP:
    case COMPARE_OP:
    case FORMAT_WITH_SPEC:
    case SEND:
    case IMPORT_NAME:
    case MATCH_KEYS:
      return read_top(recording, sp, 2);
    case BINARY_SLICE:
    case MATCH_CLASS:
    case CLEANUP_THROW:
      return read_top(recording, sp, 3);
    case STORE_SLICE:
      return read_top(recording, sp, 4);
    // Exceptions that the frame held before are not looked at: each time it is another one.
    case POP_EXCEPT:
      return true;
    case CHECK_EXC_MATCH:
      return is_unread_exception(sp[-2]) || read_top(recording, sp, 2);
    case WITH_EXCEPT_START:
      return is_unread_exception(sp[-1]) || read_top(recording, sp, 4);
    case RERAISE:
      return is_unread_exception(sp[-1]) || read_top(recording, sp, argument + 1);
    case RAISE_VARARGS:
      return std::any_of(sp - argument, sp, is_unread_exception) || read_top(recording, sp, argument);
    case FORMAT_VALUE:
      return read_top(recording, sp, has_format_spec(argument) ? 2 : 1);
    case BUILD_STRING:
    case BUILD_SLICE:
      return read_top(recording, sp, argument);
    case BUILD_SET:
      for (int i = 1; i <= argument; i++) {
        if (!read_key(recording, sp[-i])) return false;
      }
      return true;
    case SET_ADD:
    case SET_UPDATE:
      return read_key(recording, sp[-1]) && read_at(recording, sp[-1 - argument]);
  }
  return true;
}

}  // namespace stator
