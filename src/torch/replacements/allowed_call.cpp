// src/torch/replacements/allowed_call.cpp: a call of a Python function as one node of the graph.
#include "torch/replacements/allowed_call.h"

#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/autograd/python_variable.h>

#include "torch/symbols/sym_python.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

// (size, stride, dtype, device, requires_grad), as stator/runtime/allowed_call.py describes an output.
TensorMeta meta_from(const py::tuple& row) {
  TensorMeta meta;
  for (const py::handle& size : row[0]) meta.sizes.push_back(size.cast<int64_t>());
  for (const py::handle& stride : row[1]) meta.strides.push_back(stride.cast<int64_t>());
  meta.dtype = reinterpret_cast<THPDtype*>(py::object(row[2]).ptr())->scalar_type;
  meta.device = reinterpret_cast<THPDevice*>(py::object(row[3]).ptr())->device;
  return meta;
}

}  // namespace

OpaqueFunction::~OpaqueFunction() {
  const py::gil_scoped_acquire locked;
  call = {};
}

std::vector<ir::Operand> number_operands(Session& session, const py::object& call) {
  std::vector<ir::Operand> numbers;
  for (const py::handle& symbol : py::list(call.attr("numbers"))) {
    const SymNumber number = number_of(symbol.ptr()).value();
    numbers.push_back(number.real      ? ir::Operand::of(session.value_of(*number.real))
                      : number.is_real ? ir::Operand::of(number.constant)
                                       : ir::Operand::of(number.integer.dim()));
  }
  return numbers;
}

ir::NodeId record_python_call(Session& session, const std::shared_ptr<OpaqueFunction>& function,
                              const std::string& name, std::span<const at::Tensor> tensors,
                              std::span<const ir::Operand> numbers, std::span<const ir::ValueSpec> results) {
  session.record_modes();
  std::vector<ir::ValueId> inputs;
  for (const at::Tensor& tensor : tensors) inputs.push_back(session.value_of(tensor));
  std::vector<ir::Operand> operands{session.graph.constant(function, name), session.graph.value_list(inputs)};
  operands.insert(operands.end(), numbers.begin(), numbers.end());
  return session.graph.append(ir::op::kCall, operands, results, session.line());
}

Ref<> record_opaque_call(Session& session, PyObject* function, PyObject* arguments, PyObject* keywords,
                         std::string& why) {
  try {
    const py::object call =
        imported("stator.runtime.allowed_call")
            .attr("OpaqueCall")(py::handle(function), py::handle(arguments), py::handle(keywords));
    const py::list outputs = call.attr("infer")();
    session.record_modes();
    std::vector<ir::ValueId> inputs;
    for (const py::handle& tensor : py::list(call.attr("tensors")))
      inputs.push_back(session.value_of(THPVariable_Unpack(tensor.ptr())));
    call.attr("forget")();

    std::vector<TensorMeta> metas;
    std::vector<std::vector<shape::Dim>> dims(outputs.size());
    std::vector<ir::ValueSpec> specs;
    for (const py::handle& row : outputs) {
      metas.push_back(meta_from(py::reinterpret_borrow<py::tuple>(row)));
      specs.push_back(value_spec(metas.back(), py::reinterpret_borrow<py::tuple>(row)[4].cast<bool>(),
                                 dims[metas.size() - 1]));
    }
    const std::string text = call.attr("name").cast<std::string>();
    const ir::Operand operands[] = {session.graph.constant(std::make_shared<OpaqueFunction>(call), text),
                                    session.graph.value_list(inputs)};
    const ir::NodeId node = session.graph.append(ir::op::kCall, operands, specs, session.line());
    py::list tracers;
    for (size_t i = 0; i < metas.size(); i++) {
      const uint32_t value = index(session.graph.outputs(node)[static_cast<uint32_t>(i)]);
      const bool grad = (specs[i].flags & ir::kRequiresGrad) != 0;
      tracers.append(py::reinterpret_steal<py::object>(
          THPVariable_Wrap(make_tracer(metas[i], {session.id(), new_memory(), value}, grad, false))));
    }
    return Ref<>::steal(call.attr("result")(tracers).release().ptr());
  } catch (const std::exception& error) {
    why = error.what();
    why = why.substr(0, why.find('\n'));
    drop_caught();
  }
  return {};
}

}  // namespace stator
