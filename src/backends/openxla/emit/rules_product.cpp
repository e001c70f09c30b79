// src/backends/openxla/emit/rules_product.cpp: matrix products, convolutions and triangular systems.
#include <algorithm>

#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

static size_t at(int64_t i) { return static_cast<size_t>(i); }

static Tensor matrix_product(const Call& c, const char* left, const char* right) {
  const DType type = accumulation_type(c.result_dtype());
  const Tensor a = c.operand(left, type), d = c.operand(right, type);
  if (a.rank() == 3) return c.b.dot(a, d, {0}, {0}, {2}, {1});
  return c.b.dot(a, d, {}, {}, {a.rank() - 1}, {0});
}

Outputs mm(const Call& c) { return {matrix_product(c, "self", "mat2")}; }
Outputs bmm(const Call& c) { return {matrix_product(c, "self", "mat2")}; }
Outputs mv(const Call& c) { return {matrix_product(c, "self", "vec")}; }
Outputs dot(const Call& c) { return {matrix_product(c, "self", "tensor")}; }

// beta * self + alpha * product; a beta of 0 leaves self out, NaN and all.
static Outputs plus_product(const Call& c, const char* left, const char* right) {
  Builder& b = c.b;
  Tensor product = matrix_product(c, left, right);
  const auto scaled = [&](const Tensor& x, const char* name) {
    const double factor = c.real(name, 1);
    return factor == 1 ? x : b.mul(x, c.operand(name, x.dtype, x.dims));
  };
  product = scaled(product, "alpha");
  if (c.real("beta", 1) == 0) return {product};
  return {b.add(scaled(c.operand("self", product.dtype, product.dims), "beta"), product)};
}
Outputs addmm(const Call& c) { return plus_product(c, "mat1", "mat2"); }
Outputs baddbmm(const Call& c) { return plus_product(c, "batch1", "batch2"); }
Outputs addmv(const Call& c) { return plus_product(c, "mat", "vec"); }

// -- Convolutions

struct Convolution {
  DType type;
  int64_t spatial, groups;
  Dims stride, padding, dilation;
  bool transposed;
};

static Dims per_dimension(const Dims& given, int64_t count) {
  if (given.empty()) throw Unsupported{"no size of a window"};
  return static_cast<int64_t>(given.size()) == count ? given : repeated(count, given[0]);
}

static Convolution convolution_of(const Call& c, const Tensor& x, DType result) {
  const int64_t n = x.rank() - 2;
  if (is_complex(result)) throw Unsupported{"complex numbers"};
  return {accumulation_type(result), n, c.integer("groups"), per_dimension(c.ints("stride"), n),
          // By a name only where it means none.
          c.string("padding", "").empty() ? per_dimension(c.ints("padding"), n) : repeated(n, 0),
          per_dimension(c.ints("dilation"), n), c.flag("transposed")};
}

static std::string spatial(int64_t n) {
  std::string text;
  for (int64_t i = 0; i < n; ++i) text += ", " + std::to_string(i);
  return text;
}

static Dims reach_of(const Tensor& weight, const Dims& dilation) {
  Dims result;
  for (size_t i = 0; i < dilation.size(); ++i) result.push_back((weight.dims[i + 2] - 1) * dilation[i]);
  return result;
}

// A weight [g*a, b, …] as [g*b, a, …], its window turned around: what the gradient of the input is convolved
// with.
static Tensor turned(Builder& b, const Tensor& w, int64_t groups) {
  Dims split = {groups, w.dims[0] / groups, w.dims[1]}, order = {0, 2, 1},
       joined = {groups * w.dims[1], w.dims[0] / groups};
  for (int64_t i = 2; i < w.rank(); ++i) {
    split.push_back(w.dims[at(i)]);
    order.push_back(i + 1);
    joined.push_back(w.dims[at(i)]);
  }
  const Tensor swapped = b.reshape(b.transpose(b.reshape(w, split), order), joined);
  return b.reverse(swapped, range(2, w.rank()));
}

static Tensor forward(Builder& b, const Convolution& v, const Tensor& x, const Tensor& w,
                      const Dims& result) {
  const std::string dims = spatial(v.spatial);
  const Dims reach = reach_of(w, v.dilation);
  Dims high = v.padding;
  for (int64_t i = 0; i < v.spatial; ++i) {
    // Outputs that a transposed convolution adds (`output_padding`) come of no input: no step begins there.
    const int64_t needed = (result[at(i + 2)] - 1) * v.stride[at(i)] + reach[at(i)] + 1;
    const int64_t given = x.dims[at(i + 2)] + 2 * v.padding[at(i)];
    if (given >= needed + v.stride[at(i)]) high[at(i)] -= given - needed;
  }
  return b.convolution(x, w,
                       {.layout = "[b, f" + dims + "]x[o, i" + dims + "]->[b, f" + dims + "]",
                        .stride = v.stride,
                        .pad_low = v.padding,
                        .pad_high = high,
                        .input_dilation = repeated(v.spatial, 1),
                        .kernel_dilation = v.dilation,
                        .groups = v.groups},
                       result);
}

// From outputs to inputs: the output apart by the stride, the weight turned around.
static Tensor backward(Builder& b, const Convolution& v, const Tensor& y, const Tensor& w,
                       const Dims& result) {
  const std::string dims = spatial(v.spatial);
  const Dims reach = reach_of(w, v.dilation);
  Dims low, high;
  for (int64_t i = 0; i < v.spatial; ++i) {
    low.push_back(reach[at(i)] - v.padding[at(i)]);
    const int64_t spread = (y.dims[at(i + 2)] - 1) * v.stride[at(i)] + 1;
    high.push_back(result[at(i + 2)] - spread - low.back() + reach[at(i)]);
  }
  return b.convolution(y, turned(b, w, v.groups),
                       {.layout = "[b, f" + dims + "]x[o, i" + dims + "]->[b, f" + dims + "]",
                        .stride = repeated(v.spatial, 1),
                        .pad_low = low,
                        .pad_high = high,
                        .input_dilation = v.stride,
                        .kernel_dilation = v.dilation,
                        .groups = v.groups},
                       result);
}

// The gradient of the weight: inputs convolved with gradients, batch and features having changed places.
static Tensor weight_gradient(Builder& b, const Convolution& v, const Tensor& x, const Tensor& grad,
                              const Dims& result) {
  const std::string dims = spatial(v.spatial);
  Dims high;
  for (int64_t i = 0; i < v.spatial; ++i) {
    // The window is the gradient, dilated by the stride; it takes result.size steps of the dilation.
    const int64_t window = (grad.dims[at(i + 2)] - 1) * v.stride[at(i)] + 1;
    const int64_t wanted = (result[at(i + 2)] - 1) * v.dilation[at(i)] + window;
    high.push_back(wanted - x.dims[at(i + 2)] - v.padding[at(i)]);
  }
  return b.convolution(x, grad,
                       {.layout = "[f, b" + dims + "]x[i, o" + dims + "]->[f, b" + dims + "]",
                        .stride = v.dilation,
                        .pad_low = v.padding,
                        .pad_high = high,
                        .input_dilation = repeated(v.spatial, 1),
                        .kernel_dilation = v.stride,
                        .batch_groups = v.groups},
                       result);
}

static Tensor channels(Builder& b, const Tensor& bias, const Dims& dims) {
  return b.broadcast(bias, dims, {1});
}

Outputs convolution(const Call& c) {
  Builder& b = c.b;
  const Tensor given = c.tensor("input");
  const Convolution v = convolution_of(c, given, c.result_dtype());
  const Tensor x = b.convert(given, v.type), w = c.operand("weight", v.type);
  const Dims dims = c.result_dims();
  if (x.count() == 0 || w.count() == 0) throw Unsupported{"no elements"};
  Tensor y = v.transposed ? backward(b, v, x, w, dims) : forward(b, v, x, w, dims);
  if (c.has("bias")) y = b.add(y, channels(b, c.operand("bias", v.type), dims));
  return {y};
}

Outputs convolution_backward(const Call& c) {
  Builder& b = c.b;
  const Tensor given = c.tensor("input");
  const Convolution v = convolution_of(c, given, given.dtype);
  const Tensor x = b.convert(given, v.type), w = c.operand("weight", v.type),
               grad = c.operand("grad_output", v.type);
  if (x.count() == 0 || grad.count() == 0) throw Unsupported{"no elements"};
  Outputs result(3);
  if (c.wanted(0))
    result[0] = v.transposed ? forward(b, v, grad, w, x.dims) : backward(b, v, grad, w, x.dims);
  if (c.wanted(1)) {
    result[1] =
        v.transposed ? weight_gradient(b, v, grad, x, w.dims) : weight_gradient(b, v, x, grad, w.dims);
  }
  if (c.wanted(2)) {
    Dims others = range(0, grad.rank());
    others.erase(others.begin() + 1);
    result[2] = b.reduce(grad, b.full(v.type, {}, 0), others, "add");
  }
  return result;
}

// -- Triangular matrices

Outputs solve_triangular(const Call& c) {
  Builder& b = c.b;
  Tensor a = c.tensor("self"), d = c.tensor("B");
  if (is_complex(a.dtype) || a.count() == 0 || d.count() == 0)
    throw Unsupported{"complex numbers or no elements"};
  Dims batch = c.result_dims();
  batch.resize(batch.size() - 2);
  const auto batched = [&](const Tensor& x) {
    Dims dims = batch;
    dims.insert(dims.end(), x.dims.end() - 2, x.dims.end());
    return b.expand(x, dims);
  };
  return {b.triangular_solve(batched(a), batched(d), c.flag("left", true), !c.flag("upper"),
                             c.flag("unitriangular"), false)};
}

}  // namespace stator::openxla::rule
