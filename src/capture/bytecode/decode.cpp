// capture/bytecode/decode.cpp: decoding: prefixes and caches are folded away, jumps become absolute.
#include "capture/bytecode/decode.h"

#include "capture/cpython/interrupts.h"
#include "capture/cpython/opcode_rows.h"
#include "capture/cpython/ref.h"
#include "capture/cpython/traits.h"

namespace stator {
namespace {

struct Row {
  Opcode opcode = Opcode::UNKNOWN;
  uint8_t caches = 0;
  int argument = STATOR_ARGUMENT_PLAIN;
};

struct Table {
  Row rows[256];
  Table() {
    for (int i = 0; i < stator_opcode_row_count; i++) {
      const StatorOpcodeRow& row = stator_opcode_rows[i];
      rows[row.number] = {static_cast<Opcode>(row.opcode), row.cache_entries, row.argument};
    }
  }
};

const Table& table() {
  static const Table instance;
  return instance;
}

// CPython stores the table of exception handlers as big-endian groups of six bits; the first byte of an entry
// has bit 7 set.
class HandlerReader {
 public:
  explicit HandlerReader(PyObject* bytes)
      : at_(reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes))),
        end_(at_ + PyBytes_GET_SIZE(bytes)) {}
  bool more() const { return at_ < end_; }
  int number() {
    int value = *at_ & 63;
    while (*at_++ & 64) value = value << 6 | (*at_ & 63);
    return value;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

void read_handlers(PyCodeObject* code, std::vector<Handler>& out) {
  HandlerReader reader(code->co_exceptiontable);
  while (reader.more()) {
    Handler handler{};
    handler.start = reader.number();
    handler.end = handler.start + reader.number();
    handler.target = reader.number();
    const int depth_and_lasti = reader.number();
    handler.depth = depth_and_lasti >> 1;
    handler.push_lasti = (depth_and_lasti & 1) != 0;
    out.push_back(handler);
  }
}

bool remembers(Opcode opcode) {
  switch (opcode) {
    case Opcode::LOAD_GLOBAL:
    case Opcode::LOAD_ATTR:
    case Opcode::LOAD_METHOD:
    case Opcode::STORE_ATTR:
      return true;
    default:
      return false;
  }
}

// Brings arguments that mean different things on different Pythons to one meaning.
void normalise(Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::LOAD_ATTR:
      if constexpr (cpython::kAttributeHasMethodBit) {
        if (instruction.argument & 1) instruction.opcode = Opcode::LOAD_METHOD;
        instruction.argument >>= 1;
      }
      break;
    case Opcode::COMPARE_OP: {
      const bool truth = (instruction.argument & cpython::kCompareToBool) != 0;
      instruction.argument = instruction.argument >> cpython::kCompareShift | (truth ? 8 : 0);
      break;
    }
    default:
      break;
  }
}

}  // namespace

const char* opcode_name(Opcode opcode) {
  static const char* const names[] = {
#define OP(name, ...) #name,
#include "capture/bytecode/opcodes.def"
#undef OP
      "EXTENDED_ARG", "KW_NAMES", "PRECALL", "UNKNOWN"};
  return names[static_cast<int>(opcode)];
}

std::unique_ptr<DecodedCode> DecodedCode::decode(PyCodeObject* code) {
  // The base form: specialised and instrumented opcodes are read through, caches are zero.
  auto bytes = Ref<>::steal(PyCode_GetCode(code));
  if (!bytes) {
    drop_error();
    return nullptr;
  }
  const auto* units = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes.get()));
  const int count = static_cast<int>(PyBytes_GET_SIZE(bytes.get()) / 2);

  auto result = std::make_unique<DecodedCode>();
  result->start = cpython::code_start(code);
  result->index_of_unit.assign(static_cast<size_t>(count) + 1, 0);
  result->instructions.reserve(static_cast<size_t>(count) / 2 + 1);
  struct Jump {
    size_t instruction;
    int target;
  };
  std::vector<Jump> jumps;

  int extended = 0, keywords = -1, first = 0;
  for (int unit = 0; unit < count;) {
    const Row& row = table().rows[units[2 * unit]];
    const int argument = extended << 8 | units[2 * unit + 1];
    result->index_of_unit[static_cast<size_t>(unit)] = static_cast<int32_t>(result->instructions.size());
    if (row.opcode == Opcode::EXTENDED_ARG) {
      extended = argument;
      unit++;
      continue;
    }
    extended = 0;
    const int next = unit + 1 + row.caches;
    for (int i = unit + 1; i < next && i < count; i++) {
      result->index_of_unit[static_cast<size_t>(i)] = static_cast<int32_t>(result->instructions.size()) + 1;
    }
    if (row.opcode == Opcode::KW_NAMES || row.opcode == Opcode::PRECALL) {
      if (row.opcode == Opcode::KW_NAMES) keywords = argument;
      for (int i = unit + 1; i < next && i < count; i++) {
        result->index_of_unit[static_cast<size_t>(i)] = static_cast<int32_t>(result->instructions.size());
      }
      unit = next;
      continue;
    }
    Instruction instruction{
        row.opcode, static_cast<uint16_t>(unit - first), argument, result->start + unit, keywords, 0};
    keywords = -1;
    if (row.argument != STATOR_ARGUMENT_PLAIN) {
      int target = row.argument == STATOR_ARGUMENT_FORWARD ? next + argument : next - argument;
      if (row.opcode == Opcode::FOR_ITER) target += cpython::kForIterSkip;
      jumps.push_back({result->instructions.size(), target});
    }
    normalise(instruction);
    if (remembers(instruction.opcode)) {
      instruction.cache = static_cast<uint32_t>(result->caches.size());
      result->caches.emplace_back();
    }
    result->instructions.push_back(instruction);
    unit = next;
    first = unit;
  }
  // A sentinel: running off the end is a hand-over, never a wild read.
  result->index_of_unit[static_cast<size_t>(count)] = static_cast<int32_t>(result->instructions.size());
  result->instructions.push_back({Opcode::UNKNOWN, 0, 0, result->start + count, -1, 0});
  for (const Jump& jump : jumps) {
    if (jump.target < 0 || jump.target > count) return nullptr;
    result->instructions[jump.instruction].argument = result->index_of_unit[static_cast<size_t>(jump.target)];
  }
  read_handlers(code, result->handlers);
  return result;
}

const Handler* DecodedCode::handler_at(const cpython::Unit* unit) const {
  const int offset = static_cast<int>(unit - start);
  // Entries do not overlap and are sorted by start.
  size_t low = 0, high = handlers.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (handlers[middle].start <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return nullptr;
  const Handler& candidate = handlers[low - 1];
  return offset < candidate.end ? &candidate : nullptr;
}

}  // namespace stator
