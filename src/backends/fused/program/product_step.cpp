// src/backends/fused/program/product_step.cpp: matrices as torch's product kernel wants them, made in place.
#include "backends/fused/program/product_step.h"

#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>

#include <algorithm>
#include <array>

#include "backends/fused/program/layout.h"

namespace stator::fused {
namespace {

// Another tensor on the same memory.
at::Tensor matrix(const at::Tensor& of, int64_t rows, int64_t columns, int64_t row_stride,
                  int64_t column_stride) {
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(of.storage()), of.key_set(), of.dtype());
  const std::array<int64_t, 2> sizes = {rows, columns}, strides = {row_stride, column_stride};
  made.unsafeGetTensorImpl()->set_sizes_and_strides(c10::IntArrayRef(sizes), c10::IntArrayRef(strides),
                                                    of.storage_offset());
  return made;
}

class ProductStep final : public native::Step {
 public:
  ProductStep(const ir::Graph& graph, const ir::Node& node, ir::ValueId left, ir::ValueId right,
              ir::ValueId bias, bool right_is_transposed)
      : left_(index(left)),
        right_(index(right)),
        bias_(bias == ir::ValueId::kNone ? UINT32_MAX : index(bias)),
        result_(index(node.first_output)),
        transposed_(right_is_transposed),
        layout_(graph, node.first_output) {
    uses = {left_, right_};
    if (bias_ != UINT32_MAX) uses.push_back(bias_);
    makes = {result_};
    keeps_nothing = true;
  }

  void run(std::vector<c10::IValue>& values, const shape::Bindings& bindings) const override {
    const at::Tensor& given = values[left_].toTensor();
    // torch's kernel takes matrices by rows or by columns.
    const at::Tensor left = given.dim() == 2 || given.is_contiguous() ? given : given.contiguous();
    const at::Tensor& right = values[right_].toTensor();
    const c10::IntArrayRef sizes = right.sizes(), strides = right.strides();
    const int64_t inner = transposed_ ? sizes[1] : sizes[0], columns = transposed_ ? sizes[0] : sizes[1];
    const int64_t rows = inner == 0 ? 0 : left.numel() / inner;
    at::Tensor result = layout_.allocate(bindings);
    at::Tensor out = result.dim() == 2 ? result : matrix(result, rows, columns, columns, 1);
    const at::Tensor first = left.dim() == 2 ? left : matrix(left, rows, inner, inner, 1);
    const at::Tensor second = transposed_ ? matrix(right, inner, columns, strides[1], strides[0]) : right;
    if (bias_ == UINT32_MAX) {
      at::cpu::mm_out(out, first, second);
    } else {
      at::cpu::addmm_out(out, values[bias_].toTensor(), first, second);
    }
    values[result_] = std::move(result);
  }

 private:
  uint32_t left_, right_, bias_, result_;
  bool transposed_;
  Layout layout_;
};

const ir::Operand* argument(const ir::Graph& graph, const ir::Node& node, std::string_view name) {
  const auto& names = graph.op_of(node).arguments;
  const auto operands = graph.operands(node);
  for (size_t i = 0; i < names.size() && i < operands.size(); ++i) {
    if (names[i] == name) return &operands[i];
  }
  return nullptr;
}

ir::ValueId tensor_argument(const ir::Graph& graph, const ir::Node& node, std::string_view name) {
  const ir::Operand* operand = argument(graph, node, name);
  return operand && operand->kind == ir::OperandKind::kValue ? operand->value : ir::ValueId::kNone;
}

bool is_one(const ir::Operand* operand) {
  return !operand || operand->kind == ir::OperandKind::kNone ||
         (operand->kind == ir::OperandKind::kInt && operand->integer == 1) ||
         (operand->kind == ir::OperandKind::kDouble && operand->real == 1);
}

// A strided tensor on the CPU with elements, of the type.
bool is_plain(const ir::Graph& graph, ir::ValueId id, ir::DType dtype) {
  const ir::Value& value = graph.value(id);
  const auto sizes = graph.sizes(id);
  return value.is_tensor() && value.dtype == dtype && value.layout == ir::Layout::kStrided &&
         value.device.type == ir::DeviceType::kCpu && (value.flags & (ir::kConjugate | ir::kNegative)) == 0 &&
         std::ranges::find(sizes, shape::Dim(0)) == sizes.end();
}

// Rows behind each other, as the kernel writes them. Of symbolic sizes only the innermost is looked at:
// torch's products have no other layout.
bool is_row_major(const ir::Graph& graph, ir::ValueId id) {
  const auto sizes = graph.sizes(id), strides = graph.strides(id);
  shape::Dim next = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (!(sizes[d] == shape::Dim(1)) && !next.is_expr() && !strides[d].is_expr() && !(strides[d] == next))
      return false;
    const bool known = !next.is_expr() && !sizes[d].is_expr();
    if (!known) return !sizes.empty() && (strides.back() == shape::Dim(1) || sizes.back() == shape::Dim(1));
    next = next.number() * sizes[d].number();
  }
  return true;
}

}  // namespace

std::unique_ptr<native::Step> make_product_step(const ir::Graph& graph, const ir::Node& node) {
  const std::string& name = graph.op_of(node).name;
  const bool is_linear = name == "aten::linear", is_addmm = name == "aten::addmm";
  if (!is_linear && !is_addmm && name != "aten::mm") return nullptr;
  const ir::ValueId left = tensor_argument(graph, node, is_linear ? "input" : is_addmm ? "mat1" : "self");
  const ir::ValueId right = tensor_argument(graph, node, is_linear ? "weight" : "mat2");
  const ir::ValueId bias = is_linear  ? tensor_argument(graph, node, "bias")
                           : is_addmm ? tensor_argument(graph, node, "self")
                                      : ir::ValueId::kNone;
  if (left == ir::ValueId::kNone || right == ir::ValueId::kNone) return nullptr;
  if (is_addmm && (bias == ir::ValueId::kNone || !is_one(argument(graph, node, "alpha")) ||
                   !is_one(argument(graph, node, "beta"))))
    return nullptr;
  const ir::Value& result = graph.value(node.first_output);
  if (result.dtype != ir::DType::kF32 && result.dtype != ir::DType::kF64) return nullptr;
  for (ir::ValueId id : {left, right, bias, node.first_output}) {
    if (id != ir::ValueId::kNone && !is_plain(graph, id, result.dtype)) return nullptr;
  }
  if (graph.value(left).rank < 2 || graph.value(right).rank != 2) return nullptr;
  if (bias != ir::ValueId::kNone && graph.value(bias).rank != 1) return nullptr;
  if (!is_row_major(graph, node.first_output)) return nullptr;
  return std::make_unique<ProductStep>(graph, node, left, right, bias, is_linear);
}

}  // namespace stator::fused
