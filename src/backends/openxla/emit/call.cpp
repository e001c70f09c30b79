// src/backends/openxla/emit/call.cpp: reading a node's arguments, and torch's type promotion.
#include "backends/openxla/emit/call.h"

#include <algorithm>

namespace stator::openxla {

using ir::Operand;
using ir::OperandKind;

const Operand* Call::find(std::string_view name) const {
  const std::vector<std::string>& names = graph_.op_of(node_).arguments;
  const auto found = std::ranges::find(names, name);
  const auto at = static_cast<size_t>(found - names.begin());
  if (found == names.end() || at >= node_.operand_count) return nullptr;
  const Operand& operand = graph_.operands(node_)[at];
  return operand.kind == OperandKind::kNone ? nullptr : &operand;
}

const Operand& Call::required(std::string_view name) const {
  if (const Operand* found = find(name)) return *found;
  throw Unsupported{"without the argument " + std::string(name)};
}

bool Call::has(std::string_view name) const { return find(name) != nullptr; }

bool Call::is_tensor(std::string_view name) const {
  const Operand* found = find(name);
  return found && found->kind == OperandKind::kValue;
}

const Tensor& Call::value(ir::ValueId id) const {
  const Tensor& tensor = values_[index(id)];
  if (tensor.id < 0) throw Unsupported{"an argument that is no tensor of the graph"};
  return tensor;
}

Tensor Call::tensor(std::string_view name) const {
  const Operand& operand = required(name);
  if (operand.kind != OperandKind::kValue) throw Unsupported{"a number for " + std::string(name)};
  return value(operand.value);
}

std::optional<Tensor> Call::optional(std::string_view name) const {
  return has(name) ? std::optional(tensor(name)) : std::nullopt;
}

std::vector<Tensor> Call::tensors(std::string_view name) const {
  std::vector<Tensor> result;
  for (ir::ValueId id : graph_.values(required(name))) {
    if (id == ir::ValueId::kNone) throw Unsupported{"an absent tensor in a list"};
    result.push_back(value(id));
  }
  return result;
}

std::vector<std::optional<Tensor>> Call::optionals(std::string_view name) const {
  std::vector<std::optional<Tensor>> result;
  for (ir::ValueId id : graph_.values(required(name)))
    result.push_back(id == ir::ValueId::kNone ? std::nullopt : std::optional(value(id)));
  return result;
}

int64_t Call::integer(std::string_view name) const {
  const Operand& operand = required(name);
  if (operand.kind == OperandKind::kInt) return operand.integer;
  if (operand.kind == OperandKind::kBool) return operand.boolean ? 1 : 0;
  if (operand.kind == OperandKind::kIntList && operand.count == 1) return graph_.ints(operand)[0];
  throw Unsupported{std::string(name) + " is no integer constant"};
}

int64_t Call::integer(std::string_view name, int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}

int64_t Call::truncated(std::string_view name, int64_t otherwise) const {
  if (!has(name)) return otherwise;
  const Operand& operand = required(name);
  return operand.kind == OperandKind::kDouble ? static_cast<int64_t>(operand.real) : integer(name);
}

double Call::real(std::string_view name) const {
  const Operand& operand = required(name);
  if (operand.kind == OperandKind::kDouble) return operand.real;
  return static_cast<double>(integer(name));
}

double Call::real(std::string_view name, double otherwise) const {
  return has(name) ? real(name) : otherwise;
}

bool Call::flag(std::string_view name, bool otherwise) const {
  const Operand* found = find(name);
  if (!found) return otherwise;
  if (found->kind != OperandKind::kBool) return integer(name) != 0;
  return found->boolean;
}

Dims Call::ints(std::string_view name) const {
  const Operand& operand = required(name);
  if (operand.kind == OperandKind::kInt) return {operand.integer};
  if (operand.kind != OperandKind::kIntList) throw Unsupported{std::string(name) + " is no list of integers"};
  const auto numbers = graph_.ints(operand);
  return {numbers.begin(), numbers.end()};
}

std::vector<bool> Call::flags(std::string_view name) const {
  std::vector<bool> result;
  for (int64_t bit : graph_.ints(required(name))) result.push_back(bit != 0);
  return result;
}

std::string_view Call::string(std::string_view name, std::string_view otherwise) const {
  const Operand* found = find(name);
  return found && found->kind == OperandKind::kString ? std::string_view(graph_.string(*found)) : otherwise;
}

std::optional<DType> Call::dtype(std::string_view name) const {
  const Operand* found = find(name);
  return found && found->kind == OperandKind::kDType ? std::optional(found->dtype) : std::nullopt;
}

// A rule that asks for complex numbers as real ones was not written for them.
static Tensor converted(Builder& b, const Tensor& x, DType dtype) {
  if (is_complex(x.dtype) && !is_complex(dtype) && dtype != DType::kBool)
    throw Unsupported{"complex numbers"};
  return b.convert(x, dtype);
}

Tensor Call::operand(std::string_view name, DType dtype) const {
  return is_tensor(name) ? converted(b, tensor(name), dtype) : operand(name, dtype, {});
}

Tensor Call::operand(std::string_view name, DType dtype, const Dims& dims) const {
  const Operand& given = required(name);
  switch (given.kind) {
    case OperandKind::kValue:
      return b.expand(converted(b, value(given.value), dtype), dims);
    case OperandKind::kDouble:
      return b.full(dtype, dims, given.real);
    case OperandKind::kComplex: {
      const std::complex<double> number = graph_.complex(given);
      return is_complex(dtype) ? b.full_complex(dtype, dims, number.real(), number.imag())
                               : b.full(dtype, dims, number.real());
    }
    default:
      return b.full(dtype, dims, integer(name));
  }
}

// torch's lattice: bool < integers < floats < complex; within a kind by width.
static int kind_of(DType dtype) {
  return dtype == DType::kBool ? 0 : is_integer(dtype) ? 1 : is_float(dtype) ? 2 : 3;
}

static DType promote(DType a, DType b) {
  if (a == b) return a;
  if (kind_of(a) != kind_of(b)) {
    const DType high = kind_of(a) > kind_of(b) ? a : b, low = high == a ? b : a;
    return high == DType::kC64 && low == DType::kF64 ? DType::kC128 : high;
  }
  if (is_complex(a)) return DType::kC128;
  if (bytes_of(a) != bytes_of(b)) {
    const DType wide = bytes_of(a) > bytes_of(b) ? a : b;
    return wide;
  }
  if (bytes_of(a) == 2 && is_float(a)) return DType::kF32;  // f16 with bf16
  if (bytes_of(a) == 1) return DType::kI16;                 // i8 with u8
  return a;
}

DType Call::promoted(std::initializer_list<std::string_view> names) const {
  // Tensors with dimensions decide; those without, then numbers, only lift the kind.
  std::optional<DType> levels[3];
  for (std::string_view name : names) {
    const Operand& given = required(name);
    DType dtype = DType::kI64;
    size_t level = 2;
    if (given.kind == OperandKind::kValue) {
      const Tensor& x = value(given.value);
      const bool number = (graph_.value(given.value).flags & ir::kWrappedNumber) != 0;
      dtype = x.dtype;
      level = number ? 2 : x.rank() == 0 ? 1 : 0;
    } else if (given.kind == OperandKind::kDouble) {
      dtype = DType::kF32;
    } else if (given.kind == OperandKind::kComplex) {
      dtype = DType::kC64;
    } else if (given.kind == OperandKind::kBool) {
      dtype = DType::kBool;
    }
    levels[level] = levels[level] ? promote(*levels[level], dtype) : dtype;
  }
  std::optional<DType> result;
  for (const std::optional<DType>& level : levels) {
    if (!level) continue;
    if (!result) {
      result = level;
    } else if (kind_of(*level) > kind_of(*result)) {
      // A complex number beside a double tensor.
      result = is_complex(*level) && *result == DType::kF64 ? DType::kC128 : *level;
    }
  }
  return *result;
}

bool Call::wanted(size_t i) const {
  return graph_.value(ir::Graph::outputs(node_)[static_cast<uint32_t>(i)]).kind == ir::ValueKind::kTensor;
}

static Dims numbers(std::span<const shape::Dim> dims) {
  Dims result;
  for (const shape::Dim& dim : dims) {
    if (dim.is_expr()) throw Unsupported{"a symbolic size"};
    result.push_back(dim.number());
  }
  return result;
}

DType Call::result_dtype(size_t i) const {
  return graph_.value(ir::Graph::outputs(node_)[static_cast<uint32_t>(i)]).dtype;
}

bool Call::is_on_cuda() const {
  return graph_.value(ir::Graph::outputs(node_)[0]).device.type == ir::DeviceType::kCuda;
}

Dims Call::result_dims(size_t i) const {
  return numbers(graph_.sizes(ir::Graph::outputs(node_)[static_cast<uint32_t>(i)]));
}

Dims Call::strides_of(std::string_view name) const { return numbers(graph_.strides(required(name).value)); }

int64_t Call::offset_of(std::string_view name) const {
  const shape::Dim offset = graph_.value(required(name).value).storage_offset;
  if (offset.is_expr()) throw Unsupported{"a symbolic offset"};
  return offset.number();
}

int64_t Call::wrapped(int64_t dim, int64_t rank) const {
  const int64_t at = dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim;
  if (at < 0 || at >= std::max<int64_t>(rank, 1)) throw Unsupported{"a dimension out of range"};
  return at;
}

Dims Call::dims(std::string_view name, int64_t rank) const {
  Dims result;
  if (has(name)) {
    for (int64_t dim : ints(name)) result.push_back(wrapped(dim, rank));
  }
  if (result.empty() || rank == 0) return range(0, rank);
  std::ranges::sort(result);
  return result;
}

}  // namespace stator::openxla
