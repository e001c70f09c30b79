// src/torch/shape_rules/convolution.cpp: convolutions.
#include "torch/shape_rules/families.h"
#include "torch/shape_rules/layout.h"

namespace stator {

namespace {

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

constexpr RuleEntry kRules[] = {
    {"aten::conv1d", convolution_nd},
    {"aten::conv2d", convolution_nd},
    {"aten::conv3d", convolution_nd},
    {"aten::conv_transpose1d", transposed_nd},
    {"aten::conv_transpose2d.input", transposed_nd},
    {"aten::conv_transpose3d.input", transposed_nd},
    {"aten::convolution", convolution},
};

}  // namespace

RuleTable convolution_rules() { return kRules; }

}  // namespace stator
