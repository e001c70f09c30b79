// capture/no_tensors.cpp: the domain of programs without tensors: what is left is Python alone.
#include "capture/no_tensors.h"

namespace stator {
namespace {

class EmptyProgram final : public TensorProgram {
 public:
  bool run(PyObject* const*, std::vector<Ref<>>&) const override { return true; }
  std::string graph_text() const override { return {}; }
  size_t node_count() const override { return 0; }
};

class EmptyCapture final : public DomainCapture {
 public:
  Ref<> input(PyObject*, const std::string&) override { return {}; }
  const Break* broken() const override { return nullptr; }
  bool finish(const std::vector<PyObject*>&, std::vector<Ref<>>&) override { return true; }
  std::unique_ptr<TensorProgram> compile(PyObject*, const std::vector<std::string>&) override {
    return std::make_unique<EmptyProgram>();
  }
};

class NoTensors final : public Domain {
 public:
  bool is_tensor(PyObject*) const override { return false; }
  bool is_immutable(PyObject*) const override { return false; }
  CallKind classify(PyObject*) const override { return CallKind::unknown; }
  bool attribute_is_captured(PyObject*, PyObject*) const override { return false; }
  bool is_capture_flag(PyObject*) const override { return false; }
  std::unique_ptr<TensorGuard> guard(PyObject*) const override { return nullptr; }
  uint64_t modes() const override { return 0; }
  std::unique_ptr<DomainCapture> begin() const override { return std::make_unique<EmptyCapture>(); }
};

}  // namespace

const Domain& no_tensors() {
  static const NoTensors domain;
  return domain;
}

}  // namespace stator
