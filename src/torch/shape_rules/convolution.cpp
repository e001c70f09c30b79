// src/torch/shape_rules/convolution.cpp: convolutions and pooling.
#include "torch/shape_rules/families.h"
#include "torch/shape_rules/pointwise.h"

namespace stator {

namespace {

using c10::ScalarType;

// One number serves all spatial dimensions.
bool spread(Sizes& values, int64_t dims) {
  if (values.size() == 1) values.assign(dims, values[0]);
  return static_cast<int64_t>(values.size()) == dims;
}

struct Convolution {
  Sizes stride, padding, dilation, output_padding;
  bool transposed = false;
  Size groups = 1;
};

// A convolution over one dimension is done as one over two.
TensorMeta over_two(TensorMeta meta) {
  if (meta.dim() != 3) return meta;
  const Size stride = meta.sizes[2] * meta.strides[2];
  meta.sizes.insert(meta.sizes.begin() + 2, Size(1));
  meta.strides.insert(meta.strides.begin() + 2, stride);
  return meta;
}

// The CPU kernels work in channels last where input or weight is laid out so, save the transposed one over
// three dimensions.
Sizes convolution_strides(const TensorMeta& input, const TensorMeta& weight, const Sizes& sizes,
                          bool transposed) {
  if (transposed && sizes.size() == 5) return contiguous_strides(sizes);
  for (const TensorMeta* meta : {&input, &weight}) {
    const auto format = suggested_format(over_two(*meta));
    if (format == c10::MemoryFormat::Contiguous) continue;
    if (sizes.size() != 3) return strides_for(sizes, format);
    Sizes strides = strides_for({sizes[0], sizes[1], Size(1), sizes[2]}, format);
    strides.erase(strides.begin() + 2);
    return strides;
  }
  return contiguous_strides(sizes);
}

bool answer_convolution(const Call& call, Answer& answer, Convolution c) {
  const TensorMeta &input = call.tensor(0), &weight = call.tensor(1);
  const int64_t spatial = weight.dim() - 2;
  if (spatial < 1 || spatial > 3 || input.dim() != weight.dim() || !input.device.is_cpu()) return false;
  if (input.dtype != weight.dtype || (call.has(2) && call.tensor(2).dtype != input.dtype)) return false;
  if (c10::isComplexType(input.dtype) || numel(input) == 0 || numel(weight) == 0) return false;
  if (!spread(c.stride, spatial) || !spread(c.padding, spatial) || !spread(c.dilation, spatial)) return false;
  if (c.transposed && !spread(c.output_padding, spatial)) return false;
  const Size channels = c.transposed ? weight.sizes[0] : weight.sizes[1] * c.groups;
  if (!(c.groups > 0) || !(input.sizes[1] == channels) || !(weight.sizes[0] % c.groups == 0)) return false;
  Sizes sizes{input.sizes[0], c.transposed ? weight.sizes[1] * c.groups : weight.sizes[0]};
  for (int64_t i = 0; i < spatial; ++i) {
    if (!(c.stride[i] > 0) || !(c.dilation[i] > 0) || c.padding[i] < 0) return false;
    const Size window = c.dilation[i] * (weight.sizes[i + 2] - 1) + 1;
    const Size length =
        c.transposed
            ? (input.sizes[i + 2] - 1) * c.stride[i] - c.padding[i] * 2 + window + c.output_padding[i]
            : floordiv(input.sizes[i + 2] + c.padding[i] * 2 - window, c.stride[i]) + 1;
    if (length < 1) return false;
    sizes.push_back(length);
  }
  answer.fresh(fresh_like(input, sizes, convolution_strides(input, weight, sizes, c.transposed)));
  return true;
}

// conv2d(input, weight, bias, stride, padding, dilation, groups)
bool convolution_nd(const Call& call, Answer& answer) {
  return answer_convolution(call, answer,
                            {call.sizes(3), call.sizes(4), call.sizes(5), {}, false, call.size(6)});
}

// conv_transpose2d.input(input, weight, bias, stride, padding, output_padding, groups, dilation)
bool transposed_nd(const Call& call, Answer& answer) {
  return answer_convolution(call, answer,
                            {call.sizes(3), call.sizes(4), call.sizes(7), call.sizes(5), true, call.size(6)});
}

// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
bool convolution(const Call& call, Answer& answer) {
  return answer_convolution(
      call, answer,
      {call.sizes(3), call.sizes(4), call.sizes(5), call.sizes(7), call.boolean(6), call.size(8)});
}

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

constexpr RuleEntry kRules[] = {
    {"aten::conv1d", convolution_nd},
    {"aten::conv2d", convolution_nd},
    {"aten::conv3d", convolution_nd},
    {"aten::conv_transpose1d", transposed_nd},
    {"aten::conv_transpose2d.input", transposed_nd},
    {"aten::conv_transpose3d.input", transposed_nd},
    {"aten::convolution", convolution},
    {"aten::max_pool2d", max_pool2d},
    {"aten::avg_pool2d", avg_pool2d},
    {"aten::_adaptive_avg_pool2d", adaptive_avg_pool2d},
    {"aten::_adaptive_avg_pool3d", adaptive_avg_pool3d},
};

}  // namespace

RuleTable convolution_rules() { return kRules; }

}  // namespace stator
