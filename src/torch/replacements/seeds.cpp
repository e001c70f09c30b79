// src/torch/replacements/seeds.cpp: torch.manual_seed, get_rng_state and set_rng_state in captured code.
#include "torch/replacements/seeds.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <span>
#include <string>
#include <string_view>

#include "torch/replacements/allowed_call.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

// Of torch.manual_seed.
PyObject* seeding_code = nullptr;
PyTypeObject* generator_class = nullptr;

// A node that calls the function of stator/runtime/seeds.py with these arguments in every run. What it gives
// is a tensor like `result`, where that is defined.
at::Tensor record(Session& session, const char* function, const py::tuple& arguments,
                  const at::Tensor& result = {}) {
  // A compiler would run it when it traces the graph, and never again.
  if (!session.changes_tensors || session.unrecorded != 0)
    raise_break(BreakCode::kRandomState,
                "its state is set or read, and the backend compiles what it is given");
  const OwnPython own(&session);
  const py::object call = imported("stator.runtime.allowed_call")
                              .attr("OpaqueCall")(imported("stator.runtime.seeds").attr(function), arguments,
                                                  py::dict(), py::arg("symbols") = true);
  session.record_modes();
  std::vector<ir::ValueId> inputs;
  for (const py::handle& tensor : py::list(call.attr("tensors")))
    inputs.push_back(session.value_of(THPVariable_Unpack(tensor.ptr())));
  const auto node_function = std::make_shared<OpaqueFunction>(call);
  node_function->leaves_nothing = result.defined();
  std::vector<ir::Operand> operands{session.graph.constant(node_function, function),
                                    session.graph.value_list(inputs)};
  for (const ir::Operand& number : number_operands(session, call)) operands.push_back(number);
  call.attr("forget")();
  if (!result.defined()) {
    call.attr("returns")(py::tuple());
    session.graph.append(ir::op::kCall, operands, {}, session.line());
    return {};
  }
  call.attr("returns")(py::reinterpret_steal<py::object>(THPVariable_Wrap(result)));
  const TensorMeta meta = meta_of(result);
  std::vector<shape::Dim> dims;
  const ir::ValueSpec spec = value_spec(meta, false, dims);
  const ir::NodeId node = session.graph.append(ir::op::kCall, operands, {&spec, 1}, session.line());
  return make_tracer(meta, {session.id(), new_memory(), index(session.graph.outputs(node)[0])}, false, true);
}

// Runs `work` on the session; a break is noted, and nothing else leaves it.
template <class Work>
PyObject* recorded(Work work) {
  HANDLE_TH_ERRORS
  Session* session = Session::current();
  if (session == nullptr) throw std::runtime_error("a seed is recorded outside of a capture");
  try {
    return work(*session);
  } catch (const CaptureBreak& error) {
    session->note_break(error.code, error.msg);
    throw;
  } catch (const std::exception& error) {  // what is given is no number, or no state
    session->note_break(BreakCode::kRandomState, error.what());
    throw;
  }
  END_HANDLE_TH_ERRORS
}

PyObject* seed(PyObject*, PyObject* given) {
  return recorded([&](Session& session) {
    record(session, "seed", py::make_tuple(py::handle(given)));
    return module_attribute("torch", "default_generator").release();
  });
}

// The arguments behind the generator, which is bound or the first of them. Raises a break for other
// generators than torch's own: those may be made anew for each call.
std::span<PyObject* const> behind_generator(PyObject* bound, PyObject* const* arguments, Py_ssize_t count) {
  const Ref<> usual = module_attribute("torch", "default_generator");
  PyObject* generator = bound != nullptr ? bound : count > 0 ? arguments[0] : nullptr;
  if (!usual || generator != usual.get())
    raise_break(BreakCode::kRandomState, "the state of a generator of the program's own");
  const std::span<PyObject* const> all(arguments, static_cast<size_t>(count));
  return bound != nullptr ? all : all.subspan(1);
}

PyObject* get_state(PyObject* bound, PyObject* const* arguments, Py_ssize_t count) {
  return recorded([&](Session& session) {
    if (!behind_generator(bound, arguments, count).empty()) throw std::runtime_error("get_state");
    at::Tensor state;
    {
      const c10::impl::ExcludeDispatchKeyGuard not_recorded(kTracerKey);
      state = at::detail::getDefaultCPUGenerator().get_state();  // for its size
    }
    return THPVariable_Wrap(record(session, "state", py::tuple(), state));
  });
}

PyObject* set_state(PyObject* bound, PyObject* const* arguments, Py_ssize_t count) {
  return recorded([&](Session& session) {
    const auto given = behind_generator(bound, arguments, count);
    const bool is_tensor =
        given.size() == 1 && PyObject_TypeCheck(given[0], reinterpret_cast<PyTypeObject*>(THPVariableClass));
    if (!is_tensor || is_wrapper(THPVariable_Unpack(given[0]))) throw std::runtime_error("set_state");
    record(session, "set_state", py::make_tuple(py::handle(given[0])));
    return module_attribute("torch", "default_generator").release();
  });
}

PyMethodDef seed_method = {"manual_seed", seed, METH_O, nullptr};
PyMethodDef get_method = {"get_state", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(get_state)),
                          METH_FASTCALL, nullptr};
PyMethodDef set_method = {"set_state", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(set_state)),
                          METH_FASTCALL, nullptr};

// The method's name and, where it is bound, its generator.
std::pair<std::string_view, PyObject*> generator_method(PyObject* callable) {
  if (PyCFunction_Check(callable)) {
    const auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
    if (function->m_self != nullptr && Py_IS_TYPE(function->m_self, generator_class))
      return {function->m_ml->ml_name, function->m_self};
  } else if (Py_IS_TYPE(callable, &PyMethodDescr_Type) && PyDescr_TYPE(callable) == generator_class) {
    return {reinterpret_cast<PyMethodDescrObject*>(callable)->d_method->ml_name, nullptr};
  }
  return {};
}

}  // namespace

void prepare_seeds() {
  const py::module_ random = imported("torch.random");
  const py::object function = py::getattr(random, "_manual_seed_impl", random.attr("manual_seed"));
  if (PyFunction_Check(function.ptr())) seeding_code = Py_NewRef(PyFunction_GET_CODE(function.ptr()));
  generator_class =
      reinterpret_cast<PyTypeObject*>(py::object(imported("torch._C").attr("Generator")).release().ptr());
}

Ref<> records_seed(PyObject* callable) {
  if (is_seed_call(callable)) return {};
  if (PyFunction_Check(callable)) {
    return PyFunction_GET_CODE(callable) == seeding_code
               ? Ref<>::steal(PyCFunction_New(&seed_method, nullptr))
               : Ref<>();
  }
  const auto [name, generator] = generator_method(callable);
  PyMethodDef* method = name == "get_state" ? &get_method : name == "set_state" ? &set_method : nullptr;
  return method != nullptr ? Ref<>::steal(PyCFunction_New(method, generator)) : Ref<>();
}

bool is_seed_call(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return false;
  const PyMethodDef* method = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml;
  return method == &seed_method || method == &get_method || method == &set_method;
}

}  // namespace stator
