// src/backends/native/tensor_program.cpp: the native backend, as captures call it.
#include "backends/native/tensor_program.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "backends/kernel_warnings.h"
#include "backends/native/program.h"
#include "backends/run_recovery.h"
#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "core/ir/node_lines.h"
#include "core/ir/print.h"

namespace stator::native {
namespace {

class NativeProgram final : public TensorProgram {
 public:
  NativeProgram(std::shared_ptr<Session> session, Program program)
      : session_(std::move(session)), program_(std::move(program)), traces_(traces_of(session_->graph)) {
    session_->inputs.clear();  // tensors die where the program lets them die
  }

  bool run(PyObject* const* inputs, const shape::Bindings& bindings, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    size_t at = 0;
    RandomState random(traces_);
    KernelWarnings warnings(&at);
    try {
      std::vector<at::Tensor> tensors;
      const size_t count = program_.input_count();
      tensors.reserve(count);
      for (size_t i = 0; i < count; i++) tensors.push_back(THPVariable_Unpack(inputs[i]));
      std::vector<c10::IValue> values;
      {
        py::gil_scoped_release release;
        values = program_.run(tensors, bindings, &at);
      }
      if (size_t node = 0; !warnings.show(session_->graph, node)) {
        failure.line = session_->graph.nodes()[node].line;
        failure.untouched = traces_.first == SIZE_MAX;
        if (failure.untouched) random.restore();
        return false;
      }
      for (c10::IValue& value : values) {
        PyObject* object = value.isInt()      ? PyLong_FromLongLong(value.toInt())
                           : value.isBool()   ? PyBool_FromLong(value.toBool())
                           : value.isDouble() ? PyFloat_FromDouble(value.toDouble())
                                              : THPVariable_Wrap(std::move(value).toTensor());
        outputs.push_back(Ref<>::steal(object));
      }
      return true;
    } catch (...) {
      // As torch's own bindings do it, so that the exception is of the type that eager raises.
      torch::translate_exception_to_python(std::current_exception());
      const auto nodes = session_->graph.nodes();
      at = program_.node_of(at);
      if (at < nodes.size()) failure.line = nodes[at].line;
      failure.untouched = !left_traces(traces_, at, std::current_exception());
      if (failure.untouched) random.restore();
      show_before_error(warnings, failure);
      return false;
    }
  }
  std::string graph_text() const override { return ir::print(session_->graph); }
  size_t node_count() const override { return session_->graph.nodes().size(); }
  std::vector<LineId> node_lines() const override { return ir::node_lines(session_->graph); }

 private:
  // Where the function runs natively next, that warns again.
  void show_before_error(KernelWarnings& warnings, const RunFailure& failure) const {
    if (failure.untouched) return;
    const ErrorScope error;
    size_t node = 0;
    if (!warnings.show(session_->graph, node)) drop_error();
  }

  std::shared_ptr<Session> session_;
  Program program_;
  RunTraces traces_;
};

}  // namespace

std::unique_ptr<TensorProgram> make_tensor_program(std::shared_ptr<Session> session) {
  Program program(session->graph);
  return make_tensor_program(std::move(session), std::move(program));
}

std::unique_ptr<TensorProgram> make_tensor_program(std::shared_ptr<Session> session, Program program) {
  return std::make_unique<NativeProgram>(std::move(session), std::move(program));
}

}  // namespace stator::native
