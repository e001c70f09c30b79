// src/torch/replacements/made_parameter.cpp: nn.Parameter(t) in captured code.
#include "torch/replacements/made_parameter.h"

#include <ATen/ATen.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "torch/domain/wrapped_program.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

PyObject* parameter_class = nullptr;

bool set_class(PyObject* tensor) { return PyObject_SetAttrString(tensor, "__class__", parameter_class) == 0; }

// Raises a break where torch would raise, or where a run could not do it.
at::Tensor leaf_on(Session& session, const at::Tensor& data, bool requires_grad) {
  const bool is_differentiable =
      at::isFloatingType(data.scalar_type()) || at::isComplexType(data.scalar_type());
  if (session.unrecorded != 0 || data.is_inference() || is_wrapper(data) ||
      (requires_grad && (!is_differentiable || !session.changes_tensors)))
    raise_break(BreakCode::kMetadataDrift, "a parameter is made that the graph cannot make");
  at::Tensor made = data.detach();
  if (requires_grad) {
    session.record_requires_grad(made, true);
    made.set_requires_grad(true);
  }
  return made;
}

PyObject* make(PyObject*, PyObject* arguments, PyObject* keywords) {
  HANDLE_TH_ERRORS
  Session* session = Session::current();
  PyObject *data = Py_None, *flag = Py_True;
  static const char* const names[] = {"data", "requires_grad", nullptr};
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO", const_cast<char**>(names), &data, &flag) == 0)
    return nullptr;
  if (session == nullptr) return PyObject_Call(parameter_class, arguments, keywords);
  try {
    const bool is_plain = reinterpret_cast<PyObject*>(Py_TYPE(data)) == THPVariableClass ||
                          reinterpret_cast<PyObject*>(Py_TYPE(data)) == parameter_class;
    if ((!is_plain && data != Py_None) || !PyBool_Check(flag))
      raise_break(BreakCode::kTensorSubclass, "a parameter of another kind of tensor");
    const at::Tensor base = is_plain ? THPVariable_Unpack(data) : at::empty({0});
    Ref<> made = Ref<>::steal(THPVariable_Wrap(leaf_on(*session, base, flag == Py_True)));
    return made && set_class(made.get()) ? made.release() : nullptr;
  } catch (const CaptureBreak& error) {
    session->note_break(error.code, error.msg);
    throw;
  }
  END_HANDLE_TH_ERRORS
}

PyMethodDef method = {"Parameter", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make)),
                      METH_VARARGS | METH_KEYWORDS, nullptr};
PyObject* maker = nullptr;

class WithParameters final : public WrappedProgram {
 public:
  WithParameters(std::unique_ptr<TensorProgram> program, std::vector<size_t> outputs)
      : WrappedProgram(std::move(program)), outputs_(std::move(outputs)) {}
  bool run(PyObject* const* inputs, const shape::Bindings& bindings, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    if (!program().run(inputs, bindings, outputs, failure)) return false;
    for (const size_t output : outputs_) {
      if (!set_class(outputs[output].get())) return false;
    }
    return true;
  }

 private:
  std::vector<size_t> outputs_;
};

}  // namespace

void prepare_made_parameters() {
  parameter_class = py::object(imported("torch.nn.parameter").attr("Parameter")).release().ptr();
  maker = PyCFunction_New(&method, nullptr);
}

Ref<> makes_parameter(PyObject* callable) {
  return callable == parameter_class ? Ref<>::share(maker) : Ref<>();
}

bool is_parameter_maker(PyObject* callable) { return callable == maker; }

// Tracers that stand for parameters of the call have the class too; a run gives those back as they are.
bool is_made_parameter(PyObject* output) {
  return reinterpret_cast<PyObject*>(Py_TYPE(output)) == parameter_class &&
         as_tracer(THPVariable_Unpack(output)) != nullptr;
}

std::unique_ptr<TensorProgram> with_parameters(std::unique_ptr<TensorProgram> program,
                                               std::vector<size_t> outputs) {
  if (program == nullptr || outputs.empty()) return program;
  return std::make_unique<WithParameters>(std::move(program), std::move(outputs));
}

}  // namespace stator
