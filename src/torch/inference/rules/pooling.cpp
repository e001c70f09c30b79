// src/torch/inference/rules/pooling.cpp: pooling and its inverse.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

using c10::ScalarType;

bool pooled_length(const Size& input, const Size& window, const Size& stride, const Size& padding,
                   const Size& dilation, bool ceil, Size& result) {
  if (!(window > 0) || !(stride > 0) || !(dilation > 0) || padding < 0 || padding * 2 > window) return false;
  const Size span = input + padding * 2 - dilation * (window - 1) - 1;
  result = floordiv(span + (ceil ? stride - 1 : Size(0)), stride) + 1;
  // The last window starts inside the input or its left padding.
  if (ceil && (result - 1) * stride >= input + padding) result -= 1;
  return result >= 1;
}

bool answer_pooled(const Call& call, Answer& answer, int64_t spatial, Sizes window, Sizes stride,
                   Sizes padding, Sizes dilation, bool ceil) {
  const TensorMeta& input = call.tensor(0);
  if (stride.empty()) stride = window;
  if (!spread(window, spatial) || !spread(stride, spatial) || !spread(padding, spatial) ||
      !spread(dilation, spatial)) {
    return false;
  }
  if (input.dim() != spatial + 2 || numel(input) == 0) return false;
  Sizes sizes = input.sizes;
  for (int64_t i = 0; i < spatial; ++i) {
    if (!pooled_length(input.sizes[i + 2], window[i], stride[i], padding[i], dilation[i], ceil, sizes[i + 2]))
      return false;
  }
  answer.fresh(fresh_like(input, sizes, strides_for(sizes, suggested_format(input))));
  return true;
}

// max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode)
bool max_pool2d(const Call& call, Answer& answer) {
  if (c10::isComplexType(call.tensor(0).dtype)) return false;
  return answer_pooled(call, answer, 2, call.sizes(1), call.sizes(2), call.sizes(3), call.sizes(4),
                       call.boolean(5));
}

// max_pool1d(self, kernel_size, stride, padding, dilation, ceil_mode): without a gradient a kernel of its
// own, else that of two dimensions, with its indices.
bool max_pool1d(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  if (!c10::isFloatingType(input.dtype) || !input.device.is_cpu() || call.requires_grad(0)) return false;
  if ((input.dim() != 2 && input.dim() != 3) || numel(input) == 0) return false;
  const auto one = [&](int i, const Size& otherwise) {
    const Sizes given = call.sizes(i);
    return given.empty() ? otherwise : given[0];
  };
  const Size window = one(1, Size(0));
  Sizes sizes = input.sizes;
  if (!pooled_length(input.sizes.back(), window, one(2, window), one(3, Size(0)), one(4, Size(1)),
                     call.boolean(5), sizes.back()))
    return false;
  answer.fresh(fresh_like(input, sizes, contiguous_strides(sizes)));
  return true;
}

// avg_pool2d(self, kernel_size, stride, padding, ceil_mode, …)
bool avg_pool2d(const Call& call, Answer& answer) {
  if (!c10::isFloatingType(call.tensor(0).dtype) && call.tensor(0).dtype != ScalarType::Long) return false;
  return answer_pooled(call, answer, 2, call.sizes(1), call.sizes(2), call.sizes(3), {Size(1)},
                       call.boolean(4));
}

bool answer_adaptive(const Call& call, Answer& answer, int64_t spatial) {
  const TensorMeta& input = call.tensor(0);
  const Sizes target = call.sizes(1);
  if (static_cast<int64_t>(target.size()) != spatial || !c10::isFloatingType(input.dtype)) return false;
  if (input.dim() != spatial + 1 && input.dim() != spatial + 2) return false;
  Sizes sizes = input.sizes;
  for (int64_t i = 0; i < spatial; ++i) {
    const size_t at = sizes.size() - spatial + i;
    if (target[i] < 0 || (at > 0 && input.sizes[at] == 0)) return false;
    sizes[at] = target[i];
  }
  answer.fresh(fresh_like(input, sizes, strides_for(sizes, suggested_format(input))));
  return true;
}

bool adaptive_avg_pool2d(const Call& call, Answer& answer) { return answer_adaptive(call, answer, 2); }

bool adaptive_avg_pool3d(const Call& call, Answer& answer) {
  if (!answer_adaptive(call, answer, 3)) return false;
  TensorMeta& meta = answer.specs.back().meta;
  meta.strides = contiguous_strides(meta.sizes);
  return true;
}

// A mean over all positions, which torch computes as such, or the pooling kernel.
bool averaged(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  const Sizes target = call.sizes(1);
  if (!answer_adaptive(call, answer, 2)) return false;
  if (!(target[0] == 1) || !(target[1] == 1)) return true;
  TensorMeta& meta = answer.specs.back().meta;
  meta.strides = contiguous_strides(meta.sizes);
  if (suggested_format(input) == c10::MemoryFormat::ChannelsLast) {
    const Size& channels = input.sizes[1];
    meta.strides = {channels, Size(1), channels, channels};
  }
  return true;
}

// Over two dimensions, of which the first is 1.
bool adaptive_avg_pool1d(const Call& call, Answer& answer) {
  const TensorMeta& input = call.tensor(0);
  const Sizes target = call.sizes(1);
  if (target.size() != 1 || target[0] < 1 || !c10::isFloatingType(input.dtype)) return false;
  if ((input.dim() != 2 && input.dim() != 3) || numel(input) == 0) return false;
  TensorMeta wide = view_of(input, input.sizes, input.strides, input.offset);
  const int64_t last = input.dim() - 1;
  wide.sizes.insert(wide.sizes.begin() + last, Size(1));
  wide.strides.insert(wide.strides.begin() + last, input.sizes[last] * input.strides[last]);
  wide.sizes.back() = target[0];
  auto format = c10::MemoryFormat::Contiguous;
  TensorMeta seen = wide;
  seen.sizes.back() = input.sizes[last];
  format = suggested_format(seen);
  Sizes strides = strides_for(wide.sizes, format);
  if (format == c10::MemoryFormat::ChannelsLast && target[0] == 1) {
    const Size& channels = input.sizes[1];
    strides = {channels, Size(1), channels, channels};
  }
  Sizes sizes = input.sizes;
  sizes[last] = target[0];
  strides.erase(strides.begin() + last);
  answer.fresh(fresh_like(input, sizes, strides));
  return true;
}

// max_unpool2d(self, indices, output_size)
bool max_unpool2d(const Call& call, Answer& answer) {
  const TensorMeta &self = call.tensor(0), &indices = call.tensor(1);
  const Sizes target = call.sizes(2);
  if (target.size() != 2 || indices.dtype != ScalarType::Long || self.dim() != indices.dim()) return false;
  if ((self.dim() != 3 && self.dim() != 4) || numel(self) == 0) return false;
  if (!std::equal(self.sizes.begin(), self.sizes.end(), indices.sizes.begin())) return false;
  Sizes sizes = self.sizes;
  sizes[self.dim() - 2] = target[0];
  sizes[self.dim() - 1] = target[1];
  return answer_result(call, answer, fresh_like(self, sizes, strides_for(sizes, suggested_format(self))));
}

constexpr RuleEntry kRules[] = {
    {"aten::max_pool1d", max_pool1d},
    {"aten::max_pool2d", max_pool2d},
    {"aten::avg_pool2d", avg_pool2d},
    {"aten::_adaptive_avg_pool2d", adaptive_avg_pool2d},
    {"aten::_adaptive_avg_pool3d", adaptive_avg_pool3d},
    {"aten::adaptive_avg_pool1d", adaptive_avg_pool1d},
    {"aten::adaptive_avg_pool2d", averaged},
    {"aten::max_unpool2d", max_unpool2d},
    {"aten::max_unpool2d.out", max_unpool2d},
};

}  // namespace

RuleTable pooling_rules() { return kRules; }

}  // namespace stator
