// src/backends/openxla/emit/builder.cpp: constants, elementwise operations and shapes as StableHLO text.
#include "backends/openxla/emit/builder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "backends/openxla/emit/attributes.h"

namespace stator::openxla {

std::string Builder::type_text(const Tensor& x) {
  std::string text = "tensor<";
  for (int64_t dim : x.dims) text += std::to_string(dim) + "x";
  return text + element_text(x.dtype) + ">";
}

Tensor Builder::declare(DType dtype, Dims dims) { return {next_++, dtype, std::move(dims)}; }

static std::string joined(std::span<const Tensor> tensors, bool types) {
  std::string text;
  for (const Tensor& tensor : tensors) {
    if (!text.empty()) text += ", ";
    text += types ? Builder::type_text(tensor) : Builder::name(tensor);
  }
  return text;
}

void Builder::open(std::string_view op, std::span<const Tensor> results, std::span<const Tensor> operands) {
  text_ += "    " + joined(results, false) + " = \"";
  if (op.find('.') == std::string_view::npos) text_ += "stablehlo.";
  text_ += op;
  text_ += "\"(" + joined(operands, false) + ")";
}

void Builder::close(std::span<const Tensor> operands, std::string_view attributes,
                    std::span<const Tensor> results) {
  if (!attributes.empty()) text_ += " {" + std::string(attributes) + "}";
  text_ += " : (" + joined(operands, true) + ") -> ";
  text_ += results.size() == 1 ? type_text(results[0]) : "(" + joined(results, true) + ")";
  text_ += "\n";
}

Tensor Builder::emit(std::string_view op, std::span<const Tensor> operands, std::string_view attributes,
                     DType dtype, Dims dims) {
  Tensor result = declare(dtype, std::move(dims));
  open(op, {&result, 1}, operands);
  close(operands, attributes, {&result, 1});
  return result;
}

void Builder::region(std::span<const Tensor> arguments, const Body& body) {
  text_ += " ({\n    ^bb0(";
  for (size_t i = 0; i < arguments.size(); ++i) {
    text_ += (i ? ", " : "") + name(arguments[i]) + ": " + type_text(arguments[i]);
  }
  text_ += "):\n";
  const std::vector<Tensor> results = body(arguments);
  text_ += "    \"stablehlo.return\"(" + joined(results, false) + ") : (" + joined(results, true) +
           ") -> ()\n    })";
}

// -- Constants

Tensor Builder::constant(DType dtype, const Dims& dims, const std::string& element) {
  Tensor result = declare(dtype, dims);
  // A tensor without elements has no splat.
  const std::string data = result.count() == 0 ? "" : element;
  open("constant", {&result, 1}, {});
  close({}, "value = dense<" + data + "> : " + type_text(result), {&result, 1});
  constants_.insert(result.id);
  return result;
}

// Where numbers of the type end: half an element behind the largest.
static double end_of(DType dtype) {
  if (dtype == DType::kF16) return 65520;
  if (dtype == DType::kBF16) return 0x1.ffp127;
  return dtype == DType::kF32 ? 0x1.ffffffp127 : std::numeric_limits<double>::infinity();
}

static std::string float_text(DType dtype, double value) {
  if (std::abs(value) < end_of(dtype)) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17e", value);
    return text;
  }
  const bool nan = std::isnan(value), minus = value < 0;
  switch (dtype) {
    case DType::kF16:
      return nan ? "0x7E00" : minus ? "0xFC00" : "0x7C00";
    case DType::kBF16:
      return nan ? "0x7FC0" : minus ? "0xFF80" : "0x7F80";
    case DType::kF64:
      return nan ? "0x7FF8000000000000" : minus ? "0xFFF0000000000000" : "0x7FF0000000000000";
    default:
      return nan ? "0x7FC00000" : minus ? "0xFF800000" : "0x7F800000";
  }
}

Tensor Builder::full(DType dtype, const Dims& dims, double value) {
  if (is_complex(dtype)) return full_complex(dtype, dims, value, 0);
  if (dtype == DType::kBool) return constant(dtype, dims, value != 0 ? "true" : "false");
  if (is_float(dtype)) return constant(dtype, dims, float_text(dtype, value));
  return full(dtype, dims, static_cast<int64_t>(value));
}

Tensor Builder::full(DType dtype, const Dims& dims, int64_t value) {
  if (!is_integer(dtype)) return full(dtype, dims, static_cast<double>(value));
  // torch wraps numbers to the element type; MLIR wants them in range.
  switch (dtype) {
    case DType::kU8:
      return constant(dtype, dims, std::to_string(static_cast<uint8_t>(value)));
    case DType::kU16:
      return constant(dtype, dims, std::to_string(static_cast<uint16_t>(value)));
    case DType::kU32:
      return constant(dtype, dims, std::to_string(static_cast<uint32_t>(value)));
    case DType::kU64:
      return constant(dtype, dims, std::to_string(static_cast<uint64_t>(value)));
    case DType::kI8:
      return constant(dtype, dims, std::to_string(static_cast<int8_t>(value)));
    case DType::kI16:
      return constant(dtype, dims, std::to_string(static_cast<int16_t>(value)));
    case DType::kI32:
      return constant(dtype, dims, std::to_string(static_cast<int32_t>(value)));
    default:
      return constant(dtype, dims, std::to_string(value));
  }
}

Tensor Builder::full_complex(DType dtype, const Dims& dims, double real, double imaginary) {
  const DType part = real_part_of(dtype);
  return constant(dtype, dims, "(" + float_text(part, real) + ", " + float_text(part, imaginary) + ")");
}

static int64_t smallest(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return std::numeric_limits<int8_t>::min();
    case DType::kI16:
      return std::numeric_limits<int16_t>::min();
    case DType::kI32:
      return std::numeric_limits<int32_t>::min();
    case DType::kI64:
      return std::numeric_limits<int64_t>::min();
    default:
      return 0;
  }
}

Tensor Builder::lowest(DType dtype, const Dims& dims) {
  if (is_float(dtype)) return full(dtype, dims, -std::numeric_limits<double>::infinity());
  return full(dtype, dims, smallest(dtype));
}

Tensor Builder::highest(DType dtype, const Dims& dims) {
  if (is_float(dtype)) return full(dtype, dims, std::numeric_limits<double>::infinity());
  if (dtype == DType::kBool) return full(dtype, dims, 1);
  return full(dtype, dims, is_signed(dtype) ? ~smallest(dtype) : int64_t{-1});
}

Tensor Builder::iota(DType dtype, const Dims& dims, int64_t dim) {
  return emit("iota", {}, "iota_dimension = " + std::to_string(dim) + " : i64", dtype, dims);
}

// -- Elementwise

Tensor Builder::unary(std::string_view op, const Tensor& x) { return unary(op, x, x.dtype); }

// StableHLO has them for floats and complex numbers alone. Eager code calls some for integers where nothing
// is to be computed.
static bool is_of_floats(std::string_view op) {
  static constexpr std::string_view kOperations[] = {
      "cbrt",  "ceil", "cosine",       "exponential", "exponential_minus_one",
      "floor", "log",  "log_plus_one", "logistic",    "round_nearest_even",
      "rsqrt", "sine", "sqrt",         "tan",         "tanh"};
  return std::ranges::find(kOperations, op) != std::end(kOperations);
}

Tensor Builder::unary(std::string_view op, const Tensor& x, DType result) {
  if (is_of_floats(op) && !is_float(x.dtype) && !is_complex(x.dtype))
    throw Unsupported{std::string(op) + " of integers"};
  const Tensor made = emit(op, std::array{op == "log" ? apart(x) : x}, {}, result, x.dims);
  if (op == "exponential") powers_.insert(made.id);
  return made;
}

Tensor Builder::apart(const Tensor& x) { return powers_.contains(x.id) ? barrier(x) : x; }

Tensor Builder::barrier(const Tensor& x) {
  return emit("optimization_barrier", {&x, 1}, {}, x.dtype, x.dims);
}

Tensor Builder::binary(std::string_view op, const Tensor& a, const Tensor& b) {
  if (a.dtype != b.dtype || a.dims != b.dims)
    throw Unsupported{"operands of unequal types for " + std::string(op)};
  const bool joins = op == "power" || ((op == "multiply" || op == "divide") && powers_.contains(b.id));
  const Tensor operands[] = {separate(op, joins ? apart(a) : a, b), separate(op, b, a)};
  const Tensor made = emit(op, operands, {}, a.dtype, a.dims);
  if (op == "power") powers_.insert(made.id);
  if (constants_.contains(a.id) || constants_.contains(b.id)) {
    if (op == "add" || op == "subtract") shifted_.insert(made.id);
    if (op == "multiply") scaled_.insert(made.id);
  }
  return made;
}

Tensor Builder::separate(std::string_view op, const Tensor& x, const Tensor& other) {
  if (!is_float(x.dtype) || !constants_.contains(x.id)) return x;
  const bool shifts = (op == "add" || op == "subtract") && shifted_.contains(other.id);
  return shifts || (op == "multiply" && scaled_.contains(other.id)) ? tied(x, other) : x;
}

Tensor Builder::div(const Tensor& a, const Tensor& b) {
  // A divisor that depends on the dividend is no broadcast one to XLA. A NaN divided by anything is NaN.
  return binary("divide", a, is_float(a.dtype) ? tied(b, a) : b);
}

Tensor Builder::compare(Compare direction, const Tensor& a, const Tensor& b) {
  static constexpr const char* kTexts[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  const Tensor operands[] = {a, b};
  return emit("compare", operands,
              std::string("comparison_direction = #stablehlo<comparison_direction ") +
                  kTexts[static_cast<int>(direction)] + ">",
              DType::kBool, a.dims);
}

Tensor Builder::select(const Tensor& condition, const Tensor& yes, const Tensor& no) {
  const Tensor operands[] = {condition, yes, no};
  return emit("select", operands, {}, yes.dtype, yes.dims);
}

Tensor Builder::convert(const Tensor& x, DType dtype) {
  if (x.dtype == dtype) return x;
  if (dtype == DType::kBool) return compare(Compare::kNe, x, like(x, 0));
  if (is_complex(x.dtype) && !is_complex(dtype))
    return convert(unary("real", x, real_part_of(x.dtype)), dtype);
  // XLA saturates where a float does not fit; C++ (and so torch) converts to unsigned and narrow types by way
  // of a wide integer, which wraps.
  if (is_float(x.dtype) && is_integer(dtype) && dtype != DType::kI64 && dtype != DType::kI32)
    return convert(convert(x, DType::kI64), dtype);
  // A boolean that becomes a float at once is a choice to XLA: false times infinity would be 0.
  if (x.dtype == DType::kBool && !is_integer(dtype)) return convert(convert(x, DType::kU8), dtype);
  const Tensor result = unary("convert", x, dtype);
  if (powers_.contains(x.id)) powers_.insert(result.id);
  return result;
}

Tensor Builder::bitcast(const Tensor& x, DType dtype) {
  return x.dtype == dtype ? x : unary("bitcast_convert", x, dtype);
}

Tensor Builder::complex(const Tensor& real, const Tensor& imaginary) {
  const Tensor operands[] = {real, imaginary};
  return emit("complex", operands, {}, real.dtype == DType::kF64 ? DType::kC128 : DType::kC64, real.dims);
}

// -- Shapes

Tensor Builder::broadcast(const Tensor& x, const Dims& dims, const Dims& positions) {
  return emit("broadcast_in_dim", {&x, 1}, "broadcast_dimensions = " + array_text(positions), x.dtype, dims);
}

Tensor Builder::expand(const Tensor& x, const Dims& dims) {
  if (x.dims == dims) return x;
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (x.rank() > rank) throw Unsupported{"an operand has more dimensions than the result"};
  return broadcast(x, dims, range(rank - x.rank(), rank));
}

Tensor Builder::reshape(const Tensor& x, const Dims& dims) {
  if (x.dims == dims) return x;
  if (product(dims) != x.count()) throw Unsupported{"a reshape that changes the number of elements"};
  return emit("reshape", {&x, 1}, {}, x.dtype, dims);
}

Tensor Builder::transpose(const Tensor& x, const Dims& permutation) {
  if (permutation == range(0, x.rank())) return x;
  Dims dims;
  for (int64_t from : permutation) dims.push_back(x.dims[static_cast<size_t>(from)]);
  return emit("transpose", {&x, 1}, "permutation = " + array_text(permutation), x.dtype, std::move(dims));
}

Tensor Builder::slice(const Tensor& x, const Dims& start, const Dims& limit, const Dims& stride) {
  Dims dims;
  for (size_t i = 0; i < x.dims.size(); ++i)
    dims.push_back(std::max<int64_t>(0, (limit[i] - start[i] + stride[i] - 1) / stride[i]));
  if (dims == x.dims) return x;
  return emit("slice", {&x, 1},
              "start_indices = " + array_text(start) + ", limit_indices = " + array_text(limit) +
                  ", strides = " + array_text(stride),
              x.dtype, std::move(dims));
}

Tensor Builder::slice_dim(const Tensor& x, int64_t dim, int64_t start, int64_t limit, int64_t stride) {
  Dims from = repeated(x.rank(), 0), to = x.dims, step = repeated(x.rank(), 1);
  const auto at = static_cast<size_t>(dim);
  from[at] = start;
  to[at] = std::max(start, limit);
  step[at] = stride;
  return slice(x, from, to, step);
}

Tensor Builder::concat(std::span<const Tensor> parts, int64_t dim) {
  if (parts.size() == 1) return parts[0];
  Dims dims = parts[0].dims;
  dims[static_cast<size_t>(dim)] = 0;
  for (const Tensor& part : parts) dims[static_cast<size_t>(dim)] += part.dims[static_cast<size_t>(dim)];
  return emit("concatenate", parts, "dimension = " + std::to_string(dim) + " : i64", parts[0].dtype,
              std::move(dims));
}

Tensor Builder::pad(const Tensor& x, const Tensor& value, const Dims& low, const Dims& high,
                    const Dims& interior) {
  Dims dims;
  for (size_t i = 0; i < x.dims.size(); ++i)
    dims.push_back(x.dims[i] + low[i] + high[i] + std::max<int64_t>(0, x.dims[i] - 1) * interior[i]);
  const Tensor operands[] = {x, value};
  return emit("pad", operands,
              "edge_padding_low = " + array_text(low) + ", edge_padding_high = " + array_text(high) +
                  ", interior_padding = " + array_text(interior),
              x.dtype, std::move(dims));
}

Tensor Builder::reverse(const Tensor& x, const Dims& dims) {
  return emit("reverse", {&x, 1}, "dimensions = " + array_text(dims), x.dtype, x.dims);
}

}  // namespace stator::openxla
