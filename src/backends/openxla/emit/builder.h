// src/backends/openxla/emit/builder.h: writes StableHLO text, one operation a call; knows nothing of ATen.
//
// Every method appends one operation (or a few) and returns its result. Shapes are numbers: a graph with
// symbolic sizes is specialised before it comes here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/ir/enums.h"

namespace stator::openxla {

using ir::DType;
using Dims = std::vector<int64_t>;

// Thrown by rules, caught by emit.cpp: the node runs outside XLA.
struct Unsupported {
  std::string reason;
};

struct Tensor {
  int id = -1;
  DType dtype = DType::kF32;
  Dims dims;
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t count() const;
};

bool is_float(DType dtype);
bool is_complex(DType dtype);
bool is_integer(DType dtype);  // bool is none
bool is_signed(DType dtype);
DType real_part_of(DType dtype);        // c64 -> f32; others unchanged
DType accumulation_type(DType dtype);   // f32 for the 16-bit floats; others unchanged
int64_t bytes_of(DType dtype);          // of one element
std::string element_text(DType dtype);  // throws Unsupported for types that XLA does not have

enum class Compare { kEq, kNe, kLt, kLe, kGt, kGe };

using Body = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

struct GatherDims {
  Dims offset_dims, collapsed, start_index_map;
  int64_t index_vector_dim = 0;
  Dims slice_sizes;
};

struct ScatterDims {
  Dims update_window_dims, inserted, to_operand_dims;
  int64_t index_vector_dim = 0;
};

struct Window {
  Dims size, stride, dilation, pad_low, pad_high;
};

struct ConvDims {
  std::string layout;  // [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]
  Dims stride, pad_low, pad_high, input_dilation, kernel_dilation;
  int64_t groups = 1, batch_groups = 1;
};

// How exactly products of 32-bit floats are computed: DEFAULT, HIGH or HIGHEST, as StableHLO names it.
struct Precision {
  std::string product = "HIGHEST", convolution = "HIGHEST";
  bool operator==(const Precision&) const = default;
};

class Builder {
 public:
  explicit Builder(Precision precision = {}) : precision_(std::move(precision)) {}

  // What eager code checks in its kernels, and XLA does not: an index in range, a divisor that is not 0. The
  // elements of `condition` must all be true, or the program's results mean nothing.
  void require(const Tensor& condition);
  // All that was required, as one boolean; none if nothing was.
  std::optional<Tensor> required();

  // A value that the text defines elsewhere: an argument of the function or of a region.
  Tensor declare(DType dtype, Dims dims);

  // -- Constants
  Tensor full(DType dtype, const Dims& dims, double value);
  Tensor full(DType dtype, const Dims& dims, int64_t value);
  Tensor full_complex(DType dtype, const Dims& dims, double real, double imaginary);
  Tensor full(DType dtype, const Dims& dims, int value) { return full(dtype, dims, int64_t{value}); }
  Tensor like(const Tensor& x, double value) { return full(x.dtype, x.dims, value); }
  Tensor like(const Tensor& x, int value) { return full(x.dtype, x.dims, int64_t{value}); }
  Tensor lowest(DType dtype, const Dims& dims);   // -inf, or the smallest integer
  Tensor highest(DType dtype, const Dims& dims);  // inf, or the largest integer
  Tensor iota(DType dtype, const Dims& dims, int64_t dim);

  // -- Elementwise: operands have one type and shape
  Tensor unary(std::string_view op, const Tensor& x);
  Tensor unary(std::string_view op, const Tensor& x, DType result);
  // The same, which XLA does not simplify together with what it is computed of.
  Tensor barrier(const Tensor& x);
  Tensor binary(std::string_view op, const Tensor& a, const Tensor& b);
  Tensor add(const Tensor& a, const Tensor& b) { return binary("add", a, b); }
  Tensor sub(const Tensor& a, const Tensor& b) { return binary("subtract", a, b); }
  Tensor mul(const Tensor& a, const Tensor& b) { return binary("multiply", a, b); }
  // Rounded once, as IEEE has it. binary("divide") is not: XLA multiplies by the reciprocal of a constant or
  // of what is broadcast, and 49 / 49 is less than 1.
  Tensor div(const Tensor& a, const Tensor& b);
  Tensor both(const Tensor& a, const Tensor& b) { return binary("and", a, b); }
  Tensor either(const Tensor& a, const Tensor& b) { return binary("or", a, b); }
  Tensor invert(const Tensor& a) { return unary("not", a); }
  Tensor compare(Compare direction, const Tensor& a, const Tensor& b);
  Tensor select(const Tensor& condition, const Tensor& yes, const Tensor& no);
  Tensor is_nan(const Tensor& x) { return compare(Compare::kNe, x, x); }
  Tensor convert(const Tensor& x, DType dtype);
  Tensor bitcast(const Tensor& x, DType dtype);
  Tensor complex(const Tensor& real, const Tensor& imaginary);

  // -- Shapes
  Tensor broadcast(const Tensor& x, const Dims& dims, const Dims& positions);  // broadcast_in_dim
  Tensor expand(const Tensor& x, const Dims& dims);  // by torch's rule: aligned at the last dimension
  Tensor reshape(const Tensor& x, const Dims& dims);
  Tensor transpose(const Tensor& x, const Dims& permutation);
  Tensor slice(const Tensor& x, const Dims& start, const Dims& limit, const Dims& stride);
  Tensor slice_dim(const Tensor& x, int64_t dim, int64_t start, int64_t limit, int64_t stride = 1);
  Tensor concat(std::span<const Tensor> parts, int64_t dim);
  Tensor pad(const Tensor& x, const Tensor& value, const Dims& low, const Dims& high, const Dims& interior);
  Tensor reverse(const Tensor& x, const Dims& dims);

  // -- Reductions and friends
  std::vector<Tensor> reduce(std::span<const Tensor> xs, std::span<const Tensor> inits, const Dims& dims,
                             const Body& body);
  Tensor reduce(const Tensor& x, const Tensor& init, const Dims& dims, std::string_view op);
  Tensor reduce_window(const Tensor& x, const Tensor& init, const Window& window, std::string_view op);
  std::vector<Tensor> sort(std::span<const Tensor> xs, int64_t dim, const Body& less);

  Tensor dot(const Tensor& a, const Tensor& b, const Dims& batch_a, const Dims& batch_b,
             const Dims& contract_a, const Dims& contract_b);
  Tensor convolution(const Tensor& x, const Tensor& kernel, const ConvDims& dims, const Dims& result);
  Tensor gather(const Tensor& x, const Tensor& indices, const GatherDims& dims);
  Tensor scatter(const Tensor& x, const Tensor& indices, const Tensor& updates, const ScatterDims& dims,
                 const Body& combine);
  // Over the last dimension: FFT, IFFT, RFFT, IRFFT; `length` is that of the real or complex side that is
  // longer.
  Tensor fft(const Tensor& x, std::string_view kind, int64_t length);
  Tensor triangular_solve(const Tensor& a, const Tensor& b, bool left, bool lower, bool unit,
                          bool transpose_a);

  static std::string type_text(const Tensor& x);
  static std::string name(const Tensor& x) { return "%" + std::to_string(x.id); }
  std::string take() { return std::move(text_); }

 private:
  Tensor emit(std::string_view op, std::span<const Tensor> operands, std::string_view attributes, DType dtype,
              Dims dims);
  void open(std::string_view op, std::span<const Tensor> results, std::span<const Tensor> operands);
  void region(std::span<const Tensor> arguments, const Body& body);
  void close(std::span<const Tensor> operands, std::string_view attributes, std::span<const Tensor> results);
  Tensor constant(DType dtype, const Dims& dims, const std::string& element);

  // A power or an exponential is kept from what is computed of it: XLA would compute log(exp(x)) as x, and
  // exp(x) * exp(y) as exp(x + y), also where exp(x) is infinite.
  Tensor apart(const Tensor& x);
  // What cannot be told from `x` op `y`, but depends on `x` to XLA.
  Tensor tied(const Tensor& y, const Tensor& x) { return select(is_nan(x), x, y); }
  // An operand that is a constant, where the other one was made with a constant, too: XLA would join the two,
  // and (x + c) - c, which rounds x, would be x.
  Tensor separate(std::string_view op, const Tensor& x, const Tensor& other);

  Precision precision_;
  std::string text_;
  std::unordered_set<int> powers_;                        // ids of such results
  std::unordered_set<int> constants_, shifted_, scaled_;  // of constants; of sums and products with one
  std::vector<Tensor> required_;                          // without dimensions
  int next_ = 0;
};

int64_t product(std::span<const int64_t> dims);
Dims range(int64_t begin, int64_t end);
Dims repeated(int64_t count, int64_t value);

}  // namespace stator::openxla
