// capture/recording/instruction_steps.h: the words of opcodes.def: what is done before an instruction runs in
// a capture.
//
// A step guards what the instruction will read, journals what it will write, or stops the capture; false:
// stopped, an error is set.
#ifndef STATOR_CAPTURE_RECORDING_INSTRUCTION_STEPS_H
#define STATOR_CAPTURE_RECORDING_INSTRUCTION_STEPS_H

#include "capture/bytecode/decode.h"
#include "capture/cpython/frame.h"
#include "capture/recording/contents.h"
#include "capture/recording/identities.h"
#include "capture/recording/operands.h"
#include "capture/recording/recording.h"
#include "capture/recording/shown_objects.h"
#include "capture/recording/writes.h"

namespace stator {

struct InstructionAt {
  Recording& recording;
  const Instruction& instruction;
  cpython::Frame* frame;
  PyObject** sp;

  // An operand, counted from the top of the stack.
  PyObject*& top(int n) const { return sp[-n]; }
  PyObject* name(int index) const { return PyTuple_GET_ITEM(frame->code->co_names, index); }
  int argument() const { return instruction.argument; }
};

namespace steps {

// One that looks at an operand.
struct OperandStep {
  bool (*read)(Recording&, PyObject*);
  int operand;
  bool operator()(const InstructionAt& at) const { return read(at.recording, at.top(operand)); }
};

constexpr OperandStep items(int operand) { return {&read_contents, operand}; }
constexpr OperandStep moved_items(int operand) { return {&read_moved, operand}; }
constexpr OperandStep everything(int operand) { return {&read_deep, operand}; }
constexpr OperandStep members(int operand) { return {&read_members, operand}; }
constexpr OperandStep hashed(int operand) { return {&read_hashed, operand}; }
constexpr OperandStep truth(int operand) { return {&read_truth, operand}; }
constexpr OperandStep length(int operand) { return {&read_size, operand}; }
constexpr OperandStep behaviour(int operand) { return {&read_class, operand}; }
constexpr OperandStep shown(int operand) { return {&before_words, operand}; }
constexpr OperandStep shown_as_text(int operand) { return {&before_text, operand}; }
constexpr OperandStep mapping(int operand) { return {&read_mapping, operand}; }
constexpr OperandStep advances(int operand) { return {&before_advancing, operand}; }

inline bool moves(const InstructionAt&) { return true; }
bool stops(const InstructionAt& at);
bool makes(const InstructionAt& at);

using Function = bool (*)(const InstructionAt&);
constexpr Function by(Function function) { return function; }

bool load_constant(const InstructionAt& at);
bool load_global(const InstructionAt& at);
bool store_global(const InstructionAt& at);
bool delete_global(const InstructionAt& at);
bool load_cell(const InstructionAt& at);
bool store_cell(const InstructionAt& at);
bool load_attribute(const InstructionAt& at);
bool load_super_attribute(const InstructionAt& at);
bool store_attribute(const InstructionAt& at);
bool delete_attribute(const InstructionAt& at);
bool binary_operation(const InstructionAt& at);
bool subscript(const InstructionAt& at);
bool store_item(const InstructionAt& at);
bool delete_item(const InstructionAt& at);
bool slice(const InstructionAt& at);
bool store_slice(const InstructionAt& at);
bool compare_identity(const InstructionAt& at);
bool contains(const InstructionAt& at);
bool build_set(const InstructionAt& at);
bool build_map(const InstructionAt& at);
bool append_item(const InstructionAt& at);
bool add_member(const InstructionAt& at);
bool add_pair(const InstructionAt& at);
bool update_below(const InstructionAt& at);
bool iterate(const InstructionAt& at);
bool format_value(const InstructionAt& at);
bool unpack_around(const InstructionAt& at);
bool call(const InstructionAt& at);
bool call_intrinsic(const InstructionAt& at);
bool raise(const InstructionAt& at);
bool reraise(const InstructionAt& at);
bool match_exception(const InstructionAt& at);
bool end_handler(const InstructionAt& at);
bool enter_context(const InstructionAt& at);
bool leave_by_error(const InstructionAt& at);
bool import_name(const InstructionAt& at);
bool import_from(const InstructionAt& at);
bool match_keys(const InstructionAt& at);
bool match_class(const InstructionAt& at);

// The steps of one row, until one of them stops.
template <class... Steps>
bool take(const InstructionAt& at, const Steps&... all) {
  static_assert(sizeof...(Steps) != 0, "the row does not say what its instruction reads, writes and makes");
  return (all(at) && ...);
}

}  // namespace steps
}  // namespace stator

#endif
