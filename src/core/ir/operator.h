// src/core/ir/operator.h: what a graph knows of an operator (name, argument names, effects) and the table of
// them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stator::ir {

// Index into an OperatorTable. The first ids are the pseudo-operators of ops.def, the same in every table.
enum class OpId : uint32_t {};

// An operator with no flag and no write is taken to do anything: passes keep it and treat its arguments as
// written.
enum class OpFlag : uint8_t {
  kPure =
      1 << 0,  // the result depends on the arguments alone and nothing else changes, save what `writes` says
  kRandom = 1 << 1,       // draws from or sets a random stream: must stay, in number and in order
  kMode = 1 << 2,         // changes a mode (grad, autocast, default dtype …) for the nodes after it
  kMayRaise = 1 << 3,     // may raise depending on data (index out of range): must stay even if unused
  kReturnsList = 1 << 4,  // all outputs of a node are the elements of one returned list
};

struct OpFlags {
  uint8_t bits = 0;
  constexpr OpFlags() = default;
  constexpr OpFlags(OpFlag flag) : bits(static_cast<uint8_t>(flag)) {}  // NOLINT: one flag is a set of flags
  constexpr bool has(OpFlag flag) const { return (bits & static_cast<uint8_t>(flag)) != 0; }
  constexpr OpFlags operator|(OpFlags other) const {
    OpFlags both;
    both.bits = bits | other.bits;
    return both;
  }
  constexpr bool operator==(const OpFlags&) const = default;
};
constexpr OpFlags operator|(OpFlag a, OpFlag b) { return OpFlags(a) | OpFlags(b); }

struct Operator {
  std::string name;  // "aten::add.Tensor"
  OpFlags flags;
  uint64_t writes = 0;  // bit i: argument i (from 0; all from 63 on share bit 63) is written in place
  std::vector<std::string> arguments;   // names in schema order; may be empty or hold empty names if unknown
  uint32_t first_keyword = UINT32_MAX;  // arguments from here on are printed as name=value
  uint32_t hidden_effect = 0;  // row of hidden_effects.def plus one; 0 none. Set by OperatorTable::add
};

// Append-only and shared by all graphs of an engine, so the torch layer keeps its own record of operator i at
// index i. Adding is serialised; an id may be read without a lock by any thread that received it.
class OperatorTable {
 public:
  OperatorTable();
  OperatorTable(const OperatorTable&) = delete;
  OperatorTable& operator=(const OperatorTable&) = delete;
  ~OperatorTable();

  // Adds the operator, or returns the id it already has by name (the first description stays).
  OpId add(Operator op);
  std::optional<OpId> find(std::string_view name) const;
  // For readers of text, which learn argument names only as they meet them. Not for use while others read the
  // table.
  Operator& mutable_entry(OpId id) { return entry(static_cast<uint32_t>(id)); }

  const Operator& operator[](OpId id) const {
    return const_cast<OperatorTable*>(this)->entry(static_cast<uint32_t>(id));
  }
  size_t size() const;

 private:
  static constexpr uint32_t kChunkBits = 8;
  static constexpr uint32_t kChunk = 1 << kChunkBits;
  static constexpr uint32_t kMaxChunks = 256;

  Operator& entry(uint32_t index) { return chunks_[index >> kChunkBits][index & (kChunk - 1)]; }

  mutable std::mutex mutex_;
  std::array<std::unique_ptr<Operator[]>, kMaxChunks> chunks_;  // entries never move
  uint32_t size_ = 0;
  std::unordered_map<std::string_view, OpId> ids_;
};

}  // namespace stator::ir
