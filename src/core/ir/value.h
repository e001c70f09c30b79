// src/core/ir/value.h: what a graph knows of a value: type, sizes, strides, and whose memory it shares.
#pragma once

#include <cstdint>
#include <span>

#include "core/ir/enums.h"
#include "core/ir/operand.h"
#include "core/shape/dim.h"

namespace stator::ir {

enum class ValueKind : uint8_t {
  kUndefined,  // a gap: no input and no node defines this id
  kTensor,
  kInt,
  kFloat,
  kBool,
  kNone,    // an absent tensor among the outputs of a node
  kOpaque,  // anything else an operator returns (a random state, a string)
};

enum class AliasKind : uint8_t {
  kFresh,   // memory of its own
  kSame,    // the very tensor `base`, an argument of the defining node (in-place operators, dropout in eval)
  kView,    // another tensor on the memory of `base`, an argument of the defining node
  kShares,  // inputs only: known to lie in the memory of the earlier input `base`
};

struct Alias {
  AliasKind kind = AliasKind::kFresh;
  ValueId base = ValueId::kNone;
  static constexpr Alias fresh() { return {}; }
  static constexpr Alias same(ValueId base) { return {AliasKind::kSame, base}; }
  static constexpr Alias view(ValueId base) { return {AliasKind::kView, base}; }
  static constexpr Alias shares(ValueId base) { return {AliasKind::kShares, base}; }
  bool operator==(const Alias&) const = default;
};

enum ValueFlag : uint8_t {
  kRequiresGrad = 1 << 0,
  kConjugate = 1 << 1,
  kNegative = 1 << 2,
  kParameter = 1 << 3,  // inputs: the Python type is Parameter
  kWrappedNumber =
      1 << 4,  // a Python number as a 0-dim CPU tensor: takes no part in type promotion by its dtype
};

// What a caller says of a new value. The spans are read during the call only.
struct ValueSpec {
  ValueKind kind = ValueKind::kTensor;
  DType dtype = DType::kF32;
  Device device;
  Layout layout = Layout::kStrided;
  uint8_t flags = 0;  // ValueFlag
  Alias alias;
  std::span<const shape::Dim> sizes;
  std::span<const shape::Dim> strides;  // as many as sizes, or empty where the layout has none
  shape::Dim storage_offset = 0;
};

// What a graph keeps. Sizes and strides are read by Graph::sizes and Graph::strides.
struct Value {
  ValueKind kind = ValueKind::kUndefined;
  DType dtype = DType::kF32;
  Device device;
  Layout layout = Layout::kStrided;
  uint8_t flags = 0;
  AliasKind alias = AliasKind::kFresh;
  bool has_strides = false;
  uint16_t rank = 0;
  ValueId base = ValueId::kNone;     // of `alias`
  ValueId storage = ValueId::kNone;  // the alias set, named by its first value; a fresh value names itself
  NodeId node = NodeId::kNone;       // the defining node; kNone for inputs
  uint32_t dims = 0;                 // in Graph's pool: rank sizes, then rank strides
  shape::Dim storage_offset = 0;

  bool is_tensor() const { return kind == ValueKind::kTensor; }
  bool requires_grad() const { return (flags & kRequiresGrad) != 0; }
};

}  // namespace stator::ir
