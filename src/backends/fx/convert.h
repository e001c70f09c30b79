// src/backends/fx/convert.h: a captured graph as a torch.fx.GraphModule.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <vector>

#include "torch/tracing/session.h"

namespace stator::fx {

// Where an output of the graph comes from: an input that is returned itself (also after writes to it) is
// left out of the module's outputs, since a backend may return a copy of it.
struct OutputPlace {
  bool is_input;
  size_t index;  // of the inputs, or of the module's outputs
};

struct Converted {
  py::object module;
  py::object symbols;  // stator.fx.symbols.Symbols; None in a static graph
  std::vector<OutputPlace> outputs;
};

// Nodes in the order of the graph, one call_function of an OpOverload each, with getitem nodes for operators
// that return several values. Symbols of the graph are inputs that come before the tensors: ints,
// then floats as tensors of no dimensions. `examples` are
// the tensors of the capture, one per input; so are `sources`, empty where the input's own name says it.
// `fixed`: a set of the floats, by their number, that are numbers of the graph, guarded.
// Throws where the graph holds what torch.fx cannot express.
Converted convert(const std::shared_ptr<Session>& session, const py::list& examples,
                  const std::vector<std::string>& sources, const py::object& fixed);

}  // namespace stator::fx
