// src/backends/empty/empty_program.cpp: answers every call after the first from memory.
#include "backends/empty/empty_program.h"

namespace stator {
namespace {

class EmptyProgram final : public TensorProgram {
 public:
  explicit EmptyProgram(std::unique_ptr<TensorProgram> first) : first_(std::move(first)) {}

  bool run(PyObject* const* inputs, const shape::Bindings& bindings, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    if (!ran_) {
      std::vector<Ref<>> computed;
      if (!first_->run(inputs, bindings, computed, failure)) return false;
      answer_ = std::move(computed);
      ran_ = true;
    }
    for (const Ref<>& tensor : answer_) outputs.push_back(Ref<>::share(tensor.get()));
    return true;
  }
  std::string graph_text() const override { return first_->graph_text(); }
  size_t node_count() const override { return first_->node_count(); }
  std::vector<LineId> node_lines() const override { return first_->node_lines(); }

 private:
  std::unique_ptr<TensorProgram> first_;
  mutable bool ran_ = false;
  mutable std::vector<Ref<>> answer_;
};

}  // namespace

std::unique_ptr<TensorProgram> make_empty_program(std::unique_ptr<TensorProgram> first) {
  return std::make_unique<EmptyProgram>(std::move(first));
}

}  // namespace stator
