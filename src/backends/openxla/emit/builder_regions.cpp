// src/backends/openxla/emit/builder_regions.cpp: operations with a computation inside, products, gather and
// scatter.
#include <algorithm>

#include "backends/openxla/emit/attributes.h"
#include "backends/openxla/emit/builder.h"

namespace stator::openxla {

std::string list_text(std::span<const int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

std::string array_text(std::span<const int64_t> numbers) {
  return numbers.empty() ? "array<i64>" : "array<i64: " + list_text(numbers) + ">";
}

std::string pairs_text(std::span<const int64_t> low, std::span<const int64_t> high) {
  std::string text;
  for (size_t i = 0; i < low.size(); ++i) {
    const int64_t pair[] = {low[i], high[i]};
    text += (i ? ", [" : "[") + list_text(pair) + "]";
  }
  text = low.empty() ? "dense<>" : "dense<[" + text + "]>";
  return text + " : tensor<" + std::to_string(low.size()) + "x2xi64>";
}

static std::vector<Tensor> scalars(Builder& b, std::span<const Tensor> like, int copies) {
  std::vector<Tensor> result;
  for (int copy = 0; copy < copies; ++copy) {
    for (const Tensor& x : like) result.push_back(b.declare(x.dtype, {}));
  }
  return result;
}

static std::vector<Tensor> together(std::span<const Tensor> a, std::span<const Tensor> b) {
  std::vector<Tensor> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

std::vector<Tensor> Builder::reduce(std::span<const Tensor> xs, std::span<const Tensor> inits,
                                    const Dims& dims, const Body& body) {
  std::vector<Tensor> results;
  for (const Tensor& x : xs) {
    Dims kept;
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (std::ranges::find(dims, i) == dims.end()) kept.push_back(x.dims[static_cast<size_t>(i)]);
    }
    results.push_back(declare(x.dtype, std::move(kept)));
  }
  const std::vector<Tensor> operands = together(xs, inits);
  open("reduce", results, operands);
  region(scalars(*this, xs, 2), body);
  close(operands, "dimensions = " + array_text(dims), results);
  return results;
}

Tensor Builder::reduce(const Tensor& x, const Tensor& init, const Dims& dims, std::string_view op) {
  return reduce({&x, 1}, {&init, 1}, dims,
                [&](std::span<const Tensor> args) { return std::vector{binary(op, args[0], args[1])}; })[0];
}

Tensor Builder::reduce_window(const Tensor& x, const Tensor& init, const Window& w, std::string_view op) {
  Dims dims;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const int64_t reach = (w.size[i] - 1) * w.dilation[i] + 1;
    const int64_t padded = x.dims[i] + w.pad_low[i] + w.pad_high[i];
    dims.push_back(padded < reach ? 0 : (padded - reach) / w.stride[i] + 1);
  }
  Tensor result = declare(x.dtype, std::move(dims));
  const Tensor operands[] = {x, init};
  open("reduce_window", {&result, 1}, operands);
  region(scalars(*this, {&x, 1}, 2),
         [&](std::span<const Tensor> args) { return std::vector{binary(op, args[0], args[1])}; });
  close(operands,
        "window_dimensions = " + array_text(w.size) + ", window_strides = " + array_text(w.stride) +
            ", window_dilations = " + array_text(w.dilation) +
            ", padding = " + pairs_text(w.pad_low, w.pad_high),
        {&result, 1});
  return result;
}

std::vector<Tensor> Builder::sort(std::span<const Tensor> xs, int64_t dim, const Body& less) {
  std::vector<Tensor> results, arguments;
  for (const Tensor& x : xs) results.push_back(declare(x.dtype, x.dims));
  for (const Tensor& x : xs) {
    arguments.push_back(declare(x.dtype, {}));
    arguments.push_back(declare(x.dtype, {}));
  }
  open("sort", results, xs);
  region(arguments, less);
  close(xs, "dimension = " + std::to_string(dim) + " : i64, is_stable = true", results);
  return results;
}

static std::string precision_config(const std::string& precision) {
  const std::string one = "#stablehlo<precision " + precision + ">";
  return "precision_config = [" + one + ", " + one + "]";
}

Tensor Builder::dot(const Tensor& a, const Tensor& b, const Dims& batch_a, const Dims& batch_b,
                    const Dims& contract_a, const Dims& contract_b) {
  Dims dims;
  for (int64_t i : batch_a) dims.push_back(a.dims[static_cast<size_t>(i)]);
  const auto free = [&dims](const Tensor& x, const Dims& batch, const Dims& contract) {
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (std::ranges::find(batch, i) == batch.end() && std::ranges::find(contract, i) == contract.end())
        dims.push_back(x.dims[static_cast<size_t>(i)]);
    }
  };
  free(a, batch_a, contract_a);
  free(b, batch_b, contract_b);
  const Tensor operands[] = {a, b};
  return emit("dot_general", operands,
              "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [" + list_text(batch_a) +
                  "], rhs_batching_dimensions = [" + list_text(batch_b) +
                  "], lhs_contracting_dimensions = [" + list_text(contract_a) +
                  "], rhs_contracting_dimensions = [" + list_text(contract_b) + "]>, " +
                  precision_config(precision_.product),
              a.dtype, std::move(dims));
}

Tensor Builder::convolution(const Tensor& x, const Tensor& kernel, const ConvDims& c, const Dims& result) {
  std::string reversal;
  for (size_t i = 0; i < c.stride.size(); ++i) reversal += i ? ", false" : "false";
  const Tensor operands[] = {x, kernel};
  return emit(
      "convolution", operands,
      "dimension_numbers = #stablehlo.conv<" + c.layout + ">, window_strides = " + array_text(c.stride) +
          ", padding = " + pairs_text(c.pad_low, c.pad_high) +
          ", lhs_dilation = " + array_text(c.input_dilation) +
          ", rhs_dilation = " + array_text(c.kernel_dilation) + ", window_reversal = array<i1: " + reversal +
          ">, feature_group_count = " + std::to_string(c.groups) + " : i64, batch_group_count = " +
          std::to_string(c.batch_groups) + " : i64, " + precision_config(precision_.convolution),
      x.dtype, result);
}

Tensor Builder::gather(const Tensor& x, const Tensor& indices, const GatherDims& g) {
  // Dimensions of the result: those of the slices at offset_dims, those of the indices elsewhere.
  Dims batch, slices;
  for (int64_t i = 0; i < indices.rank(); ++i) {
    if (i != g.index_vector_dim) batch.push_back(indices.dims[static_cast<size_t>(i)]);
  }
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (g.slice_sizes[static_cast<size_t>(i)] > x.dims[static_cast<size_t>(i)])
      throw Unsupported{"elements of an empty tensor"};
    if (std::ranges::find(g.collapsed, i) == g.collapsed.end())
      slices.push_back(g.slice_sizes[static_cast<size_t>(i)]);
  }
  Dims dims;
  size_t next_batch = 0, next_slice = 0;
  const auto total = static_cast<int64_t>(batch.size() + slices.size());
  for (int64_t i = 0; i < total; ++i) {
    const bool offset = std::ranges::find(g.offset_dims, i) != g.offset_dims.end();
    dims.push_back(offset ? slices[next_slice++] : batch[next_batch++]);
  }
  const Tensor operands[] = {x, indices};
  return emit("gather", operands,
              "dimension_numbers = #stablehlo.gather<offset_dims = [" + list_text(g.offset_dims) +
                  "], collapsed_slice_dims = [" + list_text(g.collapsed) + "], start_index_map = [" +
                  list_text(g.start_index_map) +
                  "], index_vector_dim = " + std::to_string(g.index_vector_dim) +
                  ">, slice_sizes = " + array_text(g.slice_sizes) + ", indices_are_sorted = false",
              x.dtype, std::move(dims));
}

Tensor Builder::scatter(const Tensor& x, const Tensor& indices, const Tensor& updates, const ScatterDims& s,
                        const Body& combine) {
  Tensor result = declare(x.dtype, x.dims);
  const Tensor operands[] = {x, indices, updates};
  open("scatter", {&result, 1}, operands);
  region(scalars(*this, {&x, 1}, 2), combine);
  close(operands,
        "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [" +
            list_text(s.update_window_dims) + "], inserted_window_dims = [" + list_text(s.inserted) +
            "], scatter_dims_to_operand_dims = [" + list_text(s.to_operand_dims) + "], index_vector_dim = " +
            std::to_string(s.index_vector_dim) + ">, indices_are_sorted = false, unique_indices = false",
        {&result, 1});
  return result;
}

void Builder::require(const Tensor& condition) {
  if (condition.count() == 0) return;
  required_.push_back(condition.rank() == 0
                          ? condition
                          : reduce(condition, full(DType::kBool, {}, 1), range(0, condition.rank()), "and"));
}

std::optional<Tensor> Builder::required() {
  if (required_.empty()) return {};
  Tensor all = required_[0];
  for (size_t i = 1; i < required_.size(); ++i) all = both(all, required_[i]);
  return all;
}

Tensor Builder::fft(const Tensor& x, std::string_view kind, int64_t length) {
  Dims dims = x.dims;
  DType dtype = x.dtype;
  if (kind == "RFFT") {
    dims.back() = length / 2 + 1;
    dtype = x.dtype == DType::kF64 ? DType::kC128 : DType::kC64;
  } else if (kind == "IRFFT") {
    dims.back() = length;
    dtype = real_part_of(x.dtype);
  }
  const int64_t lengths[] = {length};
  return emit(
      "fft", {&x, 1},
      "fft_type = #stablehlo<fft_type " + std::string(kind) + ">, fft_length = " + array_text(lengths), dtype,
      std::move(dims));
}

Tensor Builder::triangular_solve(const Tensor& a, const Tensor& b, bool left, bool lower, bool unit,
                                 bool transpose_a) {
  const auto flag = [](const char* name, bool on) {
    return std::string(name) + (on ? " = true" : " = false");
  };
  const Tensor operands[] = {a, b};
  return emit("triangular_solve", operands,
              flag("left_side", left) + ", " + flag("lower", lower) + ", " + flag("unit_diagonal", unit) +
                  ", transpose_a = #stablehlo<transpose " + (transpose_a ? "TRANSPOSE" : "NO_TRANSPOSE") +
                  ">",
              b.dtype, b.dims);
}

}  // namespace stator::openxla
