// src/torch/operators/operator_info.h: what the torch layer knows of one operator, worked out once per
// process.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <vector>

#include "core/ir/operator.h"
#include "torch/inference/rules/rule.h"

namespace stator {

enum class OperatorKind : uint8_t {
  ordinary,
  query,           // answered from metadata, never recorded
  data_dependent,  // its result depends on values: a break
  lift_fresh,      // a tensor literal
};

// Arguments that are integers in a boxed call but name something.
enum class Enumeration : uint8_t { no, dtype, layout, memory_format };

struct OperatorInfo {
  explicit OperatorInfo(const c10::OperatorHandle& handle);

  c10::OperatorHandle handle;
  std::string name;  // with overload: "aten::add.Tensor"
  ir::OpId id{};     // in torch_operators()
  OperatorKind kind = OperatorKind::ordinary;
  Rule rule = nullptr;
  // torch's own C++ kernel for the Meta key, where one exists under the Python registration that hides it.
  const c10::KernelFunction* meta_kernel = nullptr;
  bool composite_implicit = false;
  bool composite_explicit = false;
  bool returns_tensors = false;
  bool random = false;
  bool dynamic_shape = false;  // in general: where the rule declines, the shape depends on values
  bool reads_number = false;   // gives the one number of a tensor
  bool detaches = false;       // its views do not follow the base's history
  size_t arguments = 0;
  uint64_t written = 0;                   // arguments that the operator writes to, one bit each
  uint64_t tensors = 0;                   // arguments whose type holds tensors
  uint64_t differentiable = 0;            // arguments through which gradients flow
  uint64_t differentiable_outputs = 0;    // returns that may require a gradient
  std::vector<Enumeration> enumerations;  // by argument

  Enumeration enumeration(size_t argument) const {
    return argument < enumerations.size() ? enumerations[argument] : Enumeration::no;
  }
};

// `handle` must come from the dispatcher; the answer lives as long as the process.
const OperatorInfo& operator_info(const c10::OperatorHandle& handle);

}  // namespace stator
