// torch/tracing/undefined_gradients.cpp: a hook before the node's backward, in the engine's thread.
#include "torch/tracing/undefined_gradients.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/python_function.h>

#include <memory>
#include <utility>

namespace stator {

namespace autograd = torch::autograd;

namespace {

struct Undefined {
  const autograd::Node* node = nullptr;
  std::vector<size_t> places;
};

thread_local Undefined undefined_now;

// Hooks of the program's that come behind it cannot give a gradient where there is none: torch refuses.
class Watch final : public autograd::FunctionPreHook {
 public:
  explicit Watch(autograd::Node* node) : node_(node) {}

  autograd::variable_list operator()(const autograd::variable_list& gradients) override {
    undefined_now = {node_, {}};
    for (size_t i = 0; i < gradients.size(); i++) {
      if (!gradients[i].defined()) undefined_now.places.push_back(i);
    }
    return gradients;
  }
  // Compiled autograd makes a graph of the whole backward, which has zeros there.
  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& /*unused*/) const override {}

 private:
  autograd::Node* node_;  // owns this
};

// torch 2.11 holds it by a weak pointer, later ones own it.
template <class Pointer>
autograd::Node* node_behind(const Pointer& pointer) {
  if constexpr (requires { pointer.lock(); }) {
    return pointer.lock().get();
  } else {
    return pointer.get();
  }
}

autograd::Node* node_of(PyObject* context) {
  return THPFunction_Check(context) ? node_behind(reinterpret_cast<THPFunction*>(context)->cdata) : nullptr;
}

}  // namespace

bool watch_gradients(PyObject* context) {
  autograd::Node* const node = node_of(context);
  if (node == nullptr) return false;
  node->add_pre_hook(std::make_unique<Watch>(node));
  return true;
}

std::vector<size_t> undefined_gradients(PyObject* context) {
  const Undefined found = std::exchange(undefined_now, {});
  return found.node != nullptr && found.node == node_of(context) ? found.places : std::vector<size_t>();
}

}  // namespace stator
