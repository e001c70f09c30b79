// src/torch/inference/rules/copies.cpp: copies and conversions of dtype, device and layout.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

struct Target {
  c10::ScalarType dtype;
  c10::Device device;
  bool copy = false;
  c10::MemoryFormat format = c10::MemoryFormat::Preserve;
};

// A device without index means the current one, which only torch knows.
bool known_device(const c10::Device& device) {
  return device.is_cpu() || device.is_meta() || device.has_index();
}

bool answer_conversion(const Call& call, Answer& answer, const Target& target) {
  const TensorMeta& self = call.tensor(0);
  if (!known_device(target.device)) return false;
  const bool in_format =
      target.format == c10::MemoryFormat::Preserve || suggested_format(self) == target.format;
  if (target.dtype == self.dtype && target.device == self.device && !target.copy && in_format) {
    answer.same(0, self);
    return true;
  }
  TensorMeta meta = fresh_like(self, self.sizes, strides_like(self, target.format));
  meta.dtype = target.dtype;
  meta.device = target.device;
  answer.fresh(std::move(meta));
  return true;
}

Target unchanged(const Call& call) { return {call.tensor(0).dtype, call.tensor(0).device}; }

void read_format(const Call& call, int argument, Target& target) {
  if (call.has(argument)) target.format = call.memory_format(argument);
}

// to.dtype(self, dtype, non_blocking, copy, memory_format)
bool to_dtype(const Call& call, Answer& answer) {
  Target target = unchanged(call);
  target.dtype = call.dtype(1);
  target.copy = call.boolean(3);
  read_format(call, 4, target);
  return answer_conversion(call, answer, target);
}

// to.device(self, device, dtype, non_blocking, copy, memory_format)
bool to_device(const Call& call, Answer& answer) {
  Target target = unchanged(call);
  target.device = call.device(1);
  target.dtype = call.dtype(2);
  target.copy = call.boolean(4);
  read_format(call, 5, target);
  return answer_conversion(call, answer, target);
}

// to.dtype_layout(self, *, dtype, layout, device, pin_memory, non_blocking, copy, memory_format)
bool to_options(const Call& call, Answer& answer) {
  if (call.has(2) && call.integer(2) != 0) return false;
  Target target = unchanged(call);
  if (call.has(1)) target.dtype = call.dtype(1);
  if (call.has(3)) target.device = call.device(3);
  target.copy = call.boolean(6);
  read_format(call, 7, target);
  return answer_conversion(call, answer, target);
}

// _to_copy(self, *, dtype, layout, device, pin_memory, non_blocking, memory_format)
bool to_copy(const Call& call, Answer& answer) {
  if (call.has(2) && call.integer(2) != 0) return false;
  Target target = unchanged(call);
  if (call.has(1)) target.dtype = call.dtype(1);
  if (call.has(3)) target.device = call.device(3);
  target.copy = true;
  read_format(call, 6, target);
  return answer_conversion(call, answer, target);
}

// to.other(self, other, non_blocking, copy, memory_format), type_as(self, other)
bool to_other(const Call& call, Answer& answer) {
  Target target{call.tensor(1).dtype, call.tensor(1).device};
  if (call.count() > 3) {
    target.copy = call.boolean(3);
    read_format(call, 4, target);
  }
  return answer_conversion(call, answer, target);
}

bool in_format(const TensorMeta& self, c10::MemoryFormat format) {
  switch (format) {
    case c10::MemoryFormat::Contiguous:
      return is_contiguous(self);
    case c10::MemoryFormat::ChannelsLast:
      return self.dim() == 4 && is_channels_last(self);
    case c10::MemoryFormat::ChannelsLast3d:
      return self.dim() == 5 && is_channels_last(self);
    default:
      return false;
  }
}

bool contiguous(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const auto format = call.has(1) ? call.memory_format(1) : c10::MemoryFormat::Contiguous;
  if (format == c10::MemoryFormat::Preserve) return false;
  if (format == c10::MemoryFormat::ChannelsLast && self.dim() != 4) return false;
  if (format == c10::MemoryFormat::ChannelsLast3d && self.dim() != 5) return false;
  if (in_format(self, format)) {
    answer.same(0, self);
  } else {
    answer.fresh(fresh_like(self, self.sizes, strides_for(self.sizes, format)));
  }
  return true;
}

bool clone(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  const auto format = call.has(1) ? call.memory_format(1) : c10::MemoryFormat::Preserve;
  answer.fresh(fresh_like(self, self.sizes, strides_like(self, format)));
  return true;
}

bool copy_in_place(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  Sizes sizes = self.sizes;
  if (!broadcast(sizes, call.tensor(1).sizes) || sizes.size() != self.sizes.size()) return false;
  if (!std::equal(sizes.begin(), sizes.end(), self.sizes.begin())) return false;
  answer.same(0, self);
  return true;
}

// Lazy conjugation and negation are declined by the caller of rules: here there is nothing to resolve.
bool nothing_to_resolve(const Call& call, Answer& answer) {
  answer.same(0, call.tensor(0));
  return true;
}

bool real_part(const Call& call, Answer& answer) {
  const TensorMeta& self = call.tensor(0);
  if (c10::isComplexType(self.dtype)) return false;
  answer.same(0, self);
  return true;
}

constexpr RuleEntry kRules[] = {
    {"aten::to.dtype", to_dtype},
    {"aten::to.device", to_device},
    {"aten::to.dtype_layout", to_options},
    {"aten::to.other", to_other},
    {"aten::type_as", to_other},
    {"aten::_to_copy", to_copy},
    {"aten::contiguous", contiguous},
    {"aten::clone", clone},
    {"aten::lift_fresh_copy", clone},
    {"aten::copy_", copy_in_place},
    {"aten::resolve_conj", nothing_to_resolve},
    {"aten::resolve_neg", nothing_to_resolve},
    {"aten::conj", real_part},
    {"aten::real", real_part},
};

}  // namespace

RuleTable copy_rules() { return kRules; }

}  // namespace stator
