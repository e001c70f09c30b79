// src/backends/openxla/emit/rules_attention.cpp: scaled dot product attention and its gradient.
#include <cmath>

#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

namespace {

struct Attention {
  DType type;
  Tensor query, key, value;
  double scale;
  Tensor scores;  // query by key, scaled and masked
};

// Heads of keys and values that several heads of queries share, once for each.
Tensor for_each_head(Builder& b, const Tensor& x, int64_t heads) {
  const int64_t own = x.dims[1];
  if (own == heads) return x;
  if (own == 0 || heads % own != 0) throw Unsupported{"heads that do not divide"};
  const Tensor spread = b.broadcast(x, {x.dims[0], own, heads / own, x.dims[2], x.dims[3]}, {0, 1, 3, 4});
  return b.reshape(spread, {x.dims[0], heads, x.dims[2], x.dims[3]});
}

Attention attention_of(const Call& c) {
  Builder& b = c.b;
  if (c.real("dropout_p", 0) != 0) throw Unsupported{"dropout in attention"};
  Attention a;
  const Tensor query = c.tensor("query");
  if (query.rank() != 4) throw Unsupported{"attention of other than four dimensions"};
  a.type = accumulation_type(query.dtype);
  a.query = b.convert(query, a.type);
  a.key = for_each_head(b, c.operand("key", a.type), query.dims[1]);
  a.value = for_each_head(b, c.operand("value", a.type), query.dims[1]);
  a.scale = c.has("scale") ? c.real("scale") : 1 / std::sqrt(static_cast<double>(query.dims[3]));
  a.scores = b.dot(b.mul(a.query, b.like(a.query, a.scale)), a.key, {0, 1}, {0, 1}, {3}, {3});
  const Dims dims = a.scores.dims;
  const Tensor never = b.lowest(a.type, dims);
  if (c.flag("is_causal")) {
    const Tensor row = b.iota(DType::kI64, dims, 2), column = b.iota(DType::kI64, dims, 3);
    a.scores = b.select(b.compare(Compare::kLe, column, row), a.scores, never);
  }
  if (c.has("attn_mask")) {
    const Tensor mask = c.tensor("attn_mask");
    a.scores = mask.dtype == DType::kBool ? b.select(b.expand(mask, dims), a.scores, never)
                                          : b.add(a.scores, c.operand("attn_mask", a.type, dims));
  }
  return a;
}

// exp(scores - total), and 0 in rows where all is masked.
Tensor shares(Builder& b, const Tensor& scores, const Tensor& total) {
  const Tensor wide = b.broadcast(total, scores.dims, {0, 1, 2});
  const Tensor masked = b.compare(Compare::kEq, wide, b.lowest(wide.dtype, wide.dims));
  return b.select(masked, b.like(scores, 0), b.unary("exponential", b.sub(scores, wide)));
}

}  // namespace

Outputs attention(const Call& c) {
  Builder& b = c.b;
  const Attention a = attention_of(c);
  const Tensor highest = b.reduce(a.scores, b.lowest(a.type, {}), {3}, "maximum");
  const Tensor exponentials = shares(b, a.scores, highest);
  const Tensor sum = b.reduce(exponentials, b.full(a.type, {}, 0), {3}, "add");
  const Tensor none = b.compare(Compare::kEq, sum, b.like(sum, 0));
  const Tensor divisor = b.select(none, b.like(sum, 1), sum);
  const Tensor product = b.dot(exponentials, a.value, {0, 1}, {0, 1}, {3}, {2});
  const Tensor output = b.binary("divide", product, b.broadcast(divisor, product.dims, {0, 1, 2}));
  const Tensor total = b.select(none, b.lowest(a.type, sum.dims), b.add(highest, b.unary("log", divisor)));
  return {output, total};
}

Outputs attention_backward(const Call& c) {
  Builder& b = c.b;
  const Attention a = attention_of(c);
  if (c.tensor("key").dims[1] != a.query.dims[1]) throw Unsupported{"the gradient of shared heads"};
  const Tensor grad = c.operand("grad_out", a.type), output = c.operand("out", a.type);
  const Tensor p = shares(b, a.scores, c.operand("logsumexp", a.type));
  const Tensor grad_p = b.dot(grad, a.value, {0, 1}, {0, 1}, {3}, {3});
  const Tensor share = b.reduce(b.mul(grad, output), b.full(a.type, {}, 0), {3}, "add");
  const Tensor apart = b.sub(grad_p, b.broadcast(share, grad_p.dims, {0, 1, 2}));
  const Tensor grad_s = b.mul(b.mul(p, apart), b.like(p, a.scale));
  return {b.dot(grad_s, a.key, {0, 1}, {0, 1}, {3}, {2}), b.dot(grad_s, a.query, {0, 1}, {0, 1}, {2}, {2}),
          b.dot(p, grad, {0, 1}, {0, 1}, {2}, {2})};
}

}  // namespace stator::openxla::rule
