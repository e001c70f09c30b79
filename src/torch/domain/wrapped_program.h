// src/torch/domain/wrapped_program.h: a program that does something before or behind the run of another one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/domain.h"

namespace stator {

// Tells of the program inside; a subclass says what a run does.
class WrappedProgram : public TensorProgram {
 public:
  explicit WrappedProgram(std::unique_ptr<TensorProgram> program) : program_(std::move(program)) {}

  bool depends_on_overlap() const override { return program_->depends_on_overlap(); }
  bool overlaps_as_captured(PyObject* const* inputs) const override {
    return program_->overlaps_as_captured(inputs);
  }
  std::string graph_text() const override { return program_->graph_text(); }
  size_t node_count() const override { return program_->node_count(); }
  std::vector<LineId> node_lines() const override { return program_->node_lines(); }
  PyObject* graph_module() const override { return program_->graph_module(); }

 protected:
  const TensorProgram& program() const { return *program_; }

 private:
  std::unique_ptr<TensorProgram> program_;
};

}  // namespace stator
