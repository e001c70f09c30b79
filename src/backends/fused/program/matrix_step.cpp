// src/backends/fused/program/matrix_step.cpp: matrices on the memory of tensors, and torch's `mm` and
// `addmm`.
#include "backends/fused/program/matrix_step.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "backends/fused/program/layout.h"
#include "backends/fused/rewrite/rewrite.h"

namespace stator::fused {
namespace {

using ir::Operand;
using ir::OperandKind;
using ir::ValueId;

at::Tensor matrix(const at::Tensor& of, std::array<int64_t, 2> sizes, std::array<int64_t, 2> strides,
                  int64_t offset = 0) {
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(of.storage()), of.key_set(), of.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(c10::IntArrayRef(sizes), c10::IntArrayRef(strides),
                                                    of.storage_offset() + offset);
  return made;
}

// result[row, column] = sum over inner of left[row, inner] * right[column, inner], plus bias[column].
struct Sizes {
  int64_t rows, inner, columns;
  int64_t pitch;  // of the result's rows
};

class MatrixStep final : public native::Step {
 public:
  MatrixStep(const ir::Graph& graph, const ir::Node& node, ValueId left, ValueId right, ValueId bias,
             Sizes sizes)
      : left_(index(left)),
        right_(index(right)),
        bias_(bias == ValueId::kNone ? UINT32_MAX : index(bias)),
        result_(index(node.first_output)),
        sizes_(sizes),
        left_layout_(graph, left),
        right_layout_(graph, right),
        layout_(graph, node.first_output) {
    uses = {left_, right_};
    if (bias_ != UINT32_MAX) uses.push_back(bias_);
    makes = {result_};
    keeps_nothing = true;
  }

  void run(std::vector<c10::IValue>& values, const shape::Bindings& bindings) const override {
    const at::NoGradGuard no_gradients;
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor left = left_layout_.arranged(values[left_].toTensor(), bindings);
    const at::Tensor right = right_layout_.arranged(values[right_].toTensor(), bindings);
    at::Tensor result = layout_.allocate(bindings);
    const at::Tensor rows = matrix(left, {sizes_.rows, sizes_.inner}, {sizes_.inner, 1});
    // Rows that are padded are written in two parts: no kernel for tensor cores takes an odd number of
    // columns.
    const int64_t odd = sizes_.pitch == sizes_.columns ? 0 : sizes_.columns % kAlignedColumns;
    part(rows, right, result, values, 0, sizes_.columns - odd);
    if (odd != 0) part(rows, right, result, values, sizes_.columns - odd, odd);
    values[result_] = std::move(result);
  }

 private:
  void part(const at::Tensor& rows, const at::Tensor& right, const at::Tensor& result,
            const std::vector<c10::IValue>& values, int64_t first, int64_t count) const {
    const at::Tensor columns = matrix(right, {sizes_.inner, count}, {1, sizes_.inner}, first * sizes_.inner);
    at::Tensor out = matrix(result, {sizes_.rows, count}, {sizes_.pitch, 1}, first);
    if (bias_ == UINT32_MAX) {
      at::mm_out(out, rows, columns);
    } else {
      at::addmm_out(out, values[bias_].toTensor(), rows, columns);
    }
  }

  uint32_t left_, right_, bias_, result_;
  Sizes sizes_;
  Layout left_layout_, right_layout_, layout_;
};

// Of matrices with padded rows or columns. Along a dimension of which only a part is a multiple of what
// tensor cores read at once, the product is made in two parts.
class PaddedProduct final : public native::Step {
 public:
  PaddedProduct(const ir::Graph& graph, const ir::Node& node, ValueId left, ValueId right, int64_t parts)
      : parts_(parts),
        left_(index(left)),
        right_(index(right)),
        result_(index(node.first_output)),
        left_layout_(graph, left),
        right_layout_(graph, right),
        layout_(graph, node.first_output) {
    const auto strides = [&](ValueId id) {
      return std::array{graph.strides(id)[0].number(), graph.strides(id)[1].number()};
    };
    left_strides_ = strides(left);
    right_strides_ = strides(right);
    strides_ = strides(node.first_output);
    sizes_ = {graph.sizes(left)[0].number(), graph.sizes(right)[1].number(), graph.sizes(left)[1].number()};
    uses = {left_, right_};
    makes = {result_};
    keeps_nothing = true;
  }

  void run(std::vector<c10::IValue>& values, const shape::Bindings& bindings) const override {
    const at::NoGradGuard no_gradients;
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor left = left_layout_.arranged(values[left_].toTensor(), bindings);
    const at::Tensor right = right_layout_.arranged(values[right_].toTensor(), bindings);
    at::Tensor result = layout_.allocate(bindings);
    for (const Part& rows : parts_of(sizes_[0], kPartsOfRows)) {
      for (const Part& columns : parts_of(sizes_[1], kPartsOfColumns)) {
        at::Tensor out = matrix(result, {rows.count, columns.count}, strides_,
                                rows.first * strides_[0] + columns.first * strides_[1]);
        bool is_empty = true;
        // The small part first: the large one is added to it before it is rounded.
        for (const Part& inner : parts_of(sizes_[2], kPartsOfInner)) {
          const at::Tensor a = matrix(left, {rows.count, inner.count}, left_strides_,
                                      rows.first * left_strides_[0] + inner.first * left_strides_[1]);
          const at::Tensor b = matrix(right, {inner.count, columns.count}, right_strides_,
                                      inner.first * right_strides_[0] + columns.first * right_strides_[1]);
          if (is_empty) {
            at::mm_out(out, a, b);
          } else {
            out.addmm_(a, b);
          }
          is_empty = false;
        }
      }
    }
    values[result_] = std::move(result);
  }

 private:
  struct Part {
    int64_t first, count;
  };
  std::vector<Part> parts_of(int64_t size, int64_t dimension) const {
    const int64_t odd = size % kAlignedColumns;
    if ((parts_ & dimension) == 0 || odd == 0) return {{0, size}};
    return {{size - odd, odd}, {0, size - odd}};
  }

  int64_t parts_;
  uint32_t left_, right_, result_;
  Layout left_layout_, right_layout_, layout_;
  std::array<int64_t, 2> left_strides_{}, right_strides_{}, strides_{};
  std::array<int64_t, 3> sizes_{};  // rows, columns, inner
};

bool is_16_bit(ir::DType dtype) { return dtype == ir::DType::kBF16 || dtype == ir::DType::kF16; }

// A strided tensor with elements, of numbers alone, that lies in memory in this order of dimensions.
bool lies_in_order(const ir::Graph& graph, ValueId id, std::span<const size_t> outer_first) {
  const ir::Value& value = graph.value(id);
  if (!value.is_tensor() || value.layout != ir::Layout::kStrided || !value.has_strides ||
      value.rank != outer_first.size() || (value.flags & (ir::kConjugate | ir::kNegative)) != 0)
    return false;
  int64_t next = 1;  // elements
  for (size_t i = outer_first.size(); i-- > 0;) {
    const shape::Dim size = graph.sizes(id)[outer_first[i]], stride = graph.strides(id)[outer_first[i]];
    if (size.is_expr() || stride.is_expr() || size.number() == 0) return false;
    if (size.number() != 1 && stride.number() != next) return false;
    next *= size.number();
  }
  return true;
}

bool all_are(std::span<const int64_t> numbers, int64_t wanted) {
  return std::ranges::all_of(numbers, [&](int64_t number) { return number == wanted; });
}

std::unique_ptr<native::Step> point_convolution(const ir::Graph& graph, const ir::Node& node) {
  static constexpr std::array<size_t, 4> kImage = {0, 2, 3, 1}, kWeight = {0, 1, 2, 3};
  const auto operands = graph.operands(node);
  if (operands.size() != 7 || operands[0].kind != OperandKind::kValue ||
      operands[1].kind != OperandKind::kValue ||
      (operands[2].kind != OperandKind::kValue && operands[2].kind != OperandKind::kNone))
    return nullptr;
  const std::array<int64_t, 4> wanted = {1, 0, 1, 1};  // stride, padding, dilation, groups
  for (size_t i = 3; i < 6; ++i) {
    if (operands[i].kind != OperandKind::kIntList || !all_are(graph.ints(operands[i]), wanted[i - 3]))
      return nullptr;
  }
  if (operands[6].kind != OperandKind::kInt || operands[6].integer != 1) return nullptr;
  const ValueId image = operands[0].value, weight = operands[1].value, result = node.first_output;
  const ValueId bias = operands[2].kind == OperandKind::kValue ? operands[2].value : ValueId::kNone;
  if (!is_16_bit(graph.value(result).dtype) || !lies_in_order(graph, image, kImage) ||
      !lies_in_order(graph, weight, kWeight) || !lies_in_order(graph, result, kImage))
    return nullptr;
  for (ValueId id : {image, weight, bias}) {
    if (id != ValueId::kNone && graph.value(id).dtype != graph.value(result).dtype) return nullptr;
  }
  const auto sizes = graph.sizes(image), filters = graph.sizes(weight);
  if (!(filters[2] == shape::Dim(1)) || !(filters[3] == shape::Dim(1))) return nullptr;
  const int64_t rows = sizes[0].number() * sizes[2].number() * sizes[3].number();
  const int64_t columns = filters[0].number();
  return std::make_unique<MatrixStep>(graph, node, image, weight, bias,
                                      Sizes{rows, sizes[1].number(), columns, columns});
}

std::unique_ptr<native::Step> padded_linear(const ir::Graph& graph, const ir::Node& node) {
  const auto operands = graph.operands(node);
  const auto sizes = graph.sizes(node.first_output), strides = graph.strides(node.first_output);
  if (operands.size() != 3 || sizes.size() < 2 || operands[2].kind != OperandKind::kNone) return nullptr;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].is_expr() || strides[d].is_expr()) return nullptr;
  }
  const int64_t columns = sizes.back().number(), pitch = strides[sizes.size() - 2].number();
  if (pitch <= columns || operands[0].kind != OperandKind::kValue || operands[1].kind != OperandKind::kValue)
    return nullptr;
  std::vector<size_t> order(graph.value(operands[0].value).rank);
  std::iota(order.begin(), order.end(), size_t{0});
  static constexpr std::array<size_t, 2> kWeight = {0, 1};
  if (!lies_in_order(graph, operands[0].value, order) || !lies_in_order(graph, operands[1].value, kWeight))
    return nullptr;
  const auto inner = graph.sizes(operands[1].value)[1].number();
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < sizes.size(); ++d) rows *= sizes[d].number();
  return std::make_unique<MatrixStep>(graph, node, operands[0].value, operands[1].value, ValueId::kNone,
                                      Sizes{rows, inner, columns, pitch});
}

}  // namespace

std::unique_ptr<native::Step> make_matrix_step(const ir::Graph& graph, const ir::Node& node) {
  const std::string& name = graph.op_of(node).name;
  if (name == "aten::conv2d") return point_convolution(graph, node);
  if (name == "aten::linear") return padded_linear(graph, node);
  if (name == kPaddedProduct) {
    const auto operands = graph.operands(node);
    return std::make_unique<PaddedProduct>(graph, node, operands[0].value, operands[1].value,
                                           operands[2].integer);
  }
  return nullptr;
}

}  // namespace stator::fused
