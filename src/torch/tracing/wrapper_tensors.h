// src/torch/tracing/wrapper_tensors.h: the tensors of a capture whose class has a `__torch_dispatch__`, made
// of other tensors.
//
// One operator on such a tensor is one node: a run makes the same call on the real tensors, and compilers get
// it as TorchDynamo's graphs have it. What comes out is learned by the class's own code, run on instances of
// the class that hold fake tensors; those that the program sees hold tracers.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/ir/graph.h"
#include "torch/inference/tensor_meta.h"
#include "torch/operators/operator_info.h"

namespace stator {

class Session;
class Tracer;

// Whether the class of a tensor has a `__torch_dispatch__`.
bool is_wrapper_tensor(const at::TensorBase& tensor);

class WrapperTensors {
 public:
  explicit WrapperTensors(Session& session);
  ~WrapperTensors();
  WrapperTensors(const WrapperTensors&) = delete;
  WrapperTensors& operator=(const WrapperTensors&) = delete;

  bool any() const { return !known_.empty(); }
  // Ragged sizes of nested tensors are zero; ends the capture where others are no numbers.
  TensorMeta meta(const at::Tensor& tensor);
  // A tensor that existed before. Ends the capture where the class does not say what its instances are made
  // of.
  void add_input(const at::Tensor& real, ir::ValueId value);
  // What stands for it in the capture. Undefined: it is no input yet.
  at::Tensor stand_in_of(const at::Tensor& real) const;
  // What a tensor is in the graph; nothing for one that is not of this capture.
  std::optional<ir::ValueId> value_of(const at::Tensor& tensor) const;
  // What a part of one is, which the program has read as an attribute; becomes a node where it is first used.
  void record_part(const at::Tensor& part);
  // Whether an attribute of one is what its class gave it.
  bool is_as_made(const at::Tensor& tensor, PyObject* name) const;
  // A plain operator that writes: compilers cannot be told that it writes to a part of another tensor.
  void check_parts(const OperatorInfo& info, std::span<const c10::IValue> arguments) const;
  // Whether one of these values is a plain tensor that shares the memory of one of a subclass. Compilers give
  // it out without the history that ties it to that.
  bool any_plain_view(std::span<const ir::ValueId> values) const;
  // A call of such a class, which becomes a node.
  pybind11::object make(const pybind11::object& type, const pybind11::tuple& arguments,
                        const pybind11::dict& keywords);
  // An operator of which some arguments are such tensors.
  void capture(const OperatorInfo& info, torch::jit::Stack* stack);
  // The same for one that asks for metadata.
  void answer(const OperatorInfo& info, torch::jit::Stack* stack);

 private:
  struct Known {
    at::Tensor stands;  // what the program sees, on tracers
    at::Tensor shadow;  // what the class's code sees, on fake tensors
    ir::ValueId value;
    bool requires_grad = false;
    const void* history = nullptr;
    pybind11::dict attributes;  // that its class gave what stands for it
  };
  pybind11::object& fakes();
  at::Tensor on_tracers(const at::Tensor& tensor);
  void note(const at::Tensor& stands, const at::Tensor& shadow, ir::ValueId value);
  at::Tensor learned_on(const at::Tensor& tensor);
  pybind11::object read_of(const at::Tensor& whole, const at::Tensor& part) const;
  bool gives_plain(const at::Tensor& tensor);
  void check_writes(const OperatorInfo& info, std::span<const c10::IValue> arguments) const;
  void run(const OperatorInfo& info, torch::jit::Stack* stack);
  ir::NodeId record(const OperatorInfo& info, std::span<const c10::IValue> arguments,
                    std::span<const c10::IValue> given, std::span<const c10::IValue> results);
  c10::IValue result(const c10::IValue& value, ir::NodeId node, uint32_t& next,
                     std::span<const c10::IValue> arguments, std::span<const c10::IValue> given);
  void follow_histories();

  Session& session_;
  std::unordered_map<const c10::TensorImpl*, Known> known_;           // by what stands for it
  std::unordered_map<const c10::TensorImpl*, at::Tensor> stand_ins_;  // by the real tensor
  std::unordered_set<uint64_t> part_memories_;
  std::unordered_set<uint64_t> view_memories_;   // of plain tensors that are views of one
  std::unordered_set<uint32_t> plainly_viewed_;  // what these are views of, as values
  // What fake tensors stand for, by these.
  std::unordered_map<const c10::TensorImpl*, std::pair<at::Tensor, at::Tensor>> originals_;
  pybind11::object fakes_;  // stator.runtime.wrapper_subclasses.Fakes
};

}  // namespace stator
