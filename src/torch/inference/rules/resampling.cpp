// src/torch/inference/rules/resampling.cpp: images and signals brought to another size.
#include <cmath>

#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

// Where a size is scaled torch multiplies in floating point and cuts off. A whole factor keeps a symbol.
bool scaled(const Size& length, double factor, Size& result) {
  if (!(factor > 0) || factor > 1e6) return false;
  if (factor == std::floor(factor)) {
    result = length * Size(static_cast<int64_t>(factor));
    return true;
  }
  result = Size(static_cast<int64_t>(static_cast<double>(length.specialize()) * factor));
  return true;
}

// Over one dimension the result is contiguous, over more it has the layout of the input.
bool answer_resized(const Call& call, Answer& answer, const Sizes& target) {
  const TensorMeta& input = call.tensor(0);
  const auto spatial = static_cast<int64_t>(target.size());
  const bool is_image = spatial == 2 && input.dtype == c10::ScalarType::Byte;
  if (!(c10::isFloatingType(input.dtype) || is_image) || input.dim() != spatial + 2 || numel(input) == 0)
    return false;
  Sizes sizes = input.sizes;
  for (int64_t i = 0; i < spatial; ++i) {
    if (!(target[i] > 0)) return false;
    sizes[i + 2] = target[i];
  }
  const auto format = spatial == 1 ? c10::MemoryFormat::Contiguous : suggested_format(input);
  return answer_result(call, answer, fresh_like(input, sizes, strides_for(sizes, format)));
}

// upsample_nearest2d(self, output_size, …)
template <int spatial>
bool resized(const Call& call, Answer& answer) {
  const Sizes target = call.sizes(1);
  return target.size() == spatial && answer_resized(call, answer, target);
}

// upsample_nearest2d.vec(input, output_size, …, scale_factors): one of the two is given.
template <int spatial, int factors>
bool resized_either_way(const Call& call, Answer& answer) {
  if (call.has(1) == call.has(factors)) return false;
  if (call.has(1)) return resized<spatial>(call, answer);
  const TensorMeta& input = call.tensor(0);
  const std::vector<double> given = call.numbers(factors);
  if (given.size() != spatial || input.dim() != spatial + 2) return false;
  Sizes target(spatial);
  for (int i = 0; i < spatial; ++i) {
    if (!scaled(input.sizes[i + 2], given[i], target[i])) return false;
  }
  return answer_resized(call, answer, target);
}

// grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners) of images
bool sampled_at_grid(const Call& call, Answer& answer) {
  const TensorMeta &input = call.tensor(0), &grid = call.tensor(1);
  if (!c10::isFloatingType(input.dtype) || grid.dtype != input.dtype || !input.device.is_cpu()) return false;
  if (input.dim() != 4 || grid.dim() != 4 || !is_contiguous(input) || numel(input) == 0) return false;
  if (!(grid.sizes[3] == Size(2)) || !(grid.sizes[0] == input.sizes[0])) return false;
  const Sizes sizes{input.sizes[0], input.sizes[1], grid.sizes[1], grid.sizes[2]};
  return answer_result(call, answer, fresh_meta(sizes, input.dtype, input.device));
}

constexpr RuleEntry kRules[] = {
    {"aten::grid_sampler", sampled_at_grid},
    {"aten::grid_sampler_2d", sampled_at_grid},
    {"aten::upsample_nearest1d", resized<1>},
    {"aten::upsample_nearest1d.vec", resized_either_way<1, 2>},
    {"aten::upsample_nearest2d", resized<2>},
    {"aten::upsample_nearest2d.vec", resized_either_way<2, 2>},
    {"aten::upsample_nearest3d", resized<3>},
    {"aten::upsample_nearest3d.vec", resized_either_way<3, 2>},
    {"aten::_upsample_nearest_exact1d", resized<1>},
    {"aten::_upsample_nearest_exact1d.vec", resized_either_way<1, 2>},
    {"aten::_upsample_nearest_exact2d", resized<2>},
    {"aten::_upsample_nearest_exact2d.vec", resized_either_way<2, 2>},
    {"aten::_upsample_nearest_exact3d", resized<3>},
    {"aten::_upsample_nearest_exact3d.vec", resized_either_way<3, 2>},
    {"aten::upsample_linear1d", resized<1>},
    {"aten::upsample_linear1d.vec", resized_either_way<1, 3>},
    {"aten::upsample_bilinear2d", resized<2>},
    {"aten::upsample_bilinear2d.vec", resized_either_way<2, 3>},
    {"aten::_upsample_bilinear2d_aa", resized<2>},
    {"aten::_upsample_bilinear2d_aa.vec", resized_either_way<2, 3>},
    {"aten::upsample_bicubic2d", resized<2>},
    {"aten::upsample_bicubic2d.vec", resized_either_way<2, 3>},
    {"aten::_upsample_bicubic2d_aa", resized<2>},
    {"aten::_upsample_bicubic2d_aa.vec", resized_either_way<2, 3>},
    {"aten::upsample_trilinear3d", resized<3>},
    {"aten::upsample_trilinear3d.vec", resized_either_way<3, 3>},
};

}  // namespace

RuleTable resampling_rules() { return kRules; }

}  // namespace stator
