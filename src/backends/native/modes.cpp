// src/backends/native/modes.cpp: applies mode nodes to the thread.
#include "backends/native/modes.h"

#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <array>
#include <optional>
#include <stdexcept>

#include "torch/operators/attention_kernels.h"

namespace stator::native {

namespace {

struct Autocast {
  bool enabled;
  c10::ScalarType dtype;
  bool cache;
};

Autocast read_autocast(c10::DeviceType device) {
  return {at::autocast::is_autocast_enabled(device), at::autocast::get_autocast_dtype(device),
          at::autocast::is_autocast_cache_enabled()};
}

void write_autocast(c10::DeviceType device, const Autocast& state) {
  at::autocast::set_autocast_enabled(device, state.enabled);
  at::autocast::set_autocast_dtype(device, state.dtype);
  at::autocast::set_autocast_cache_enabled(state.cache);
}

}  // namespace

struct ModeStack::Entered {
  bool grad = true;
  c10::ScalarType default_dtype = c10::ScalarType::Float;
  AttentionKernels attention;
  std::optional<c10::InferenceMode> inference;
  std::array<std::optional<Autocast>, 2> autocast;  // the caller's state, by slot

  static size_t slot(c10::DeviceType device) { return device == c10::kCPU ? 0 : 1; }
  void leave_autocast(c10::DeviceType device) {
    auto& saved = autocast[slot(device)];
    if (!saved) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    write_autocast(device, *saved);
    saved.reset();
  }
};

ModeStack::ModeStack() = default;

ModeStack::~ModeStack() {
  if (!entered_) return;
  entered_->leave_autocast(c10::kCPU);
  entered_->leave_autocast(c10::kCUDA);
  entered_->inference.reset();
  if (finished_) return;
  c10::GradMode::set_enabled(entered_->grad);
  if (c10::get_default_dtype_as_scalartype() != entered_->default_dtype) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(entered_->default_dtype));
  }
  if (AttentionKernels::current() != entered_->attention) entered_->attention.make_current();
}

void ModeStack::apply(ir::OpId op, const torch::jit::Stack& arguments) {
  if (!entered_) {
    entered_ = std::make_unique<Entered>();
    entered_->grad = c10::GradMode::is_enabled();
    entered_->default_dtype = c10::get_default_dtype_as_scalartype();
    entered_->attention = AttentionKernels::current();
  }
  if (op == ir::op::kSetGradEnabled) {
    c10::GradMode::set_enabled(arguments[0].toBool());
  } else if (op == ir::op::kInferenceEnter) {
    entered_->inference.reset();
    entered_->inference.emplace(arguments[0].toBool());
  } else if (op == ir::op::kInferenceExit) {
    entered_->inference.reset();
  } else if (op == ir::op::kAutocastEnter) {
    const auto device = arguments[0].toDevice().type();
    entered_->autocast[Entered::slot(device)] = read_autocast(device);
    at::autocast::increment_nesting();
    write_autocast(device, {arguments[2].toBool(), arguments[1].toScalarType(), arguments[3].toBool()});
  } else if (op == ir::op::kAutocastExit) {
    entered_->leave_autocast(arguments[0].toDevice().type());
  } else if (op == ir::op::kSetDefaultDType) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(arguments[0].toScalarType()));
  } else if (op == ir::op::kSetAttentionKernels) {
    AttentionKernels::from(arguments[0].toBoolList(), arguments[1].toIntList()).make_current();
  } else {
    throw std::runtime_error("a mode that replay does not know");
  }
}

}  // namespace stator::native
