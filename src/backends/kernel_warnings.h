// src/backends/kernel_warnings.h: warnings of torch's kernels in a run become Python's, as in eager code.
//
// torch's bindings turn a kernel's warning into one of Python's at the line that called it. A run calls
// kernels without a frame of the program, so the line comes from the node: filters, `simplefilter("error")`
// and the registry of the module that is blamed work as if the program stood there.
#pragma once

#include <c10/util/Exception.h>

#include <cstddef>
#include <vector>

#include "core/ir/graph.h"

namespace stator {

class KernelWarnings final : public c10::WarningHandler {
 public:
  // `at`: the number of the node that runs, which changes as the run goes on; nullptr: nobody knows it, and
  // the caller of the compiled function is blamed.
  explicit KernelWarnings(const size_t* at) : at_(at), previous_(c10::WarningUtils::get_warning_handler()) {
    c10::WarningUtils::set_warning_handler(this);
  }
  ~KernelWarnings() override { c10::WarningUtils::set_warning_handler(previous_); }
  KernelWarnings(const KernelWarnings&) = delete;
  KernelWarnings& operator=(const KernelWarnings&) = delete;

  void process(const c10::Warning& warning) override { noted_.push_back({warning, at_ ? *at_ : 0}); }

  // Shows what was noted, in order. Returns false if a filter makes one an error, which is then set; `node`
  // is the node that caused it. The GIL is held.
  bool show(const ir::Graph& graph, size_t& node);

 private:
  struct Noted {
    c10::Warning warning;
    size_t node;
  };
  const size_t* at_;
  c10::WarningHandler* previous_;
  std::vector<Noted> noted_;
};

}  // namespace stator
