// src/bindings/torch/bind_openxla.cpp: StableHLO of a graph's text, and programs that run it.
#include "bindings/torch/bind_openxla.h"

#include <torch/csrc/autograd/python_variable.h>

#include "backends/openxla/emit/call.h"
#include "backends/openxla/emit/emit.h"
#include "backends/openxla/runtime/executable.h"
#include "core/ir/parse.h"

namespace stator {

static ir::Graph parsed(const std::string& text) {
  auto graph = ir::parse(text);
  if (!graph) throw py::value_error("graph text " + graph.error().text());
  return std::move(*graph);
}

static std::string stablehlo(const std::string& text, const std::string& precision) {
  const auto emitted = openxla::emit(parsed(text), {precision});
  if (!emitted)
    throw py::value_error("node " + std::to_string(emitted.error().node) + ": " + emitted.error().reason);
  return *emitted;
}

static std::vector<std::pair<size_t, std::string>> refusals(const std::string& text) {
  std::vector<std::pair<size_t, std::string>> result;
  for (const openxla::Refusal& refusal : openxla::refusals(parsed(text), {}))
    result.emplace_back(refusal.node, refusal.reason);
  return result;
}

static std::unique_ptr<openxla::Executable> executable(const std::string& text, const py::object& execute,
                                                       const py::object& from_dlpack,
                                                       const py::object& to_dlpack,
                                                       const py::object& device) {
  const auto shared = [](const py::object& object) { return Ref<>::share(object.ptr()); };
  const ir::Graph graph = parsed(text);
  return std::make_unique<openxla::Executable>(
      openxla::Runtime{shared(execute), shared(from_dlpack), shared(to_dlpack), shared(device)},
      openxla::input_borders(graph), openxla::output_borders(graph));
}

void bind_openxla(py::module_& module) {
  module.def("stablehlo", &stablehlo, py::arg("graph"), py::arg("precision") = "HIGHEST");
  module.def("stablehlo_refusals", &refusals, py::arg("graph"));
  module.def("stablehlo_rules", &openxla::rule_names);
  py::class_<openxla::Executable>(module, "XlaExecutable")
      .def(py::init(&executable), py::arg("graph"), py::arg("execute"), py::arg("from_dlpack"),
           py::arg("to_dlpack"), py::arg("device"))
      .def("__call__", [](openxla::Executable& self, const py::args& inputs) {
        std::vector<at::Tensor> tensors;
        tensors.reserve(inputs.size());
        for (const py::handle& input : inputs) tensors.push_back(THPVariable_Unpack(input.ptr()));
        return self.run(std::move(tensors));
      });
}

}  // namespace stator
