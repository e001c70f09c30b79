// src/backends/fused/program/cuda_step.cpp: launches by the driver, whose library is looked up when it is
// needed: Stator is built without CUDA.
#include "backends/fused/program/cuda_step.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "backends/fused/program/kernel_arguments.h"

namespace stator::fused {
namespace {

// The parts of the driver's interface that are used, as cuda.h declares them.
class Driver {
 public:
  static const Driver& get() {
    static const Driver driver;
    return driver;
  }

  void launch(void* function, unsigned blocks, unsigned threads, void* stream, void** arguments,
              int device) const {
    int status = launch_(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
    if (status == kInvalidContext && enter_context(device))
      status = launch_(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
    if (status == 0) return;
    const char* text = nullptr;
    if (error_text_(status, &text) != 0 || !text) text = "unknown error";
    throw std::runtime_error("CUDA error: a fused kernel could not be launched: " + std::string(text));
  }

 private:
  static constexpr int kInvalidContext = 201;

  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) {
    if (!library_) throw std::runtime_error("CUDA's driver (libcuda.so.1) is missing");
    find(launch_, "cuLaunchKernel");
    find(error_text_, "cuGetErrorString");
    find(retain_, "cuDevicePrimaryCtxRetain");
    find(set_current_, "cuCtxSetCurrent");
  }
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (!function) throw std::runtime_error(std::string("CUDA's driver has no ") + name);
  }
  // A thread that has not used the device yet has no context.
  bool enter_context(int device) const {
    void* context = nullptr;
    return retain_(&context, device) == 0 && set_current_(context) == 0;
  }

  void* library_;
  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                 void**) = nullptr;
  int (*error_text_)(int, const char**) = nullptr;
  int (*retain_)(void**, int) = nullptr;
  int (*set_current_)(void*) = nullptr;
};

class CudaStep final : public native::Step {
 public:
  CudaStep(const ir::Graph& graph, const KernelPlan& plan, const CudaText& text, void* function,
           c10::Device device)
      : function_(function),
        device_(device),
        arguments_(graph, plan, text.reads_vectors),
        sizes_(plan.kernel.sizes.begin(),
               plan.kernel.sizes.begin() + static_cast<ptrdiff_t>(plan.kernel.rows())),
        threads_(static_cast<unsigned>(text.threads)),
        per_block_(text.per_block) {
    plan.for_each_value(uses, makes);
    keeps_nothing = true;
  }

  void run(std::vector<c10::IValue>& values, const shape::Bindings& bindings) const override {
    const c10::DeviceGuard guard(device_);
    KernelArguments::Filled filled;
    arguments_.fill(values, bindings, filled);
    int64_t count = 1;
    for (const Extent& size : sizes_) count *= KernelArguments::amount(size, filled.parameters);
    const int64_t blocks = (count + per_block_ - 1) / per_block_;
    if (blocks > INT32_MAX) throw std::runtime_error("CUDA error: a fused kernel has too many elements");
    c10::SmallVector<void*, 48> places;
    for (int64_t& argument : filled.arguments) places.push_back(&argument);
    const c10::impl::VirtualGuardImpl devices(device_.type());
    void* const stream = devices.getStream(device_).native_handle();
    Driver::get().launch(function_, static_cast<unsigned>(blocks), threads_, stream, places.data(),
                         device_.index());
  }

 private:
  void* function_;
  c10::Device device_;
  KernelArguments arguments_;
  std::vector<Extent> sizes_;  // of rows; without reductions, of all elements
  unsigned threads_;
  int64_t per_block_;
};

}  // namespace

std::unique_ptr<native::Step> make_cuda_step(const ir::Graph& graph, const KernelPlan& plan,
                                             const CudaText& text, void* function, ir::Device device) {
  const c10::Device place(c10::kCUDA, static_cast<c10::DeviceIndex>(device.index));
  return std::make_unique<CudaStep>(graph, plan, text, function, place);
}

}  // namespace stator::fused
