// src/torch/inference/rules/matmul.cpp: matrix products.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/pointwise.h"

namespace stator {

namespace {

bool same_type(const TensorMeta& a, const TensorMeta& b) {
  return a.dtype == b.dtype && a.device == b.device;
}

bool answer_product(const Call& call, Answer& answer, const TensorMeta& like, const Sizes& sizes) {
  return answer_result(call, answer, fresh_meta(sizes, like.dtype, like.device));
}

bool mm_sizes(const TensorMeta& a, const TensorMeta& b) {
  return a.dim() == 2 && b.dim() == 2 && a.sizes[1] == b.sizes[0] && same_type(a, b);
}

bool bmm_sizes(const TensorMeta& a, const TensorMeta& b) {
  return a.dim() == 3 && b.dim() == 3 && a.sizes[0] == b.sizes[0] && a.sizes[2] == b.sizes[1] &&
         same_type(a, b);
}

bool expands_to(const Sizes& sizes, const Sizes& target) {
  Sizes into = target;
  return sizes.size() <= target.size() && broadcast(into, sizes) &&
         std::equal(into.begin(), into.end(), target.begin());
}

bool mm(const Call& call, Answer& answer) {
  const TensorMeta &a = call.tensor(0), &b = call.tensor(1);
  return mm_sizes(a, b) && answer_product(call, answer, a, {a.sizes[0], b.sizes[1]});
}

bool bmm(const Call& call, Answer& answer) {
  const TensorMeta &a = call.tensor(0), &b = call.tensor(1);
  return bmm_sizes(a, b) && answer_product(call, answer, a, {a.sizes[0], a.sizes[1], b.sizes[2]});
}

bool mv(const Call& call, Answer& answer) {
  const TensorMeta &a = call.tensor(0), &b = call.tensor(1);
  if (a.dim() != 2 || b.dim() != 1 || !(a.sizes[1] == b.sizes[0]) || !same_type(a, b)) return false;
  return answer_product(call, answer, a, {a.sizes[0]});
}

bool dot(const Call& call, Answer& answer) {
  const TensorMeta &a = call.tensor(0), &b = call.tensor(1);
  if (a.dim() != 1 || b.dim() != 1 || !(a.sizes[0] == b.sizes[0]) || !same_type(a, b)) return false;
  return answer_product(call, answer, a, {});
}

bool outer(const Call& call, Answer& answer) {
  const TensorMeta &a = call.tensor(0), &b = call.tensor(1);
  if (a.dim() != 1 || b.dim() != 1) return false;
  Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  return answer_result(call, answer, fresh_meta({a.sizes[0], b.sizes[0]}, promotion.result(), a.device));
}

bool addmm(const Call& call, Answer& answer) {
  const TensorMeta &bias = call.tensor(0), &a = call.tensor(1), &b = call.tensor(2);
  if (!mm_sizes(a, b) || !same_type(a, bias)) return false;
  Sizes sizes{a.sizes[0], b.sizes[1]};
  if (!expands_to(bias.sizes, sizes)) return false;
  return answer_product(call, answer, a, sizes);
}

bool addmv(const Call& call, Answer& answer) {
  const TensorMeta &bias = call.tensor(0), &a = call.tensor(1), &b = call.tensor(2);
  if (a.dim() != 2 || b.dim() != 1 || !(a.sizes[1] == b.sizes[0]) || !same_type(a, b) || !same_type(a, bias))
    return false;
  return expands_to(bias.sizes, {a.sizes[0]}) && answer_product(call, answer, a, {a.sizes[0]});
}

bool baddbmm(const Call& call, Answer& answer) {
  const TensorMeta &bias = call.tensor(0), &a = call.tensor(1), &b = call.tensor(2);
  if (!bmm_sizes(a, b) || !same_type(a, bias)) return false;
  Sizes sizes{a.sizes[0], a.sizes[1], b.sizes[2]};
  return expands_to(bias.sizes, sizes) && answer_product(call, answer, a, sizes);
}

bool addbmm(const Call& call, Answer& answer) {
  const TensorMeta &bias = call.tensor(0), &a = call.tensor(1), &b = call.tensor(2);
  if (!bmm_sizes(a, b) || !same_type(a, bias)) return false;
  Sizes sizes{a.sizes[1], b.sizes[2]};
  return expands_to(bias.sizes, sizes) && answer_product(call, answer, a, sizes);
}

bool linear(const Call& call, Answer& answer) {
  const TensorMeta &input = call.tensor(0), &weight = call.tensor(1);
  if (weight.dim() != 2 || input.dim() < 1 || !same_type(input, weight)) return false;
  if (!(input.sizes.back() == weight.sizes[1])) return false;
  Sizes sizes = input.sizes;
  sizes.back() = weight.sizes[0];
  if (call.has(2)) {
    const TensorMeta& bias = call.tensor(2);
    if (!same_type(input, bias) || bias.dim() != 1 || !(bias.sizes[0] == weight.sizes[0])) return false;
  }
  return answer_product(call, answer, input, sizes);
}

// matmul where neither argument has to be transposed to fold batch dimensions: the rest is left to the
// composite kernel, whose choice of layout depends on more than sizes.
bool matmul(const Call& call, Answer& answer) {
  const TensorMeta &a = call.tensor(0), &b = call.tensor(1);
  if (!same_type(a, b)) return false;
  if (a.dim() == 1 && b.dim() == 1) return dot(call, answer);
  if (a.dim() == 2 && b.dim() == 1) return mv(call, answer);
  if (a.dim() == 2 && b.dim() == 2) return mm(call, answer);
  if (a.dim() >= 3 && b.dim() >= 3 && a.sizes.back() == b.sizes[b.dim() - 2]) {
    Sizes sizes(a.sizes.begin(), a.sizes.end() - 2);
    const Sizes other(b.sizes.begin(), b.sizes.end() - 2);
    if (!broadcast(sizes, other)) return false;
    sizes.push_back(a.sizes[a.dim() - 2]);
    sizes.push_back(b.sizes.back());
    return answer_product(call, answer, a, sizes);
  }
  return false;
}

// transformers' experts: rows of the input, each times the matrix of its group.
bool grouped(const Call& call, Answer& answer) {
  const TensorMeta &input = call.tensor(0), &weight = call.tensor(1);
  if (input.dim() != 2 || weight.dim() != 3 || !same_type(input, weight)) return false;
  if (!(input.sizes[1] == weight.sizes[1])) return false;
  return answer_product(call, answer, input, {input.sizes[0], weight.sizes[2]});
}

constexpr RuleEntry kRules[] = {
    {"aten::mm", mm},           {"aten::mm.out", mm},
    {"aten::bmm", bmm},         {"aten::bmm.out", bmm},
    {"aten::mv", mv},           {"aten::dot", dot},
    {"aten::vdot", dot},        {"aten::outer", outer},
    {"aten::ger", outer},       {"aten::addmm", addmm},
    {"aten::addmm_", addmm},    {"aten::addmm.out", addmm},
    {"aten::addmv", addmv},     {"aten::addmv_", addmv},
    {"aten::baddbmm", baddbmm}, {"aten::baddbmm_", baddbmm},
    {"aten::addbmm", addbmm},   {"aten::linear", linear},
    {"aten::matmul", matmul},   {"transformers::grouped_mm_fallback", grouped},
};

}  // namespace

RuleTable matmul_rules() { return kRules; }

}  // namespace stator
