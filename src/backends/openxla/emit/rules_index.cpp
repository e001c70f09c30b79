// src/backends/openxla/emit/rules_index.cpp: gathers, scatters, embeddings.
//
// XLA moves an index that is out of range into it, or leaves its element out; eager kernels raise. So every
// index is required to be in range, and eager code raises where one is not.
#include <algorithm>

#include "backends/openxla/emit/pointwise.h"
#include "backends/openxla/emit/rules.h"

namespace stator::openxla::rule {

static size_t at(int64_t i) { return static_cast<size_t>(i); }

static void require_between(Builder& b, const Tensor& index, int64_t low, int64_t limit) {
  b.require(b.both(b.compare(Compare::kGe, index, b.full(DType::kI64, index.dims, low)),
                   b.compare(Compare::kLt, index, b.full(DType::kI64, index.dims, limit))));
}

// Places from 0 on.
static Tensor in_range(Builder& b, const Tensor& index, int64_t size) {
  const Tensor i = b.convert(index, DType::kI64);
  require_between(b, i, 0, size);
  return i;
}

// Negative places count from the end.
static Tensor from_start(Builder& b, const Tensor& index, int64_t size, bool checked = true) {
  const Tensor i = b.convert(index, DType::kI64);
  if (checked) require_between(b, i, -size, size);
  return b.select(b.compare(Compare::kLt, i, b.like(i, 0)), b.add(i, b.full(DType::kI64, i.dims, size)), i);
}

static Tensor columns(Builder& b, const std::vector<Tensor>& coordinates) {
  std::vector<Tensor> parts;
  for (const Tensor& coordinate : coordinates) {
    Dims dims = coordinate.dims;
    dims.push_back(1);
    parts.push_back(b.reshape(coordinate, dims));
  }
  return b.concat(parts, coordinates[0].rank());
}

// x[coordinates[0], coordinates[1], …], one coordinate for each dimension, all of one shape.
Tensor at_coordinates(Builder& b, const Tensor& x, const std::vector<Tensor>& coordinates) {
  const Tensor indices = columns(b, coordinates);
  return b.gather(x, indices,
                  {.offset_dims = {},
                   .collapsed = range(0, x.rank()),
                   .start_index_map = range(0, x.rank()),
                   .index_vector_dim = indices.rank() - 1,
                   .slice_sizes = repeated(x.rank(), 1)});
}

static Body combination(Builder& b, std::string_view op) {
  return [&b, op](std::span<const Tensor> v) {
    return std::vector{op.empty() ? v[1] : b.binary(op, v[0], v[1])};
  };
}

static Tensor scatter_at(Builder& b, const Tensor& x, const std::vector<Tensor>& coordinates,
                         const Tensor& updates, std::string_view op) {
  const Tensor indices = columns(b, coordinates);
  return b.scatter(x, indices, updates,
                   {.update_window_dims = {},
                    .inserted = range(0, x.rank()),
                    .to_operand_dims = range(0, x.rank()),
                    .index_vector_dim = indices.rank() - 1},
                   combination(b, op));
}

// The places of gather and scatter: their own dimension from the index, the others where they are.
static std::vector<Tensor> along(Builder& b, const Tensor& x, const Tensor& index, int64_t dim) {
  std::vector<Tensor> result;
  for (int64_t i = 0; i < index.rank(); ++i) {
    result.push_back(i == dim ? in_range(b, index, x.dims[at(dim)]) : b.iota(DType::kI64, index.dims, i));
  }
  return result;
}

static Tensor rows(Builder& b, const Tensor& x, int64_t dim, const Tensor& index) {
  GatherDims g;
  g.slice_sizes = x.dims;
  g.slice_sizes[at(dim)] = 1;
  g.collapsed = g.start_index_map = {dim};
  g.index_vector_dim = index.rank();
  for (int64_t i = 0; i < x.rank() - 1; ++i) g.offset_dims.push_back(i < dim ? i : i + index.rank());
  Dims dims = index.dims;
  dims.push_back(1);
  return b.gather(x, b.reshape(in_range(b, index, x.dims[at(dim)]), dims), g);
}

Outputs index_select(const Call& c) {
  Tensor x = c.tensor("self"), index = c.tensor("index");
  if (index.rank() == 0) index = c.b.reshape(index, {1});
  if (x.rank() == 0) {
    in_range(c.b, index, 1);
    return {c.b.reshape(x, c.result_dims())};
  }
  return {rows(c.b, x, c.dim("dim", x.rank()), index)};
}

Outputs embedding(const Call& c) { return {rows(c.b, c.tensor("weight"), 0, c.tensor("indices"))}; }

Outputs embedding_backward(const Call& c) {
  Builder& b = c.b;
  if (c.flag("scale_grad_by_freq")) throw Unsupported{"scale_grad_by_freq"};
  const DType type = accumulation_type(c.result_dtype());
  const Tensor given = c.tensor("indices");
  const Tensor index = b.reshape(b.convert(given, DType::kI64), {given.count()});
  const int64_t width = c.result_dims()[1], padding = c.integer("padding_idx", -1);
  Tensor grad = b.reshape(c.operand("grad_output", type), {index.count(), width});
  if (padding >= 0) {
    const Tensor padded = b.compare(Compare::kEq, index, b.full(DType::kI64, index.dims, padding));
    grad = b.select(b.broadcast(padded, grad.dims, {0}), b.like(grad, 0), grad);
  }
  return {
      b.scatter(b.full(type, c.result_dims(), 0), b.reshape(index, {index.count(), 1}), grad,
                {.update_window_dims = {1}, .inserted = {0}, .to_operand_dims = {0}, .index_vector_dim = 1},
                combination(b, "add"))};
}

Outputs gather(const Call& c) {
  const Tensor x = c.tensor("self"), index = c.tensor("index");
  if (index.count() == 0) return {c.b.full(x.dtype, index.dims, 0)};
  if (x.rank() == 0) {
    in_range(c.b, index, 1);
    return {c.b.expand(x, index.dims)};
  }
  if (index.rank() == 0) throw Unsupported{"an index without dimensions"};
  return {at_coordinates(c.b, x, along(c.b, x, index, c.dim("dim", x.rank())))};
}

// What scatter and its kin take: elements for the places of a tensor.
struct Scattered {
  Tensor x, updates;
  std::vector<Tensor> places;
};

// Nothing if no place is named.
static std::optional<Scattered> scattered(const Call& c, const char* source, DType type) {
  Builder& b = c.b;
  const Tensor x = c.operand("self", type), index = c.tensor("index");
  if (index.count() == 0) return {};
  if (x.rank() == 0 || index.rank() == 0) throw Unsupported{"a scatter without dimensions"};
  Tensor updates = c.operand(source, type);
  updates = c.is_tensor(source) && updates.rank() > 0
                ? b.slice(updates, repeated(index.rank(), 0), index.dims, repeated(index.rank(), 1))
                : b.expand(updates, index.dims);
  return Scattered{x, updates, along(b, x, index, c.dim("dim", x.rank()))};
}

static Outputs scattered_with(const Call& c, const char* source, std::string_view op) {
  const DType type = op.empty() ? c.result_dtype() : accumulation_type(c.result_dtype());
  const auto s = scattered(c, source, type);
  return {s ? scatter_at(c.b, s->x, s->places, s->updates, op) : c.tensor("self")};
}

static std::string_view reduction(std::string_view name) {
  if (name == "sum" || name == "add" || name == "mean") return "add";
  if (name == "prod" || name == "multiply") return "multiply";
  if (name == "amax") return "maximum";
  if (name == "amin") return "minimum";
  throw Unsupported{"the reduction " + std::string(name)};
}

Outputs scatter(const Call& c) { return scattered_with(c, c.has("src") ? "src" : "value", ""); }
Outputs scatter_add(const Call& c) { return scattered_with(c, "src", "add"); }
Outputs scatter_with(const Call& c) {
  return scattered_with(c, c.has("src") ? "src" : "value", reduction(c.string("reduce", "")));
}

// What a reduction begins with where an element's own value does not count.
static Tensor start_of(Builder& b, std::string_view op, DType type, const Dims& dims) {
  if (op == "maximum") return b.lowest(type, dims);
  if (op == "minimum") return b.highest(type, dims);
  return b.full(type, dims, op == "multiply" ? 1 : 0);
}

Outputs scatter_reduce(const Call& c) {
  Builder& b = c.b;
  const std::string_view name = c.string("reduce", ""), op = reduction(name);
  const DType type = accumulation_type(c.result_dtype());
  const bool own_counts = c.flag("include_self", true);
  const auto s = scattered(c, "src", type);
  if (!s) return {c.tensor("self")};
  Tensor x = s->x;
  if (!own_counts) x = scatter_at(b, x, s->places, start_of(b, op, type, s->updates.dims), "");
  x = scatter_at(b, x, s->places, s->updates, op);
  if (name != "mean") return {x};
  if (type == DType::kBool) throw Unsupported{"a mean of booleans"};
  Tensor count = b.full(type, x.dims, own_counts ? 1 : 0);
  count = scatter_at(b, count, s->places, b.full(type, s->updates.dims, 1), "add");
  count = b.binary("maximum", count, b.like(count, 1));
  return {is_integer(type) ? floor_divide(b, x, count) : b.div(x, count)};
}

// -- Rows of one dimension: added to, written

static Tensor rows_scattered(const Call& c, const Tensor& x, const Tensor& places, const Tensor& updates,
                             std::string_view op) {
  const int64_t dim = c.dim("dim", x.rank());
  Dims window = range(0, x.rank());
  window.erase(window.begin() + dim);
  return c.b.scatter(
      x, c.b.reshape(places, {places.count(), 1}), updates,
      {.update_window_dims = window, .inserted = {dim}, .to_operand_dims = {dim}, .index_vector_dim = 1},
      combination(c.b, op));
}

// The shape of the rows that the index names.
static Dims rows_shape(const Call& c, const Tensor& x, const Tensor& index) {
  if (x.rank() == 0) throw Unsupported{"rows of a tensor without dimensions"};
  Dims dims = x.dims;
  dims[at(c.dim("dim", x.rank()))] = index.count();
  return dims;
}

static Outputs rows_from(const Call& c, std::string_view op) {
  Builder& b = c.b;
  const DType type = op.empty() ? c.result_dtype() : accumulation_type(c.result_dtype());
  const Tensor x = c.operand("self", type), index = c.tensor("index");
  const Dims dims = rows_shape(c, x, index);
  Tensor source = b.reshape(c.operand("source", type), dims);
  if (c.has("alpha")) source = b.mul(source, c.operand("alpha", type, dims));
  const Tensor places = in_range(b, index, x.dims[at(c.dim("dim", x.rank()))]);
  return {product(dims) == 0 ? x : rows_scattered(c, x, places, source, op)};
}
Outputs index_add(const Call& c) {
  if (c.result_dtype() == DType::kBool) throw Unsupported{"sums of booleans"};
  return rows_from(c, "add");
}
Outputs index_copy(const Call& c) { return rows_from(c, ""); }

Outputs index_fill(const Call& c) {
  const Tensor x = c.tensor("self"), index = c.tensor("index");
  const Dims dims = rows_shape(c, x, index);
  const Tensor places = from_start(c.b, index, x.dims[at(c.dim("dim", x.rank()))]);
  return {product(dims) == 0 ? x : rows_scattered(c, x, places, c.operand("value", x.dtype, dims), "")};
}

// -- x[i, :, j]: the indexed dimensions and the shape of the result

struct Advanced {
  Dims indexed;      // dimensions of x
  Tensor indices;    // broadcast places, in the last dimension one for each indexed dimension
  Dims shape;        // of the broadcast indices
  int64_t position;  // of these in the result
};

static Advanced advanced(const Call& c, const Tensor& x) {
  Builder& b = c.b;
  Advanced result;
  const bool checked = !c.op_name().starts_with("aten::_unsafe");
  std::vector<Tensor> given;
  int64_t dim = 0;
  for (const std::optional<Tensor>& index : c.optionals("indices")) {
    if (index) {
      if (index->dtype == DType::kBool || index->dtype == DType::kU8) throw Unsupported{"a boolean index"};
      result.indexed.push_back(dim);
      given.push_back(from_start(b, *index, x.dims[at(dim)], checked));
      const Dims& other = index->dims;
      for (size_t i = 0; i < other.size(); ++i) {
        if (result.shape.size() < i + 1) result.shape.insert(result.shape.begin(), 1);
        int64_t& size = result.shape[result.shape.size() - 1 - i];
        if (size == 1) size = other[other.size() - 1 - i];
      }
    }
    ++dim;
  }
  if (given.empty()) throw Unsupported{"no index"};
  for (Tensor& index : given) index = b.expand(index, result.shape);
  result.indices = columns(b, given);
  const bool together =
      result.indexed.back() - result.indexed.front() + 1 == static_cast<int64_t>(result.indexed.size());
  result.position = together ? result.indexed.front() : 0;
  return result;
}

// Where the dimensions of the slices are in the result.
static Dims offsets(const Advanced& a, int64_t rank) {
  Dims result;
  const int64_t slices = rank - static_cast<int64_t>(a.indexed.size()),
                wide = static_cast<int64_t>(a.shape.size());
  for (int64_t i = 0; i < slices; ++i) result.push_back(i < a.position ? i : i + wide);
  return result;
}

Outputs index(const Call& c) {
  const Tensor x = c.tensor("self");
  const Advanced a = advanced(c, x);
  GatherDims g{.offset_dims = offsets(a, x.rank()),
               .collapsed = a.indexed,
               .start_index_map = a.indexed,
               .index_vector_dim = a.indices.rank() - 1,
               .slice_sizes = x.dims};
  for (int64_t dim : a.indexed) g.slice_sizes[at(dim)] = 1;
  if (product(c.result_dims()) == 0) return {c.b.full(x.dtype, c.result_dims(), 0)};
  return {c.b.gather(x, a.indices, g)};
}

Outputs index_put(const Call& c) {
  Builder& b = c.b;
  const bool adds = c.flag("accumulate");
  const DType type = adds ? accumulation_type(c.result_dtype()) : c.result_dtype();
  const Tensor x = c.operand("self", type);
  // A mask without other indices, and one value for all it chooses, is a choice.
  const auto given = c.optionals("indices");
  if (given.size() == 1 && given[0] && given[0]->dtype == DType::kBool && !adds) {
    const Tensor value = c.tensor("values");
    if (value.count() != 1 || given[0]->rank() > x.rank()) throw Unsupported{"a boolean index"};
    Dims mask_dims = given[0]->dims;
    mask_dims.resize(at(x.rank()), 1);
    const Tensor mask = b.expand(b.reshape(*given[0], mask_dims), x.dims);
    return {b.select(mask, b.expand(b.reshape(b.convert(value, type), {}), x.dims), x)};
  }
  const Advanced a = advanced(c, x);
  const Dims window = offsets(a, x.rank());
  Dims dims;
  size_t next_slice = 0, next_index = 0;
  Dims slices;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (std::ranges::find(a.indexed, i) == a.indexed.end()) slices.push_back(x.dims[at(i)]);
  }
  for (int64_t i = 0; i < static_cast<int64_t>(slices.size() + a.shape.size()); ++i) {
    const bool of_slice = std::ranges::find(window, i) != window.end();
    dims.push_back(of_slice ? slices[next_slice++] : a.shape[next_index++]);
  }
  if (product(dims) == 0) return {x};
  return {b.scatter(x, a.indices, c.operand("values", type, dims),
                    {.update_window_dims = window,
                     .inserted = a.indexed,
                     .to_operand_dims = a.indexed,
                     .index_vector_dim = a.indices.rank() - 1},
                    combination(b, adds ? "add" : ""))};
}

// -- Places of the elements one after the other, whatever the shape

Outputs take(const Call& c) {
  const Tensor x = c.tensor("self"), index = c.tensor("index");
  if (x.count() == 0 || index.count() == 0) throw Unsupported{"no elements"};
  const Tensor places = from_start(c.b, index, x.count());
  return {at_coordinates(c.b, c.b.reshape(x, {x.count()}), {places})};
}

Outputs put(const Call& c) {
  Builder& b = c.b;
  const bool adds = c.flag("accumulate");
  const DType type = adds ? accumulation_type(c.result_dtype()) : c.result_dtype();
  const Tensor x = c.operand("self", type), index = c.tensor("index");
  if (x.count() == 0 || index.count() == 0) throw Unsupported{"no elements"};
  const Tensor places = b.reshape(from_start(b, index, x.count()), {index.count()});
  const Tensor source = b.reshape(c.operand("source", type), {index.count()});
  const Tensor flat = scatter_at(b, b.reshape(x, {x.count()}), {places}, source, adds ? "add" : "");
  return {b.reshape(flat, x.dims)};
}

// -- as_strided: from the memory of a compact tensor

Outputs as_strided(const Call& c) {
  Builder& b = c.b;
  const Tensor x = c.tensor("self");
  const Dims sizes = c.ints("size"), strides = c.ints("stride"), own = c.strides_of("self");
  Dims compact(x.dims.size());
  int64_t step = 1;
  for (size_t i = x.dims.size(); i-- > 0;) {
    compact[i] = step;
    step *= x.dims[i];
    if (!own.empty() && x.dims[i] != 1 && own[i] != compact[i])
      throw Unsupported{"as_strided of a tensor that is not compact"};
  }
  if (c.offset_of("self") != 0) throw Unsupported{"as_strided of a view"};
  if (product(sizes) == 0) return {b.full(x.dtype, sizes, 0)};
  int64_t last = c.integer("storage_offset", 0);
  for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  if (last >= x.count()) throw Unsupported{"as_strided beyond the tensor's own elements"};
  Tensor place = b.full(DType::kI64, sizes, c.integer("storage_offset", 0));
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Tensor i_th = b.iota(DType::kI64, sizes, static_cast<int64_t>(i));
    place = b.add(place, b.mul(i_th, b.full(DType::kI64, sizes, strides[i])));
  }
  return {at_coordinates(b, b.reshape(x, {x.count()}), {place})};
}

}  // namespace stator::openxla::rule
