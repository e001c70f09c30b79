// src/backends/fused/kernel/kernel.h: one fused kernel as a loop nest over scalar terms; what llvm_text
// writes.
//
// The iteration space is a list of sizes. The last `reduced` of them are the ones that reductions go over; a
// term that depends on a reduction and on nothing inside of it is computed once a row. Sizes and strides are
// numbers, or parameters of a call where the graph has symbols.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ir/enums.h"

namespace stator::fused {

// What kernels are written in.
enum class Language : uint8_t { llvm, cuda };

// What terms are computed in. 16-bit floats exist in memory only.
enum class Type : uint8_t { boolean, u8, i8, i16, i32, i64, f32, f64 };

constexpr bool is_float(Type type) { return type == Type::f32 || type == Type::f64; }

struct Extent {
  int64_t number = 0;
  int32_t parameter = -1;  // of the call; -1: the number
  bool is_number() const { return parameter < 0; }
  bool is(int64_t n) const { return is_number() && number == n; }
  bool operator==(const Extent&) const = default;
};

// Coordinates from `low` to `high` of a dimension.
struct Range {
  int32_t dim;
  int64_t low, high;
  bool operator==(const Range&) const = default;
};

// Memory that the kernel reads or writes: element type, and a stride for each size of the iteration space.
struct Access {
  ir::DType dtype = ir::DType::kF32;
  std::vector<Extent> strides;
  // How many elements (modulo kAligned) the address lies behind a place that is aligned to 16 bytes; -1: not
  // known.
  int64_t start = 0;
  // Only coordinates in all of these may be read.
  std::vector<Range> ranges = {};
  bool operator==(const Access&) const = default;
};
inline constexpr int64_t kAligned = 16;

enum class Op : uint8_t {
#define STATOR_TERM(name) name,
#include "backends/fused/kernel/terms.def"
};
std::string_view text(Op op);

using TermId = uint32_t;
inline constexpr TermId kNoTerm = UINT32_MAX;

struct Term {
  Op op = Op::constant;
  Type type = Type::f32;
  TermId a = kNoTerm, b = kNoTerm, c = kNoTerm;
  double real = 0;      // constant of a float type
  int64_t integer = 0;  // constant of another type; load: which one; index: the dimension
  bool operator==(const Term&) const = default;
};

struct Store {
  TermId term = kNoTerm;
  Access access;
};

struct Kernel {
  std::vector<Extent> sizes;
  size_t reduced = 0;
  std::vector<Access> loads;
  std::vector<Term> terms;  // operands stand before their users
  std::vector<Store> stores;
  int32_t parameters = 0;

  size_t rows() const { return sizes.size() - reduced; }
};

// Puts the dimensions that are not reduced into the order of the first store's memory, and joins neighbours
// that lie behind each other in every access.
void simplify(Kernel& kernel);

}  // namespace stator::fused
