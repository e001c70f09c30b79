// src/backends/native/tensor_program.cpp: the native backend, as captures call it.
#include "backends/native/tensor_program.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "backends/native/program.h"
#include "backends/run_recovery.h"
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
      for (c10::IValue& value : values) {
        PyObject* object = value.isInt()      ? PyLong_FromLongLong(value.toInt())
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
      return false;
    }
  }
  std::string graph_text() const override { return ir::print(session_->graph); }
  size_t node_count() const override { return session_->graph.nodes().size(); }

 private:
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
