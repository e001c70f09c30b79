// capture/recording/instructions.cpp: what each instruction reads and writes, asked for before it runs.
#include "capture/recording/instructions.h"

#include "capture/cpython/traits.h"
#include "capture/hook/engine.h"
#include "capture/interpreter/interpreter.h"
#include "capture/recording/argument_operands.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/context_managers.h"
#include "capture/recording/identities.h"
#include "capture/recording/imports.h"
#include "capture/recording/indirect_calls.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/paused_capture.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/results.h"
#include "capture/recording/symbols.h"
#include "capture/recording/writes.h"

namespace stator {

using cpython::Frame;

// A capture that wrote something keeps the other threads waiting, of which one may be what it waits for.
static constexpr size_t kMostInstructions = 10'000'000;

static bool before_intrinsic(Recording& recording, int number, PyObject* operand) {
  constexpr int kStopIterationError = 3, kUnaryPositive = 5, kListToTuple = 6;
  if (number == kStopIterationError) return true;
  if (number != kUnaryPositive && number != kListToTuple)
    return stop(recording, BreakCode::kOpcode, opcode_name(Opcode::CALL_INTRINSIC_1));
  expect_result(recording);
  return read_contents(recording, operand);
}

// The operands of an instruction, from the top of the stack: [1] is the top.
#define TOP(n) (sp[-(n)])

bool before_instruction(Recording& recording, const Instruction& instruction, Frame* frame, PyObject** sp) {
  recording.frame = frame;
  if (recording.first_frame == nullptr) recording.first_frame = frame;
  recording.at = &instruction;
  recording.stored = nullptr;
  if (++recording.instructions > kMostInstructions)
    return stop(recording, BreakCode::kThread, "a loop that may wait for another thread takes too long");
  recording.pause.reset();
  if (recording.stopped.happened()) return stop(recording, *recording.stopped.code);
  if (!recording.pending.empty() && !take_pending(recording, sp)) return false;
  if (recording.arguments.are_lazy && !read_operands(recording, instruction, frame, sp)) return false;
  if (!recording.cached.followed.empty() && !recording.cached.settle(frame, recording.journal.writes(), sp))
    return stop(recording, BreakCode::kSymbolicNumber,
                "a function with a cache writes to an object that existed before");
  if (!recording.cached.kept.empty() && frame == recording.first_frame &&
      instruction.opcode == Opcode::RETURN_VALUE && !recording.cached.are_as_given(sp[-1]))
    return stop(recording, BreakCode::kSymbolicNumber,
                "what a function with a cache gave is changed or returned");
  if ((recording.has_symbols || recording.capture.has_symbols()) &&
      !use_numbers(recording, instruction, frame, sp))
    return false;
  const int argument = instruction.argument;
  const auto name = [&](int index) { return PyTuple_GET_ITEM(frame->code->co_names, index); };
  switch (instruction.opcode) {
    case Opcode::LOAD_GLOBAL: {
      PyObject* key = name(argument >> 1);
      if (!read_dict_item(recording, frame->globals, key)) return false;
      if (PyDict_GetItemWithError(frame->globals, key) != nullptr) return true;
      if (!PyDict_CheckExact(frame->builtins))
        return stop(recording, BreakCode::kUnguardable, "builtins that are no dictionary");
      return read_dict_item(recording, frame->builtins, key);
    }
    case Opcode::LOAD_DEREF:
    case Opcode::LOAD_CLASSDEREF:
    case Opcode::LOAD_FROM_DICT_OR_DEREF:
      return read_cell(recording, frame->localsplus[argument], frame->code, argument);
    case Opcode::STORE_DEREF:
    case Opcode::DELETE_DEREF:
      return before_cell_write(recording, frame->localsplus[argument]);
    case Opcode::MAKE_CELL:
      return true;
    case Opcode::STORE_GLOBAL:
      if (!is_known(recording, frame->globals))
        return before_write(recording, frame->globals, "a global variable");
      return before_key_write(recording, frame->globals, name(argument));
    case Opcode::DELETE_GLOBAL:
      return is_known(recording, frame->globals)
                 ? before_whole_write(recording, frame->globals)
                 : before_write(recording, frame->globals, "a global variable");
    case Opcode::LOAD_NAME:
    case Opcode::STORE_NAME:
    case Opcode::DELETE_NAME:
    case Opcode::LOAD_LOCALS:
    case Opcode::LOAD_FROM_DICT_OR_GLOBALS:
    case Opcode::SETUP_ANNOTATIONS:
    case Opcode::LOAD_BUILD_CLASS:
    case Opcode::IMPORT_STAR:
    case Opcode::PRINT_EXPR:
      return stop(recording, BreakCode::kOpcode, opcode_name(instruction.opcode));

    case Opcode::LOAD_ATTR:
    case Opcode::LOAD_METHOD:
      if (instruction.opcode == Opcode::LOAD_ATTR) expect_result(recording);
      return read_attribute(recording, TOP(1), name(argument));
    case Opcode::LOAD_SUPER_ATTR: {
      if (!PyType_Check(TOP(2))) return true;  // raises
      expect_result(recording);
      auto* of = reinterpret_cast<PyTypeObject*>(TOP(1));
      const bool by_class =
          PyType_Check(TOP(1)) && PyType_IsSubtype(of, reinterpret_cast<PyTypeObject*>(TOP(2)));
      return read_attribute_behind(recording, TOP(2), by_class ? of : Py_TYPE(TOP(1)),
                                   by_class ? nullptr : TOP(1), name(argument >> 2));
    }
    case Opcode::STORE_ATTR:
      recording.stored = &TOP(2);
      return before_attribute_write(recording, TOP(1), name(argument), TOP(2));
    case Opcode::DELETE_ATTR:
      return before_attribute_write(recording, TOP(1), name(argument), nullptr);

    case Opcode::BINARY_SUBSCR:
      return before_subscript(recording, TOP(2), TOP(1));
    case Opcode::BINARY_SLICE:
      expect_result(recording);
      return read_contents(recording, TOP(3));
    case Opcode::STORE_SUBSCR:
      return before_item_write(recording, TOP(2), TOP(1), false, TOP(3));
    case Opcode::DELETE_SUBSCR:
      return before_item_write(recording, TOP(2), TOP(1), true);
    case Opcode::STORE_SLICE:
      // The bounds, and what is put there.
      if (!read_deep(recording, TOP(2)) || !read_deep(recording, TOP(1)) || !read_contents(recording, TOP(4)))
        return false;
      if (recording.domain.is_tensor(TOP(3))) return true;
      return PyList_CheckExact(TOP(3)) && is_writable(recording, TOP(3))
                 ? before_whole_write(recording, TOP(3))
                 : before_write(recording, TOP(3), "a slice");
    case Opcode::UNARY_POSITIVE:
    case Opcode::UNARY_NEGATIVE:
    case Opcode::UNARY_INVERT:
    case Opcode::UNARY_NOT:
    case Opcode::TO_BOOL:
      expect_result(recording);
      return read_contents(recording, TOP(1));
    case Opcode::POP_JUMP_IF_FALSE:
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::JUMP_IF_FALSE_OR_POP:
    case Opcode::JUMP_IF_TRUE_OR_POP:
      return read_contents(recording, TOP(1));
    case Opcode::BINARY_OP:
      expect_result(recording);
      // In-place operators of mutable operands write to the left one.
      if (argument >= 13 && !before_in_place(recording, TOP(2), TOP(1), argument)) return false;
      if (argument >= 13 && recording.journal.find(TOP(2)) != nullptr)
        return read_contents(recording, TOP(1));  // what is relied on of the left one is guarded already
      // Concatenation only copies; % formats.
      return argument % 13 == 6 ? read_contents(recording, TOP(2)) && before_formatting(recording, TOP(1))
                                : read_contents(recording, TOP(2)) && read_contents(recording, TOP(1));
    case Opcode::COMPARE_OP:
      expect_result(recording);
      return read_deep(recording, TOP(2)) && read_deep(recording, TOP(1));
    case Opcode::IS_OP:
      return before_identity(recording, TOP(2), TOP(1));
    case Opcode::CONTAINS_OP:
      if (PyDict_Check(TOP(1)) || Py_IS_TYPE(TOP(1), &PyDictProxy_Type) ||
          (PySet_Check(TOP(1)) && find_argument(recording, TOP(1)) != nullptr))
        return read_subscript(recording, TOP(1), TOP(2));
      return read_deep(recording, TOP(1)) && read_deep(recording, TOP(2));
    case Opcode::GET_ITER:
    case Opcode::GET_YIELD_FROM_ITER:
      expect_result(recording);
      return read_contents(recording, TOP(1));
    case Opcode::FOR_ITER:
      // Advancing an iterator writes to it.
      expect_result(recording);
      return before_advancing(recording, TOP(1));
    case Opcode::SEND:
      return before_advancing(recording, TOP(2));

    case Opcode::BUILD_LIST:
    case Opcode::BUILD_SET:
    case Opcode::BUILD_MAP:
    case Opcode::BUILD_CONST_KEY_MAP:
    case Opcode::MAKE_FUNCTION:
      expect_result(recording);
      return true;
    case Opcode::LIST_EXTEND:
    case Opcode::SET_UPDATE:
    case Opcode::DICT_UPDATE:
    case Opcode::DICT_MERGE:
    case Opcode::UNPACK_SEQUENCE:
      return read_contents(recording, TOP(1));
    case Opcode::UNPACK_EX:
      // The list lies below what comes before it.
      expect_result(recording);
      recording.pending.back().depth = (argument & 0xff) + 1;
      return read_contents(recording, TOP(1));
    case Opcode::FORMAT_VALUE:
    case Opcode::FORMAT_SIMPLE:
    case Opcode::CONVERT_VALUE:
      return before_formatting(recording,
                               argument & 4 && instruction.opcode == Opcode::FORMAT_VALUE ? TOP(2) : TOP(1));
    case Opcode::FORMAT_WITH_SPEC:
      return before_formatting(recording, TOP(2));

    case Opcode::CALL:
    case Opcode::CALL_KW:
    case Opcode::CALL_FUNCTION_EX:
      return before_call(recording, instruction, frame, sp);
    case Opcode::BEFORE_WITH:
      expect_result(recording);
      return before_with(recording, TOP(1));
    case Opcode::WITH_EXCEPT_START:
      return true;
    case Opcode::IMPORT_NAME:
      return before_import(recording, frame, name(argument), TOP(2));
    case Opcode::IMPORT_FROM:
      return read_attribute(recording, TOP(1), name(argument));

    case Opcode::CALL_INTRINSIC_1:
      return before_intrinsic(recording, argument, TOP(1));
    case Opcode::GET_LEN:
    case Opcode::MATCH_KEYS:
      return read_contents(recording, TOP(1));
    case Opcode::MATCH_CLASS:
      return before_match(recording, TOP(3), TOP(2), TOP(1), argument);
    case Opcode::GET_AWAITABLE:
    case Opcode::GET_AITER:
    case Opcode::GET_ANEXT:
    case Opcode::END_ASYNC_FOR:
    case Opcode::ASYNC_GEN_WRAP:
    case Opcode::BEFORE_ASYNC_WITH:
    case Opcode::CHECK_EG_MATCH:
    case Opcode::PREP_RERAISE_STAR:
    case Opcode::CALL_INTRINSIC_2:
      return stop(recording, BreakCode::kOpcode, opcode_name(instruction.opcode));
    default:
      return true;  // moves values, jumps, raises or returns
  }
}

#undef TOP

}  // namespace stator
