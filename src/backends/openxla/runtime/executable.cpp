// src/backends/openxla/runtime/executable.cpp: tensors in, XLA's buffers through, tensors out.
#include "backends/openxla/runtime/executable.h"

#include <ATen/DLConvertor.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/utils/pybind.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "backends/openxla/emit/border.h"
#include "capture/cpython/interrupts.h"

namespace stator::openxla {

namespace {

// The alignment of memory that XLA takes without a copy: its own allocators', which compiled code may rely
// on.
uintptr_t alignment_on(at::Device place) { return place.is_cpu() ? 64 : 256; }

Border border_of(const ir::Graph& graph, ir::ValueId id) {
  Border border;
  border.dtype = static_cast<at::ScalarType>(graph.value(id).dtype);
  border.sizes = sizes_of(graph, id);
  const Dims order = border_order(graph, id);
  border.memory_sizes = permuted(border.sizes, order);
  border.strides.resize(order.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    border.strides[static_cast<size_t>(order[i])] = step;
    step *= std::max<int64_t>(border.memory_sizes[i], 1);
  }
  border.result_strides = border.strides;
  const auto recorded = graph.strides(id);
  const bool empty = std::ranges::find(border.sizes, 0) != border.sizes.end();
  // What XLA gives has eager's strides already: of an empty tensor it counts them otherwise.
  bool compact = !empty && order == range(0, static_cast<int64_t>(order.size()));
  for (size_t i = 0; i < recorded.size(); ++i) {
    // Strides that lead nowhere: what eager kernels make of them says nothing of the memory.
    if ((border.sizes[i] != 1 && !empty) || recorded[i].is_expr()) continue;
    compact = compact && recorded[i].number() == border.strides[i];
    border.result_strides[i] = recorded[i].number();
  }
  if (compact) border.result_strides.clear();
  return border;
}

bool lies_as(const at::Tensor& tensor, const Border& border) {
  if (reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % alignment_on(tensor.device()) != 0) return false;
  const at::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && strides[i] != border.strides[i]) return false;
  }
  return !tensor.is_conj() && !tensor.is_neg() && !tensor._is_zerotensor();
}

// What a capsule describes; the memory is the caller's, who holds it during the run. Handed and who takes the
// tensor over own it together: jaxlib calls the deleter of a tensor that it then refuses, and leaves the
// capsule as if it had not been taken over.
struct Described {
  DLManagedTensor managed;
  std::vector<int64_t> sizes;
  std::atomic<bool> deleted = false;  // by whom takes it over, or never will
  std::atomic<int> owners = 2;

  void give_up() {
    if (owners.fetch_sub(1) == 1) delete this;
  }
  void delete_once() {
    if (!deleted.exchange(true)) give_up();
  }
};

void delete_described(DLManagedTensor* managed) {
  static_cast<Described*>(managed->manager_ctx)->delete_once();
}

// A tensor as a capsule, for one call. Whether it was taken over is asked here: who takes a capsule over
// removes its destructor.
class Handed {
 public:
  Handed(const at::Tensor& tensor, const Border& border) {
    auto described = std::make_unique<Described>();
    described->sizes = border.memory_sizes;
    DLTensor& view = described->managed.dl_tensor;
    at::toDLPackNonOwning(tensor, &view);
    view.data = const_cast<void*>(tensor.const_data_ptr());
    view.ndim = static_cast<int32_t>(described->sizes.size());
    view.shape = described->sizes.data();
    view.strides = nullptr;  // compact
    view.byte_offset = 0;
    described->managed.manager_ctx = described.get();
    described->managed.deleter = &delete_described;
    capsule_ = Ref<>::steal(PyCapsule_New(&described->managed, kOffered, nullptr));
    if (!capsule_) throw py::error_already_set();
    described_ = described.release();
  }
  ~Handed() {
    if (PyCapsule_IsValid(capsule_.get(), kOffered)) {
      PyCapsule_SetName(capsule_.get(), "used_dltensor");  // nobody finds the memory any more
      described_->delete_once();
    }
    described_->give_up();
  }
  Handed(const Handed&) = delete;
  Handed& operator=(const Handed&) = delete;

  PyObject* capsule() const { return capsule_.get(); }

 private:
  static constexpr const char* kOffered = "dltensor";  // DLPack's name; another one where it was taken over
  Ref<> capsule_;
  Described* described_ = nullptr;
};

// jaxlib asks for the module jax whenever it makes an array: where jax is missing, the search of sys.path
// costs 45 us each time; where it is installed, it would be imported. Nothing here releases the GIL, so
// nobody else sees this.
class WithoutJax {
 public:
  WithoutJax() : modules_(PyImport_GetModuleDict()) {
    static PyObject* const interned = PyUnicode_InternFromString("jax");
    name_ = interned;
    hidden_ =
        PyDict_GetItemWithError(modules_, name_) == nullptr && PyDict_SetItem(modules_, name_, Py_None) == 0;
  }
  ~WithoutJax() {
    if (hidden_ && PyDict_DelItem(modules_, name_) != 0) drop_error();
  }
  WithoutJax(const WithoutJax&) = delete;
  WithoutJax& operator=(const WithoutJax&) = delete;

 private:
  PyObject* modules_;
  PyObject* name_ = nullptr;
  bool hidden_ = false;
};

Ref<> checked(PyObject* result) {
  if (!result) throw py::error_already_set();
  return Ref<>::steal(result);
}

// What a call of the runtime gave; its error is raised as `explained` has it.
Ref<> explained_result(const Runtime& runtime, PyObject* result) {
  if (result) return Ref<>::steal(result);
  const bool interrupted = is_interrupted();
  const py::error_already_set error;
  if (interrupted) throw error;
  const Ref<> raised = checked(PyObject_CallOneArg(runtime.explained.get(), error.value().ptr()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.get())), raised.get());
  throw py::error_already_set();
}

// Without streams: in a build that links libstdc++ statically, as some distributions' compilers do beside
// torch's own copy, the two disagree about locales.
std::string type_text(at::ScalarType type, at::IntArrayRef sizes) {
  std::string text = std::string(c10::toString(type)) + "[";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

[[noreturn]] void refuse(size_t input, const std::string& is, const std::string& compiled_for) {
  throw std::invalid_argument("input " + std::to_string(input) + " of an XLA program is " + is +
                              ", compiled for " + compiled_for);
}

at::Tensor tensor_of(PyObject* capsule, const Border& border) {
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  if (!managed) throw py::error_already_set();
  at::Tensor tensor = at::fromDLPack(managed);
  PyCapsule_SetName(capsule, "used_dltensor");
  // As any tensor that an operator made: the program may resize it, or have it resized by `out=`.
  c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  storage->set_allocator(c10::GetAllocator(tensor.device().type()));
  storage->set_resizable(true);
  return border.result_strides.empty() ? tensor : tensor.as_strided(border.sizes, border.result_strides);
}

}  // namespace

std::vector<Border> input_borders(const ir::Graph& graph) {
  std::vector<Border> borders;
  for (const ir::Input& input : graph.inputs()) borders.push_back(border_of(graph, input.value));
  return borders;
}

std::vector<Border> output_borders(const ir::Graph& graph) {
  std::vector<Border> borders;
  for (ir::ValueId id : graph.outputs()) borders.push_back(border_of(graph, id));
  return borders;
}

Runtime Runtime::of(PyObject* loaded, at::Device place) {
  const auto shared = [&](const char* name) {
    return Ref<>::share(py::object(py::handle(loaded).attr(name)).ptr());
  };
  return {shared("execute"), shared("from_dlpack"), shared("to_dlpack"),
          shared("device"),  shared("explained"),   place};
}

Executable::Executable(Runtime runtime, std::vector<Border> inputs, std::vector<Border> outputs,
                       bool tells_if_valid)
    : runtime_(std::move(runtime)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      tells_if_valid_(tells_if_valid),
      kept_(inputs_.size()),
      process_(getpid()) {}

Executable::~Executable() {
  if (getpid() == process_) return;
  for (Ref<>* reference :
       {&runtime_.execute, &runtime_.from_dlpack, &runtime_.to_dlpack, &runtime_.device, &runtime_.explained})
    (void)reference->release();
  for (Kept& kept : kept_) (void)kept.buffer.release();
}

Ref<> Executable::buffer_of(size_t i, at::Tensor& tensor) {
  const Border& border = inputs_[i];
  if (tensor.scalar_type() != border.dtype || tensor.sizes() != border.sizes) {
    refuse(i, type_text(tensor.scalar_type(), tensor.sizes()), type_text(border.dtype, border.sizes));
  }
  if (tensor.device() != runtime_.place) refuse(i, "on " + tensor.device().str(), runtime_.place.str());
  Kept& kept = kept_[i];
  const bool shared = lies_as(tensor, border);
  if (shared) {
    // While the storage lives, its address means the same memory.
    if (kept.buffer && kept.data == tensor.const_data_ptr() && !kept.storage.expired() &&
        kept.storage._unsafe_get_target() == tensor.storage().unsafeGetStorageImpl())
      return kept.buffer;
  } else {
    at::Tensor compact = at::empty_strided(border.sizes, border.strides, tensor.options());
    tensor = compact.copy_(tensor);
  }
  const Handed handed(tensor, border);
  PyObject* const arguments[] = {handed.capsule(), runtime_.device.get(), Py_None};
  const WithoutJax hidden;
  Ref<> buffer =
      explained_result(runtime_, PyObject_Vectorcall(runtime_.from_dlpack.get(), arguments, 3, nullptr));
  if (shared) {
    kept.storage = tensor.storage().getWeakStorageImpl();
    kept.data = tensor.const_data_ptr();
    kept.buffer = buffer;
  }
  return buffer;
}

std::optional<std::vector<at::Tensor>> Executable::run(std::vector<at::Tensor> inputs) {
  if (inputs.size() != inputs_.size())
    throw std::invalid_argument("an XLA program got another number of inputs");
  const at::NoGradGuard no_gradients;
  const Ref<> arguments = checked(PyList_New(static_cast<Py_ssize_t>(inputs.size())));
  for (size_t i = 0; i < inputs.size(); ++i) {
    PyList_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), buffer_of(i, inputs[i]).release());
  }
  // After the copies that inputs needed.
  if (!runtime_.place.is_cpu())
    c10::impl::VirtualGuardImpl(runtime_.place.type()).synchronizeDevice(runtime_.place.index());
  const Ref<> results =
      explained_result(runtime_, PyObject_CallOneArg(runtime_.execute.get(), arguments.get()));
  static PyObject* const disassemble = PyUnicode_InternFromString("disassemble_into_single_device_arrays");
  Ref<> buffers;
  {
    const WithoutJax hidden;
    buffers = explained_result(runtime_, PyObject_CallMethodNoArgs(results.get(), disassemble));
  }
  buffers = checked(PySequence_Fast(buffers.get(), "XLA's results are no sequence"));
  const size_t count = outputs_.size() + (tells_if_valid_ ? 1 : 0);
  if (PySequence_Fast_GET_SIZE(buffers.get()) != static_cast<Py_ssize_t>(count))
    throw std::runtime_error("an XLA program gave another number of results");
  const auto capsule_at = [&](size_t i) {
    PyObject* shards = PySequence_Fast_GET_ITEM(buffers.get(), static_cast<Py_ssize_t>(i));
    const Ref<> buffer = checked(PySequence_GetItem(shards, 0));
    PyObject* const given[] = {buffer.get(), Py_None};
    return explained_result(runtime_, PyObject_Vectorcall(runtime_.to_dlpack.get(), given, 2, nullptr));
  };
  if (tells_if_valid_) {
    const Ref<> capsule = capsule_at(outputs_.size());
    if (!tensor_of(capsule.get(), {}).item<bool>()) return {};
  }
  std::vector<at::Tensor> outputs;
  outputs.reserve(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) outputs.push_back(tensor_of(capsule_at(i).get(), outputs_[i]));
  return outputs;
}

}  // namespace stator::openxla
