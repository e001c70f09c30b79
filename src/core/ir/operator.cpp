// src/core/ir/operator.cpp: the operator table, filled with the pseudo-operators first.
#include "core/ir/operator.h"

#include <stdexcept>

#include "core/ir/effects.h"

namespace stator::ir {
namespace {

Operator pseudo_operator(const char* name, OpFlags flags, std::string_view arguments) {
  Operator op;
  op.name = name;
  op.flags = flags;
  while (!arguments.empty()) {
    size_t end = std::min(arguments.find(','), arguments.size());
    op.arguments.emplace_back(arguments.substr(0, end));
    arguments.remove_prefix(std::min(end + 1, arguments.size()));
  }
  return op;
}

}  // namespace

OperatorTable::OperatorTable() {
#define STATOR_OP(identifier, name, flags, arguments) add(pseudo_operator(name, flags, arguments));
#include "core/ir/ops.def"
}

OperatorTable::~OperatorTable() = default;

OpId OperatorTable::add(Operator op) {
  std::lock_guard lock(mutex_);
  if (auto found = ids_.find(op.name); found != ids_.end()) return found->second;
  if (size_ == kMaxChunks * kChunk) throw std::length_error("too many operators");
  std::unique_ptr<Operator[]>& chunk = chunks_[size_ >> kChunkBits];
  if (!chunk) chunk = std::make_unique<Operator[]>(kChunk);
  op.hidden_effect = hidden_effect_of(op.name);
  Operator& kept = entry(size_);
  kept = std::move(op);
  OpId id{size_++};
  ids_.emplace(kept.name, id);
  return id;
}

std::optional<OpId> OperatorTable::find(std::string_view name) const {
  std::lock_guard lock(mutex_);
  auto found = ids_.find(name);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

size_t OperatorTable::size() const {
  std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace stator::ir
