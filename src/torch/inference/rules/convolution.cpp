// src/torch/inference/rules/convolution.cpp: convolutions.
#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "torch/inference/rules/families.h"
#include "torch/inference/rules/layout.h"
#include "torch/tracing/capture_break.h"

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

bool any_other_than_one(const Sizes& values) {
  return std::any_of(values.begin(), values.end(), [](const Size& v) { return !(v == 1); });
}

// Whether oneDNN takes bfloat16 here.
bool computes_bfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
#else
  raise_break(BreakCode::kShapeInference, "the layout of a bfloat16 convolution depends on the processor");
#endif
}

// Whether torch gives a convolution to oneDNN, in the order in which it asks.
bool uses_mkldnn(const TensorMeta& input, const TensorMeta& weight, const Convolution& c) {
  if (!at::hasMKLDNN() || !at::globalContext().userEnabledMkldnn()) return false;
  for (size_t i = 0; c.transposed && i < c.stride.size(); ++i) {
    if (c.output_padding[i] >= c.stride[i]) return false;
  }
  if (c.transposed && c.groups > 1 && input.sizes[1] == c.groups) return false;
  if (input.dtype == c10::ScalarType::BFloat16) return computes_bfloat16();
  if (input.dtype == c10::ScalarType::Half)
    raise_break(BreakCode::kShapeInference, "the layout of a half convolution depends on the processor");
  if (input.dtype != c10::ScalarType::Float) return false;
  const auto from_back = [&](size_t i) { return weight.sizes[weight.sizes.size() - i]; };
  const bool window = !(from_back(1) == 1) || !(from_back(2) == 1);
  if (!window && !any_other_than_one(c.stride) && !any_other_than_one(c.dilation) && input.sizes[0] < 16 &&
      at::get_num_threads() == 1) {
    return false;
  }
  return c.groups > 1 || (from_back(1) > 3 && from_back(2) > 3) || input.sizes[0] > 1 ||
         input.sizes[0] * input.sizes[1] * input.sizes[2] * input.sizes[3] > 20480;
}

// The result of a convolution over two or three dimensions.
Sizes convolution_strides(const TensorMeta& input, const TensorMeta& weight, const Sizes& sizes,
                          const Convolution& c) {
  auto format = suggested_format(input);
  if (format == c10::MemoryFormat::Contiguous) format = suggested_format(weight);
  Sizes strides = strides_for(sizes, format);
  const bool planar = sizes.size() == 4;
  if (format == c10::MemoryFormat::Contiguous || (planar && c.groups == 1)) return strides;
  if (planar && input.dtype == c10::ScalarType::Half) return strides;
  if (uses_mkldnn(input, weight, c)) return strides;
  if (!planar) return contiguous_strides(sizes);
  // Group by group, joined afterwards.
  Sizes part = sizes;
  part[1] = floordiv(sizes[1], c.groups);
  const TensorMeta parts[] = {fresh_like(input, part, strides_for(part, format))};
  return strides_for(sizes, joined_format(parts));
}

bool answer_convolution(const Call& call, Answer& answer, Convolution c) {
  TensorMeta input = call.tensor(0), weight = call.tensor(1);
  const int64_t spatial = weight.dim() - 2;
  if (spatial < 1 || spatial > 3 || !input.device.is_cpu()) return false;
  const bool batched = input.dim() == weight.dim();
  if (!batched) {
    if (input.dim() != weight.dim() - 1) return false;
    const Size stride = input.sizes[0] * input.strides[0];
    input.sizes.insert(input.sizes.begin(), Size(1));
    input.strides.insert(input.strides.begin(), stride);
  }
  if (input.dtype != weight.dtype || (call.has(2) && call.tensor(2).dtype != input.dtype)) return false;
  if (c10::isComplexType(input.dtype) || numel(input) == 0 || numel(weight) == 0) return false;
  if (!spread(c.stride, spatial) || !spread(c.padding, spatial) || !spread(c.dilation, spatial)) return false;
  if (c.transposed && !spread(c.output_padding, spatial)) return false;
  const Size channels = c.transposed ? weight.sizes[0] : weight.sizes[1] * c.groups;
  if (!(c.groups > 0) || !(input.sizes[1] == channels) || !(weight.sizes[0] % c.groups == 0)) return false;
  Sizes sizes{input.sizes[0], c.transposed ? weight.sizes[1] * c.groups : weight.sizes[0]}, strides;
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
  if (spatial == 1) {
    // torch makes the input contiguous first, lest it pass for channels last.
    input.strides = contiguous_strides(input.sizes);
    strides =
        convolution_strides(over_two(input), over_two(weight), {sizes[0], sizes[1], Size(1), sizes[2]}, c);
    strides.erase(strides.begin() + 2);
  } else {
    strides = convolution_strides(input, weight, sizes, c);
  }
  if (!batched) {
    sizes.erase(sizes.begin());
    strides.erase(strides.begin());
  }
  answer.fresh(fresh_like(input, sizes, strides));
  return true;
}

// conv2d.padding(input, weight, bias, stride, padding, dilation, groups)
bool convolution_padded(const Call& call, Answer& answer) {
  Convolution c{call.sizes(3), {Size(0)}, call.sizes(5), {}, false, call.size(6)};
  if (call.text(4) == "valid") return answer_convolution(call, answer, c);
  const TensorMeta& weight = call.tensor(1);
  const int64_t spatial = weight.dim() - 2;
  if (call.text(4) != "same" || spatial < 1 || !spread(c.dilation, spatial)) return false;
  c.padding.clear();
  for (int64_t i = 0; i < spatial; ++i) {
    const Size total = c.dilation[i] * (weight.sizes[i + 2] - 1);
    if (!(total % 2 == 0)) return false;  // the input is padded on one side first
    c.padding.push_back(floordiv(total, Size(2)));
  }
  return answer_convolution(call, answer, c);
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
    {"aten::conv1d.padding", convolution_padded},
    {"aten::conv2d.padding", convolution_padded},
    {"aten::conv3d.padding", convolution_padded},
    {"aten::conv_transpose1d", transposed_nd},
    {"aten::conv_transpose2d.input", transposed_nd},
    {"aten::conv_transpose3d.input", transposed_nd},
    {"aten::convolution", convolution},
    {"aten::_convolution", convolution},
};

}  // namespace

RuleTable convolution_rules() { return kRules; }

}  // namespace stator
