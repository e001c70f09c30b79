// src/torch/tracing/integer_reads.cpp: records reads of ints.
#include "torch/tracing/integer_reads.h"

#include <c10/core/ScalarType.h>
#include <torch/csrc/utils/pybind.h>

#include <limits>

#include "capture/cpython/interrupts.h"
#include "core/shape/bindings.h"
#include "torch/tracing/imported_module.h"

namespace stator {
namespace {

bool is_switched_on() {
  const py::gil_scoped_acquire gil;
  const Ref<> config = module_attribute("stator.config", "config");
  const Ref<> setting =
      Ref<>::steal(config ? PyObject_GetAttrString(config.get(), "capture_scalar_outputs") : nullptr);
  if (!setting) drop_error();
  return setting.get() == Py_True;
}

template <class Integer>
shape::Range range_of() {
  return {std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max()};
}

std::optional<shape::Range> range_of(at::ScalarType type) {
  switch (type) {
    case at::kByte:
      return range_of<uint8_t>();
    case at::kChar:
      return range_of<int8_t>();
    case at::kShort:
      return range_of<int16_t>();
    case at::kInt:
      return range_of<int32_t>();
    case at::kLong:
      return shape::Range::all();
    default:
      return std::nullopt;
  }
}

}  // namespace

bool captures_scalars(const Session& session) { return !session.runs_python && is_switched_on(); }

std::optional<shape::Size> integer_of_run(Session& session, shape::Range range) {
  shape::Context& shapes = session.shapes();
  if (shapes.symbols().size() >= shape::Bindings::kInts) return std::nullopt;
  size_t reads = 0;
  for (const shape::Symbol& symbol : shapes.symbols()) reads += symbol.hint ? 0 : 1;
  const std::string name = "u" + std::to_string(reads);
  return shape::Size(shapes.add_symbol(name, name, range, std::nullopt), &shapes);
}

std::vector<std::optional<size_t>> symbols_of_run(const ir::Graph& graph) {
  std::vector<size_t> symbols;
  const auto& all = graph.shapes().symbols();
  for (size_t i = 0; i < all.size(); i++) {
    if (!all[i].hint) symbols.push_back(i);
  }
  std::vector<std::optional<size_t>> found(graph.nodes().size());
  size_t next = 0;
  for (size_t i = 0; i < found.size() && next < symbols.size(); i++) {
    const ir::Node& node = graph.nodes()[i];
    const bool gives_integer = node.output_count == 1 && node.op != ir::op::kIntOf &&
                               graph.value(node.first_output).kind == ir::ValueKind::kInt;
    if (gives_integer) found[i] = symbols[next++];
  }
  return found;
}

std::optional<shape::Size> read_integer(Session& session, const OperatorInfo& info,
                                        const at::Tensor& tensor) {
  const auto range = range_of(tensor.scalar_type());
  const bool is_item = info.name == "aten::item" || info.name == "aten::_local_scalar_dense";
  if (!range || !is_item || !captures_scalars(session)) return std::nullopt;
  const auto number = integer_of_run(session, *range);
  if (!number) return std::nullopt;
  session.record_modes();
  ir::ValueSpec spec;
  spec.kind = ir::ValueKind::kInt;
  const ir::Operand operand = ir::Operand::of(session.value_of(tensor));
  session.graph.append(info.id, {&operand, 1}, {&spec, 1}, session.line());
  return number;
}

}  // namespace stator
