// src/bindings/torch/bind_openxla.cpp: StableHLO of a graph's text, and programs that run it.
#include "bindings/torch/bind_openxla.h"

#include <torch/csrc/autograd/python_variable.h>

#include "backends/openxla/emit/call.h"
#include "backends/openxla/emit/emit.h"
#include "backends/openxla/runtime/precision.h"
#include "backends/openxla/runtime/whole_graph.h"
#include "core/ir/effects.h"
#include "core/ir/parse.h"

namespace stator {

namespace {

using openxla::Executable, openxla::GraphResult, openxla::Precision, openxla::WholeGraph;
using PrecisionNames = std::pair<std::string, std::string>;  // of products, of convolutions

ir::Graph parsed(const std::string& text) {
  auto graph = ir::parse(text);
  if (!graph) throw py::value_error("graph text " + graph.error().text());
  return std::move(*graph);
}

PrecisionNames precision(const std::string& device) {
  const Precision found = openxla::precision_on(c10::Device(device));
  return {found.product, found.convolution};
}

std::pair<std::string, bool> stablehlo(const std::string& text, const PrecisionNames& precision,
                                       bool checked) {
  const auto emitted =
      openxla::emit(parsed(text), {.precision = {precision.first, precision.second}, .checked = checked});
  if (!emitted)
    throw py::value_error("node " + std::to_string(emitted.error().node) + ": " + emitted.error().reason);
  return {emitted->text, emitted->tells_if_valid};
}

std::vector<std::pair<size_t, std::string>> refusals(const std::string& text) {
  std::vector<std::pair<size_t, std::string>> result;
  for (const openxla::Refusal& refusal : openxla::refusals(parsed(text), {}))
    result.emplace_back(refusal.node, refusal.reason);
  return result;
}

std::shared_ptr<Executable> executable(const std::string& text, const py::object& loaded,
                                       const std::string& device, bool tells_if_valid) {
  const ir::Graph graph = parsed(text);
  return std::make_shared<Executable>(openxla::Runtime::of(loaded.ptr(), c10::Device(device)),
                                      openxla::input_borders(graph), openxla::output_borders(graph),
                                      tells_if_valid);
}

// `compile` gives the program for a precision. Results by kind: ("made", position), ("input", position) or
// ("constant", object).
std::unique_ptr<WholeGraph> whole_graph(const py::object& compile, const std::string& device,
                                        std::vector<size_t> arguments, std::vector<at::Tensor> constants,
                                        const std::vector<std::pair<std::string, py::object>>& results,
                                        const py::object& by_torch) {
  openxla::ByPrecision executables(c10::Device(device), [compile](const Precision& wanted) {
    const py::object found = compile(PrecisionNames{wanted.product, wanted.convolution});
    return py::cast<std::shared_ptr<Executable>>(found);
  });
  std::vector<GraphResult> places;
  for (const auto& [kind, what] : results) {
    if (kind == "constant") {
      places.push_back({GraphResult::Kind::kConstant, 0, Ref<>::share(what.ptr())});
    } else {
      const auto which = kind == "made" ? GraphResult::Kind::kMade : GraphResult::Kind::kInput;
      places.push_back({which, py::cast<size_t>(what), {}});
    }
  }
  return std::make_unique<WholeGraph>(std::move(executables), std::move(arguments), std::move(constants),
                                      std::move(places), Ref<>::share(by_torch.ptr()));
}

}  // namespace

void bind_openxla(py::module_& module) {
  module.def("stablehlo", &stablehlo, py::arg("graph"), py::arg("precision"), py::arg("checked"));
  module.def("stablehlo_refusals", &refusals, py::arg("graph"));
  module.def("stablehlo_rules", &openxla::rule_names);
  module.def("may_raise", &ir::may_raise, py::arg("operator_name"));  // depending on data
  module.def("xla_precision", &precision, py::arg("device"));
  py::class_<Executable, std::shared_ptr<Executable>>(module, "XlaExecutable")
      .def(py::init(&executable), py::arg("graph"), py::arg("loaded"), py::arg("device"),
           py::arg("tells_if_valid"))
      .def("__call__", [](Executable& self, const py::args& inputs) {
        std::vector<at::Tensor> tensors;
        tensors.reserve(inputs.size());
        for (const py::handle& input : inputs) tensors.push_back(THPVariable_Unpack(input.ptr()));
        return self.run(std::move(tensors));
      });
  py::class_<WholeGraph> whole(module, "XlaWholeGraph");
  whole
      .def(py::init(&whole_graph), py::arg("compile"), py::arg("device"), py::arg("arguments"),
           py::arg("constants"), py::arg("results"), py::arg("by_torch"))
      .def("__call__", [](WholeGraph& self, const py::object& inputs) {
        return py::reinterpret_steal<py::object>(self.call(inputs.ptr()).release());
      });
  whole.attr("_boxed_call") = true;
}

}  // namespace stator
