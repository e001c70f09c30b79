// src/torch/replacements/transforms.cpp: what transforms of torch.func need beside the dispatcher.
#include "torch/replacements/transforms.h"

#include <ATen/functorch/BatchedTensorImpl.h>
#include <c10/core/AutogradState.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_set>
#include <utility>

#include "capture/cpython/interrupts.h"
#include "torch/replacements/backward.h"
#include "torch/replacements/bodies.h"
#include "torch/replacements/gradients.h"
#include "torch/replacements/traced_engine.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/own_python.h"

namespace stator {
namespace {

namespace autograd = torch::autograd;

// Of the function that registers kernels for vmap; nullptr once they are there.
PyObject* registers_kernels = nullptr;

// Of torch.autograd.graph._engine_run_backward, through which backward() and grad() go.
PyObject* run_backward = nullptr;

// With torch's kernels that are written in Python. Asked for by the hook, which must not lead to an import.
std::array<std::string, 3> folders_of_kernels;

// Python code of the program's would run in the engine, where nothing notices what it reads and writes.
bool runs_python(const at::Tensor& output) {
  std::unordered_set<const autograd::Node*> seen;
  std::vector<const autograd::Node*> left;
  const auto add = [&](const autograd::Node* node) {
    if (node != nullptr && seen.insert(node).second) left.push_back(node);
  };
  add(output.grad_fn().get());
  while (!left.empty()) {
    auto* node = const_cast<autograd::Node*>(left.back());
    left.pop_back();
    // By name: torch does not export the type.
    if (std::string_view(typeid(*node).name()).find("PyNode") != std::string_view::npos ||
        !node->pre_hooks().empty() || !node->post_hooks().empty() || !node->tensor_pre_hooks().empty() ||
        !node->retains_grad_hooks().empty())
      return true;
    for (const autograd::Edge& edge : node->next_edges()) add(edge.function.get());
  }
  return false;
}

[[noreturn]] void refuse() {
  raise_break(BreakCode::kBackward, "a gradient is asked for inside of the function");
}

// A tuple of tensors, undefined ones for None. Raises a break for anything else.
autograd::variable_list tensors_of(PyObject* tuple) {
  if (tuple == nullptr || !PyTuple_Check(tuple)) refuse();
  autograd::variable_list tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject* object = PyTuple_GET_ITEM(tuple, i);
    const bool is_tensor = PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(THPVariableClass));
    if (!is_tensor && object != Py_None) refuse();
    tensors.push_back(is_tensor ? THPVariable_Unpack(object) : at::Tensor());
  }
  return tensors;
}

// Stands where a tensor has no history: no gradient comes there.
struct Nowhere : autograd::Node {
  autograd::variable_list apply(autograd::variable_list&&) override { return {}; }
};

template <class Pointer>
Pointer nowhere() {
  if constexpr (requires(Pointer p) { p.reset(new Nowhere()); }) {
    return std::make_shared<Nowhere>();
  } else {
    return c10::make_intrusive<Nowhere>();
  }
}

// Where the gradient of a tensor comes out of the engine.
autograd::Edge edge_to(const at::Tensor& input) {
  using Function = decltype(autograd::Edge::function);
  if (!input.defined()) refuse();
  if (input.grad_fn()) return {input.grad_fn(), static_cast<uint32_t>(input.output_nr())};
  Function leaf = autograd::impl::try_get_grad_accumulator(input);
  return {leaf ? std::move(leaf) : nowhere<Function>(), 0};
}

constexpr const char* kCompiledAutograd = "torch._dynamo.compiled_autograd";

bool is_text(PyObject* object, const char* text) {
  return object != nullptr && PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, text) == 0;
}

bool is_below(PyObject* module, std::string_view package) {
  const char* name = module != nullptr && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  return name != nullptr && std::string_view(name).starts_with(package);
}

bool has_compiled_autograd() {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), kCompiledAutograd);
  return module != nullptr && py::getattr(module, "compiled_autograd_enabled", py::none()).ptr() == Py_True;
}

// All of the engine's work is done by this thread, as the capture's is.
class InThisThread {
 public:
  InThisThread() { set(false); }
  ~InThisThread() { set(outer_); }
  InThisThread(const InThisThread&) = delete;
  InThisThread& operator=(const InThisThread&) = delete;

 private:
  static void set(bool enabled) { c10::AutogradState::get_tls_state().set_multithreading_enabled(enabled); }
  bool outer_ = c10::AutogradState::get_tls_state().get_multithreading_enabled();
};

// torch starts the engine's threads for devices once in a process, for the first of its engines that is
// asked: that must be Python's, or no backward on a device works from then on. It starts them without the
// GIL, which a capture keeps; the capture is given up, and tried again once they are there.
class PythonsEngine : public autograd::Engine {
 public:
  static bool is_ready() {
    if (started_) return true;
    for (const auto& device : c10::impl::device_guard_impl_registry) {
      const auto* implementation = device.load();
      if (implementation != nullptr && has_threads(implementation->type()) &&
          implementation->deviceCount() > 0)
        return !(autograd::Engine::get_default_engine().*(&PythonsEngine::device_ready_queues_)).empty();
    }
    return true;
  }
  static void start() {
    autograd::Engine::get_default_engine().initialize_device_threads_pool();
    started_ = true;
  }

 private:
  static bool has_threads(c10::DeviceType type) {
    return type != c10::kCPU && type != c10::kMeta && type != c10::kVulkan && type != c10::kLazy;
  }
  // There may be no threads even so: torch registers a device where there is none as soon as fake tensors are
  // used with its CUDA build, and the engine may have counted the devices before.
  static inline std::atomic<bool> started_ = false;
};

thread_local bool engine_is_wanted = false;

// What is asked is asked of the engine below Python's, which wants the GIL given up: a capture keeps it.
// Where torch would raise, the capture ends, and the error is that of the native run.
autograd::variable_list gradients(PyObject* arguments, PyObject* keywords) {
  PyObject *outputs = nullptr, *given = nullptr, *inputs = nullptr;
  int keeps = 0, creates = 0, may_be_unused = 0, accumulates = 0;
  static const char* const names[] = {"tensors", "grad_tensors",      "keep_graph",      "create_graph",
                                      "inputs",  "allow_unreachable", "accumulate_grad", nullptr};
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "OOpp|Opp", const_cast<char**>(names), &outputs,
                                  &given, &keeps, &creates, &inputs, &may_be_unused, &accumulates) == 0) {
    drop_error();
    refuse();
  }
  if (has_compiled_autograd()) refuse();
  if (accumulates != 0) {
    if (creates != 0 || (inputs != nullptr && (!PyTuple_Check(inputs) || PyTuple_GET_SIZE(inputs) != 0)) ||
        is_in_transform())
      refuse();
    record_backward(*Session::current(), {tensors_of(outputs), tensors_of(given), keeps != 0});
    return {};
  }
  if (!PythonsEngine::is_ready()) {
    engine_is_wanted = true;
    raise_break(BreakCode::kBackward, "gradients are asked for before torch has started its engine");
  }
  const autograd::variable_list asked = tensors_of(outputs);
  if (!is_in_transform() && std::ranges::none_of(asked, [](const at::Tensor& output) {
        return output.defined() && is_wrapper(output);
      }))
    return record_gradients(*Session::current(), {asked, tensors_of(given), tensors_of(inputs), keeps != 0,
                                                  creates != 0, may_be_unused != 0});
  autograd::edge_list roots, ends;
  for (const at::Tensor& output : asked) {
    if (!output.defined() || !is_wrapper(output) || !output.grad_fn()) refuse();
    if (runs_python(output))
      raise_break(BreakCode::kBackward, "a transform of code with a gradient or a hook of its own");
    roots.push_back(autograd::impl::gradient_edge(output));
  }
  for (const at::Tensor& input : tensors_of(inputs)) ends.push_back(edge_to(input));
  const autograd::variable_list starts = tensors_of(given);
  const bool all_there = std::ranges::all_of(starts, [](const at::Tensor& start) { return start.defined(); });
  if (roots.empty() || ends.empty() || starts.size() != roots.size() || !all_there) refuse();
  const InThisThread here;
  autograd::variable_list found = autograd::Engine::get_base_engine().execute(
      roots, starts, keeps != 0, creates != 0, /*accumulate_grad=*/false, ends);
  for (const at::Tensor& gradient : found) {
    if (!gradient.defined() && may_be_unused == 0) refuse();
  }
  return found;
}

PyObject* ask_engine(PyObject*, PyObject* arguments, PyObject* keywords) {
  HANDLE_TH_ERRORS
  Session* session = Session::current();
  if (session == nullptr) throw std::runtime_error("a gradient is asked for outside of a capture");
  try {
    const OwnPython own(session);
    const autograd::variable_list found = gradients(arguments, keywords);
    py::tuple result(found.size());
    for (size_t i = 0; i < found.size(); i++)
      result[i] = py::reinterpret_steal<py::object>(found[i].defined() ? THPVariable_Wrap(found[i])
                                                                       : Py_NewRef(Py_None));
    return result.release().ptr();
  } catch (const CaptureBreak& error) {
    session->note_break(error.code, error.msg);
    throw;
  } catch (const std::exception& error) {
    session->note_break(BreakCode::kBackward, error.what());
    throw;
  }
  END_HANDLE_TH_ERRORS
}

PyMethodDef engine_method = {"_engine_run_backward",
                             reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(ask_engine)),
                             METH_VARARGS | METH_KEYWORDS, nullptr};
PyObject* engine_function = nullptr;
PyObject* without_compiled_autograd = nullptr;

// torch's operator for custom functions, and what is called in its place.
PyObject* custom_function = nullptr;
PyObject* custom_function_instead = nullptr;

// The gradient of this tensor may be asked for, in a level or outside of all.
bool may_need_gradient(at::Tensor tensor) {
  while (const auto* batched = at::functorch::maybeGetBatchedImpl(tensor)) tensor = batched->value();
  return is_wrapper(tensor) || (tensor.requires_grad() && c10::GradMode::is_enabled());
}

PyObject* needs_no_gradient(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  for (Py_ssize_t i = 0; i < count; i++) {
    if (may_need_gradient(THPVariable_Unpack(arguments[i]))) Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
  END_HANDLE_TH_ERRORS
}

PyMethodDef question = {"needs_no_gradient",
                        reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(needs_no_gradient)),
                        METH_FASTCALL, nullptr};
PyObject* question_function = nullptr;

}  // namespace

void prepare_transforms() {
  const py::object function =
      py::getattr(imported("torch._functorch.vmap"), "lazy_load_decompositions", py::none());
  if (PyFunction_Check(function.ptr())) registers_kernels = Py_NewRef(PyFunction_GET_CODE(function.ptr()));
  const std::string folder = py::list(imported("torch").attr("__path__"))[0].cast<std::string>();
  folders_of_kernels = {folder + "/_decomp/", folder + "/_refs/", folder + "/_prims_common/"};
  const py::object engine = imported("torch.autograd.graph").attr("_engine_run_backward");
  run_backward = py::object(engine.attr("__code__")).release().ptr();
  engine_function = PyCFunction_New(&engine_method, nullptr);
  const py::module_ own = imported("stator.runtime.transforms");
  without_compiled_autograd = py::object(own.attr("without_compiled_autograd")).release().ptr();
  custom_function =
      py::object(imported("torch._functorch.autograd_function").attr("custom_function_call")).release().ptr();
  custom_function_instead = py::object(own.attr("custom_function_call")).release().ptr();
  question_function = PyCFunction_New(&question, nullptr);
  own.attr("needs_no_gradient") = py::handle(question_function);
}

void before_function(PyObject* function) {
  PyObject* module = reinterpret_cast<PyFunctionObject*>(function)->func_module;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  if (is_below(module, "torch._higher_order_ops.")) {
    Session* session = Session::current();
    if (session != nullptr && (session->runs_python || !is_followed_wrapper(code))) {
      const char* name = PyUnicode_AsUTF8(reinterpret_cast<PyFunctionObject*>(function)->func_name);
      session->note_break(BreakCode::kHigherOrderOperator, name != nullptr ? name : "");
    }
    drop_error();
  }
  if (registers_kernels == nullptr || PyFunction_GET_CODE(function) != registers_kernels) return;
  Session* session = Session::current();
  if (session == nullptr) return;
  Py_CLEAR(registers_kernels);
  const OwnPython own(session);
  session->pause();
  if (PyObject* done = PyObject_CallNoArgs(function)) Py_DECREF(done);
  drop_error();  // the capture meets the error again
  session->resume();
}

Ref<> asks_engine(PyObject* callable) {
  if (PyFunction_GET_CODE(callable) == run_backward) return Ref<>::share(engine_function);
  const auto* function = reinterpret_cast<PyFunctionObject*>(callable);
  if (is_text(function->func_name, "_disable") && is_text(function->func_module, kCompiledAutograd))
    return Ref<>::share(without_compiled_autograd);
  return {};
}

Ref<> calls_custom_function(PyObject* callable) {
  return callable == custom_function ? Ref<>::share(custom_function_instead) : Ref<>();
}

bool is_engine_call(PyObject* callable) {
  return callable == engine_function || callable == question_function;
}

autograd::variable_list run_engine(const autograd::edge_list& roots, const autograd::variable_list& starts,
                                   const autograd::edge_list& ends, bool keeps_graph, bool creates_graph) {
  if (!PythonsEngine::is_ready()) {
    const py::gil_scoped_release for_its_threads;
    PythonsEngine::start();
  }
  const InThisThread here;
  return autograd::Engine::get_base_engine().execute(roots, starts, keeps_graph, creates_graph,
                                                     /*accumulate_grad=*/false, ends);
}

bool start_engine() {
  if (!std::exchange(engine_is_wanted, false)) return false;
  const py::gil_scoped_release for_its_threads;
  PythonsEngine::start();
  return true;
}

bool is_in_transform() {
  return c10::impl::tls_local_dispatch_key_set().included_.has(
      c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
}

bool is_python_kernel(PyCodeObject* code) {
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (file == nullptr) drop_error();
  return file != nullptr && std::ranges::any_of(folders_of_kernels, [&](const std::string& folder) {
           return std::string_view(file).starts_with(folder);
         });
}

bool DualLevel::is_open() { return autograd::ForwardADLevel::try_get_by_idx(0) != nullptr; }

void DualLevel::restore() const {
  if (!was_open_ && is_open()) autograd::ForwardADLevel::release_idx(0);
}

}  // namespace stator
