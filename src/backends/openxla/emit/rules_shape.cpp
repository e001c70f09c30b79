// src/backends/openxla/emit/rules_shape.cpp: views as new values, joining, padding, and tensors made of
// numbers.
#include <algorithm>

#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

static size_t at(int64_t i) { return static_cast<size_t>(i); }

// The result's shape says it all: view, reshape, squeeze, unsqueeze, flatten.
Outputs reshaped(const Call& c) {
  return {c.b.reshape(c.operand("self", c.result_dtype()), c.result_dims())};
}
Outputs reshaped_a(const Call& c) { return {c.b.reshape(c.operand("a", c.result_dtype()), c.result_dims())}; }

Outputs expanded(const Call& c) { return {c.b.expand(c.tensor("self"), c.result_dims())}; }

Outputs broadcast_in_dim(const Call& c) {
  return {c.b.broadcast(c.tensor("a"), c.ints("shape"), c.ints("broadcast_dimensions"))};
}

Outputs permute(const Call& c) {
  const Tensor x = c.tensor("self");
  Dims order;
  for (int64_t dim : c.ints("dims")) order.push_back(c.wrapped(dim, x.rank()));
  return {c.b.transpose(x, order)};
}

Outputs transposed(const Call& c) {
  const Tensor x = c.tensor("self");
  Dims order = range(0, x.rank());
  if (x.rank() < 2) return {x};
  const bool plain = !c.has("dim0");  // aten::t
  std::swap(order[at(plain ? 0 : c.dim("dim0", x.rank()))], order[at(plain ? 1 : c.dim("dim1", x.rank()))]);
  return {c.b.transpose(x, order)};
}

struct Span {
  int64_t dim, start, limit, step;
};

// Bounds as Python counts them.
static Span span_of(const Call& c, const Tensor& x) {
  const int64_t dim = c.wrapped(c.integer("dim", 0), x.rank()), size = x.dims[at(dim)];
  const auto bound = [&](const char* name, int64_t otherwise) {
    const int64_t given = c.integer(name, otherwise);
    return std::clamp<int64_t>(given < 0 ? given + size : given, 0, size);
  };
  const int64_t start = bound("start", 0), limit = std::max(start, bound("end", size));
  return {dim, start, limit, c.integer("step", 1)};
}

Outputs slice(const Call& c) {
  const Tensor x = c.tensor("self");
  const Span s = span_of(c, x);
  return {c.b.slice_dim(x, s.dim, s.start, s.limit, s.step)};
}

// Writes `part` over the elements of one dimension: padded apart to their places, chosen where a mask says
// so.
static Tensor written(Builder& b, const Tensor& x, const Tensor& part, const Span& s) {
  const int64_t size = x.dims[at(s.dim)], count = part.dims[at(s.dim)];
  if (count == 0 || part.count() == 0) return x;
  if (count == size) return part;
  Dims low = repeated(x.rank(), 0), high = low, interior = low;
  low[at(s.dim)] = s.start;
  interior[at(s.dim)] = s.step - 1;
  high[at(s.dim)] = size - s.start - ((count - 1) * s.step + 1);
  const Tensor spread = b.pad(part, b.full(x.dtype, {}, 0), low, high, interior);
  const Tensor mask =
      b.pad(b.full(DType::kBool, part.dims, 1), b.full(DType::kBool, {}, 0), low, high, interior);
  return b.select(mask, spread, x);
}

Outputs slice_scatter(const Call& c) {
  const Tensor x = c.tensor("self");
  const Span s = span_of(c, x);
  Dims dims = x.dims;
  dims[at(s.dim)] = (s.limit - s.start + s.step - 1) / s.step;
  return {written(c.b, x, c.operand("src", x.dtype, dims), s)};
}

Outputs select(const Call& c) {
  const Tensor x = c.tensor("self");
  const int64_t dim = c.dim("dim", x.rank()), given = c.integer("index");
  const int64_t index = given < 0 ? given + x.dims[at(dim)] : given;
  return {c.b.reshape(c.b.slice_dim(x, dim, index, index + 1), c.result_dims())};
}

Outputs select_scatter(const Call& c) {
  const Tensor x = c.tensor("self");
  const int64_t dim = c.dim("dim", x.rank()), given = c.integer("index");
  const int64_t index = given < 0 ? given + x.dims[at(dim)] : given;
  Dims dims = x.dims;
  dims[at(dim)] = 1;
  return {written(c.b, x, c.b.reshape(c.operand("src", x.dtype), dims), {dim, index, index + 1, 1})};
}

// Elements i, i of two dimensions, as the last one: a strided slice of the two joined.
Outputs diagonal(const Call& c) {
  Builder& b = c.b;
  const Tensor x = c.tensor("self");
  const int64_t first = c.wrapped(c.integer("dim1", 0), x.rank()),
                second = c.wrapped(c.integer("dim2", 1), x.rank());
  Dims order, outer;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != first && i != second) {
      order.push_back(i);
      outer.push_back(x.dims[at(i)]);
    }
  }
  order.push_back(first);
  order.push_back(second);
  const int64_t offset = c.integer("offset", 0), columns = x.dims[at(second)], rows = x.dims[at(first)];
  const int64_t start = offset >= 0 ? offset : -offset * columns;
  const int64_t count = c.result_dims().back();
  if (count == 0) return {b.full(x.dtype, c.result_dims(), 0)};
  Dims flat = outer;
  flat.push_back(rows * columns);
  const Tensor joined = b.reshape(b.transpose(x, order), flat);
  const int64_t limit = start + (count - 1) * (columns + 1) + 1;
  return {b.slice_dim(joined, static_cast<int64_t>(outer.size()), start, limit, columns + 1)};
}

Outputs diagonal_scatter(const Call& c) {
  Builder& b = c.b;
  const Tensor x = c.tensor("self"), source = c.operand("src", x.dtype);
  const int64_t first = c.wrapped(c.integer("dim1", 0), x.rank()),
                second = c.wrapped(c.integer("dim2", 1), x.rank());
  const int64_t offset = c.integer("offset", 0);
  if (source.count() == 0) return {x};
  // Element k lies at (k, k + offset), or (k - offset, k): along the dimension where it begins at 0 it is
  // padded to the whole length, and repeated along the other.
  const int64_t along = offset >= 0 ? first : second;
  Dims high = repeated(source.rank(), 0);
  high.back() = x.dims[at(along)] - source.dims.back();
  const Dims none = repeated(source.rank(), 0);
  const Tensor whole = b.pad(source, b.full(x.dtype, {}, 0), none, high, none);
  Dims positions;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != first && i != second) positions.push_back(i);
  }
  positions.push_back(along);
  // broadcast_in_dim wants rising positions.
  Dims order = range(0, whole.rank());
  std::ranges::sort(order, {}, [&](int64_t i) { return positions[at(i)]; });
  std::ranges::sort(positions);
  const Tensor spread = b.broadcast(b.transpose(whole, order), x.dims, positions);
  const Tensor distance = b.sub(b.iota(DType::kI64, x.dims, second), b.iota(DType::kI64, x.dims, first));
  return {b.select(b.compare(Compare::kEq, distance, b.full(DType::kI64, x.dims, offset)), spread, x)};
}

static std::vector<Tensor> parts_of(const Call& c, const Tensor& x, int64_t dim, const Dims& sizes) {
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    parts.push_back(c.b.slice_dim(x, dim, start, start + size));
    start += size;
  }
  return parts;
}

Outputs split_with_sizes(const Call& c) {
  const Tensor x = c.tensor("self");
  return parts_of(c, x, c.wrapped(c.integer("dim", 0), x.rank()), c.ints("split_sizes"));
}

Outputs split(const Call& c) {
  const Tensor x = c.tensor("self");
  const int64_t dim = c.wrapped(c.integer("dim", 0), x.rank());
  Dims sizes;
  for (size_t i = 0; i < c.outputs(); ++i) sizes.push_back(c.result_dims(i)[at(dim)]);
  return parts_of(c, x, dim, sizes);
}

Outputs unbind(const Call& c) {
  const Tensor x = c.tensor("self");
  const int64_t dim = c.wrapped(c.integer("dim", 0), x.rank());
  Outputs result = parts_of(c, x, dim, repeated(x.dims[at(dim)], 1));
  for (Tensor& part : result) part = c.b.reshape(part, c.result_dims(0));
  return result;
}

Outputs cat(const Call& c) {
  std::vector<Tensor> parts;
  for (const Tensor& part : c.tensors("tensors")) {
    if (part.rank() == 1 && part.dims[0] == 0 && c.result_dims().size() != 1)
      continue;  // torch leaves these out
    parts.push_back(c.b.convert(part, c.result_dtype()));
  }
  if (parts.empty()) return {c.b.full(c.result_dtype(), c.result_dims(), 0)};
  return {c.b.concat(parts, c.wrapped(c.integer("dim", 0), parts[0].rank()))};
}

Outputs stack(const Call& c) {
  std::vector<Tensor> parts;
  const Dims dims = c.result_dims();
  const int64_t dim = c.wrapped(c.integer("dim", 0), static_cast<int64_t>(dims.size()));
  Dims one = dims;
  one[at(dim)] = 1;
  for (const Tensor& part : c.tensors("tensors"))
    parts.push_back(c.b.reshape(c.b.convert(part, c.result_dtype()), one));
  return {c.b.concat(parts, dim)};
}

Outputs repeat(const Call& c) {
  Builder& b = c.b;
  const Dims repeats = c.ints("repeats");
  Tensor x = c.tensor("self");
  Dims dims = repeated(static_cast<int64_t>(repeats.size()) - x.rank(), 1);
  dims.insert(dims.end(), x.dims.begin(), x.dims.end());
  // Each dimension gets one of copies before it; both are then joined.
  Dims spread, positions;
  for (size_t i = 0; i < dims.size(); ++i) {
    spread.push_back(repeats[i]);
    positions.push_back(static_cast<int64_t>(spread.size()));
    spread.push_back(dims[i]);
  }
  return {b.reshape(b.broadcast(b.reshape(x, dims), spread, positions), c.result_dims())};
}

Outputs flip(const Call& c) {
  const Tensor x = c.tensor("self");
  const Dims given = c.ints("dims");
  return {given.empty() || x.rank() == 0 ? x : c.b.reverse(x, c.dims("dims", x.rank()))};
}

Outputs roll(const Call& c) {
  Tensor x = c.tensor("self");
  const Dims shifts = c.ints("shifts"), dims = c.has("dims") ? c.ints("dims") : Dims();
  if (x.count() == 0 || x.rank() == 0) return {x};
  const Dims shape = x.dims;
  if (dims.empty()) x = c.b.reshape(x, {x.count()});
  for (size_t i = 0; i < shifts.size(); ++i) {
    const int64_t dim = dims.empty() ? 0 : c.wrapped(dims[i], x.rank()), size = x.dims[at(dim)];
    const int64_t cut = ((-shifts[i]) % size + size) % size;
    const Tensor halves[] = {c.b.slice_dim(x, dim, cut, size), c.b.slice_dim(x, dim, 0, cut)};
    if (cut != 0) x = c.b.concat(halves, dim);
  }
  return {c.b.reshape(x, shape)};
}

Outputs constant_pad(const Call& c) {
  const Tensor x = c.tensor("self");
  const Dims pad = c.ints("pad");
  Dims low = repeated(x.rank(), 0), high = low;
  for (size_t i = 0; i * 2 < pad.size(); ++i) {
    low[at(x.rank()) - 1 - i] = pad[2 * i];
    high[at(x.rank()) - 1 - i] = pad[2 * i + 1];
  }
  const Tensor value = c.has("value") ? c.operand("value", x.dtype, {}) : c.b.full(x.dtype, {}, 0);
  return {c.b.pad(x, value, low, high, repeated(x.rank(), 0))};
}

// -- Tensors made of numbers

Outputs full(const Call& c) {
  if (c.has("fill_value")) return {c.operand("fill_value", c.result_dtype(), c.result_dims())};
  if (c.has("value")) return {c.operand("value", c.result_dtype(), c.result_dims())};
  return {c.operand("s", c.result_dtype(), c.result_dims())};  // scalar_tensor
}
Outputs zeros(const Call& c) { return {c.b.full(c.result_dtype(), c.result_dims(), 0)}; }
Outputs ones(const Call& c) { return {c.b.full(c.result_dtype(), c.result_dims(), 1)}; }
Outputs fill(const Call& c) { return {c.operand("value", c.result_dtype(), c.result_dims())}; }

Outputs copy(const Call& c) { return {c.operand("src", c.result_dtype(), c.result_dims())}; }

// torch computes start + step * i in the accumulation type.
Outputs arange(const Call& c) {
  const DType dtype = c.result_dtype();
  const DType type = dtype == DType::kF32 ? DType::kF64 : accumulation_type(dtype);
  const Tensor i = c.b.iota(type, c.result_dims(), 0);
  if (is_integer(type)) {
    return {c.b.add(c.b.mul(i, c.b.full(type, i.dims, c.truncated("step", 1))),
                    c.b.full(type, i.dims, c.truncated("start", 0)))};
  }
  const Tensor steps = c.b.mul(i, c.b.like(i, c.real("step", 1)));
  return {c.b.convert(c.b.add(steps, c.b.like(i, c.real("start", 0))), dtype)};
}

Outputs eye(const Call& c) {
  const Dims dims = c.result_dims();
  return {c.b.compare(Compare::kEq, c.b.iota(DType::kI64, dims, 0), c.b.iota(DType::kI64, dims, 1))};
}

static Outputs triangle(const Call& c, Compare direction) {
  Builder& b = c.b;
  const Tensor x = c.tensor("self");
  const Tensor row = b.iota(DType::kI64, x.dims, x.rank() - 2),
               column = b.iota(DType::kI64, x.dims, x.rank() - 1);
  const Tensor distance = b.sub(column, row);
  return {b.select(b.compare(direction, distance, b.full(DType::kI64, x.dims, c.integer("diagonal", 0))), x,
                   b.like(x, 0))};
}
Outputs tril(const Call& c) { return triangle(c, Compare::kLe); }
Outputs triu(const Call& c) { return triangle(c, Compare::kGe); }

}  // namespace stator::openxla::rule
