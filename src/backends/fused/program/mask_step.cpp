// src/backends/fused/program/mask_step.cpp: the conversion that torch makes in each call of attention.
//
// What it fills a mask with for cuDNN's kernel differs among torch's releases, which rows without any key
// show: torch is asked once.
#include "backends/fused/program/mask_step.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/utils/pybind.h>

#include <limits>
#include <mutex>
#include <optional>

namespace stator::fused {
namespace {

constexpr int64_t kCudnn = 3;  // of torch's SDPBackend
constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor converted(const at::Tensor& mask, c10::ScalarType dtype, double fill) {
  const auto options = mask.options().dtype(dtype);
  return at::where(mask, at::full({}, 0.0, options), at::full({}, fill, options));
}

// Nothing where torch says neither.
std::optional<double> ask_torch(const at::Tensor& query) {
  const auto options = query.options();
  const at::Tensor q = at::zeros({1, 1, 64, 64}, options);
  const at::Tensor v = at::arange(64.0, options).view({1, 1, 64, 1}).expand({1, 1, 64, 64}).contiguous();
  at::Tensor mask = at::ones({1, 1, 64, 64}, options.dtype(at::kBool));
  mask.select(2, 0).fill_(false);
  if (at::_fused_sdp_choice(q, q, v, mask) != kCudnn) return {};
  const at::Tensor wanted = at::scaled_dot_product_attention(q, q, v, mask);
  for (double fill : {-kInfinity, -65504.0}) {
    if (at::equal(wanted, at::scaled_dot_product_attention(q, q, v, converted(mask, q.scalar_type(), fill))))
      return fill;
  }
  return {};
}

std::optional<double> fill_for_cudnn(const at::Tensor& query) {
  static std::mutex mutex;
  static bool is_asked = false;
  static std::optional<double> fill;
  const std::lock_guard lock(mutex);
  if (is_asked) return fill;
  {
    const py::gil_scoped_acquire locked;
    // The answer is waited for, which a recording does not survive.
    if (py::module_::import("torch.cuda").attr("is_current_stream_capturing")().cast<bool>()) return {};
  }
  fill = ask_torch(query);
  is_asked = true;
  return fill;
}

class MaskStep final : public native::Step {
 public:
  MaskStep(const ir::Graph& graph, const ir::Node& node) : result_(index(node.first_output)) {
    const auto operands = graph.operands(node);
    for (size_t i = 0; i < 4; ++i) {
      tensors_.push_back(index(operands[i].value));
      uses.push_back(tensors_.back());
    }
    if (operands[4].kind == ir::OperandKind::kDouble) dropout_ = operands[4].real;
    is_causal_ = operands[5].kind == ir::OperandKind::kBool && operands[5].boolean;
    if (operands[6].kind == ir::OperandKind::kDouble) scale_ = operands[6].real;
    has_groups_ = operands[7].kind == ir::OperandKind::kBool && operands[7].boolean;
    makes = {result_};
  }

  void run(std::vector<c10::IValue>& values, const shape::Bindings& /*bindings*/) const override {
    const at::NoGradGuard no_gradients;
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor &q = values[tensors_[0]].toTensor(), &mask = values[tensors_[3]].toTensor();
    const int64_t choice =
        at::_fused_sdp_choice(q, values[tensors_[1]].toTensor(), values[tensors_[2]].toTensor(), mask,
                              dropout_, is_causal_, scale_, has_groups_);
    const std::optional<double> fill = choice == kCudnn ? fill_for_cudnn(q) : -kInfinity;
    // Without an answer each layer converts it by itself.
    values[result_] = fill ? converted(mask, q.scalar_type(), *fill) : mask;
  }

 private:
  std::vector<uint32_t> tensors_;
  uint32_t result_;
  double dropout_ = 0;
  bool is_causal_ = false, has_groups_ = false;
  std::optional<double> scale_;
};

}  // namespace

std::unique_ptr<native::Step> make_mask_step(const ir::Graph& graph, const ir::Node& node) {
  return std::make_unique<MaskStep>(graph, node);
}

}  // namespace stator::fused
