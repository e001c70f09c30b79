// src/backends/openxla/runtime/executable.h: a compiled XLA program that takes and returns torch's tensors.
#pragma once

#include <ATen/ATen.h>
#include <sys/types.h>

#include <optional>
#include <vector>

#include "capture/cpython/ref.h"
#include "core/ir/graph.h"

namespace stator::openxla {

// How a tensor crosses the border: its type, and the order of its dimensions in memory.
struct Border {
  at::ScalarType dtype;
  std::vector<int64_t> sizes, strides;  // as torch has them, compact in `order`
  std::vector<int64_t> memory_sizes;    // sizes in the order of emit/border.h
  // Strides to give a result, where those of a compact tensor are not what torch gives: another order, or
  // dimensions of size 1.
  std::vector<int64_t> result_strides;
};

std::vector<Border> input_borders(const ir::Graph& graph);
std::vector<Border> output_borders(const ir::Graph& graph);

// What the installed runtime offers, as Python objects: bound once, called for every run.
struct Runtime {
  Ref<> execute;      // (list of buffers) -> results with disassemble_into_single_device_arrays()
  Ref<> from_dlpack;  // (capsule, device, stream) -> buffer; the stream is None
  Ref<> to_dlpack;    // (buffer, stream) -> capsule; with None it waits until the buffer is ready
  Ref<> device;       // as the runtime names it
  Ref<> explained;    // (exception of a run) -> the exception to raise, which says what to do
  at::Device place;   // as torch does

  // Of what the client of stator/backends/openxla/runtime.py compiled.
  static Runtime of(PyObject* loaded, at::Device place);
};

// Inputs are shared with XLA where their memory is as the program expects it and aligned; others are copied
// first. The buffer made for an input is kept and used again as long as the same memory comes in its place:
// parameters cross once.
//
// The CPU client runs synchronously: nothing holds the memory of inputs after the call. CUDA's has streams of
// its own, and jaxlib's client for plugins cannot be told of torch's: given a stream, it fails and frees what
// it was given twice (jaxlib 0.11.2). So a run begins when the device has done what torch told it before:
// writes to the inputs, and reads of earlier results, whose memory XLA uses again. The results are asked for
// when they are ready, and the inputs have been read by then.
class Executable {
 public:
  // `tells_if_valid`: the program has one result more (emit.h).
  Executable(Runtime runtime, std::vector<Border> inputs, std::vector<Border> outputs, bool tells_if_valid);
  // In a forked child what belongs to the parent's client is left behind: to tear it down waits for threads
  // that are not there.
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  // Nothing if the results are not valid: eager code would have raised. Throws py::error_already_set where
  // the runtime raised. The caller has the GIL.
  std::optional<std::vector<at::Tensor>> run(std::vector<at::Tensor> inputs);
  size_t input_count() const { return inputs_.size(); }

 private:
  struct Kept {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage{c10::intrusive_ptr<c10::StorageImpl>()};
    const void* data = nullptr;
    Ref<> buffer;
  };
  Ref<> buffer_of(size_t i, at::Tensor& tensor);

  Runtime runtime_;
  std::vector<Border> inputs_, outputs_;
  bool tells_if_valid_;
  std::vector<Kept> kept_;
  pid_t process_;
};

}  // namespace stator::openxla
