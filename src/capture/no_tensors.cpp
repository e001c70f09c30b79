// capture/no_tensors.cpp: the domain of programs without tensors: what is left is Python alone.
#include "capture/no_tensors.h"

namespace stator {
namespace {

class EmptyProgram final : public TensorProgram {
 public:
  bool run(PyObject* const*, const shape::Bindings&, std::vector<Ref<>>&, RunFailure&) const override {
    return true;
  }
  std::string graph_text() const override { return {}; }
  size_t node_count() const override { return 0; }
  std::vector<LineId> node_lines() const override { return {}; }
};

class EmptyCapture final : public DomainCapture {
 public:
  Ref<> input(PyObject*, const std::string&, uint64_t, std::unique_ptr<TensorGuard>&) override { return {}; }
  NumberSymbol number(PyObject*, const std::string&) override { return {}; }
  std::shared_ptr<const shape::Context> symbols() const override { return nullptr; }
  const Break* broken() const override { return nullptr; }
  bool finish(const std::vector<PyObject*>&, std::vector<Ref<>>&) override { return true; }
  std::unique_ptr<TensorProgram> compile(PyObject*, const std::vector<std::string>&) override {
    return std::make_unique<EmptyProgram>();
  }
};

class NoTensors final : public Domain {
 public:
  bool is_tensor(PyObject*) const override { return false; }
  bool is_class_of_program(PyTypeObject*) const override { return false; }
  bool is_immutable(PyObject*) const override { return false; }
  uint64_t marked_sizes(PyObject*, uint64_t) const override { return 0; }
  bool is_symbolic(PyObject*) const override { return false; }
  Ref<> in_place_of(PyObject*) const override { return {}; }
  bool runs_plainly(PyCodeObject*) const override { return false; }
  CallPolicy classify(PyObject*) const override { return CallKind::unknown; }
  bool attribute_is_captured(PyObject*, PyObject*) const override { return false; }
  std::unique_ptr<TensorGuard> guard(PyObject*) const override { return nullptr; }
  uint64_t modes() const override { return 0; }
  std::unique_ptr<DomainCapture> begin(std::shared_ptr<UserLines>, UserPlace&, PyObject*,
                                       bool) const override {
    return std::make_unique<EmptyCapture>();
  }
};

}  // namespace

const Domain& no_tensors() {
  static const NoTensors domain;
  return domain;
}

}  // namespace stator
