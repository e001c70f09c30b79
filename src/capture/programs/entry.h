// capture/programs/entry.h: one capture of a function: what it relies on, what it runs, what it returns.
#ifndef STATOR_CAPTURE_PROGRAMS_ENTRY_H
#define STATOR_CAPTURE_PROGRAMS_ENTRY_H

#include <memory>
#include <string>
#include <vector>

#include "capture/programs/argument_spec.h"
#include "capture/programs/effects.h"
#include "capture/programs/rebuild.h"

namespace stator {

class Entry {
 public:
  // Captures one call. Nothing: `why` says why, and no Python error is set unless it is one that is not the
  // capture's.
  static std::unique_ptr<Entry> capture(const Domain& domain, PyObject* function, PyObject* const* arguments,
                                        Py_ssize_t count, PyObject* keywords, CaptureStop& why);

  // The tensors that the call carries, if the capture serves it. Otherwise `failed` (if given) tells the
  // first guard that failed.
  bool serves(const Domain& domain, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords,
              std::vector<PyObject*>& tensors, std::string* failed);
  // A new reference, or nullptr with an error set.
  PyObject* run(const std::vector<PyObject*>& tensors, PyObject* const* arguments) const;

  std::vector<std::string> guards() const;
  std::string graph_text() const { return program_->graph_text(); }
  size_t node_count() const { return program_->node_count(); }
  uint64_t hits = 0;

 private:
  std::vector<ArgumentSpec> arguments_;
  Ref<> keywords_;  // names, or nothing
  uint64_t modes_ = 0;
  GuardSet guards_;
  std::unique_ptr<TensorProgram> program_;
  std::vector<PyObject*> captured_;  // inputs that are no arguments (borrowed: the guards prove them),
                                     // nullptr for those that are
  std::vector<size_t> first_of_;     // for each tensor of the arguments: the first one that is the same
  Rebuild rebuild_;
  size_t result_ = 0;  // its step
  Effects effects_;
};

}  // namespace stator

#endif
