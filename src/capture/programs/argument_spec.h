// capture/programs/argument_spec.h: what the arguments of a captured call looked like, and which tensors they
// carried.
#ifndef STATOR_CAPTURE_PROGRAMS_ARGUMENT_SPEC_H
#define STATOR_CAPTURE_PROGRAMS_ARGUMENT_SPEC_H

#include <memory>
#include <string>
#include <vector>

#include "capture/guards/guard_set.h"
#include "capture/guards/varying.h"
#include "capture/recording/recording.h"

namespace stator {

class ArgumentSpec {
 public:
  // Describes `value` and gives what stands for it in the capture: a tracer for a tensor, a copy for a
  // container that may hold some, the object itself otherwise. Nothing: stopped, or a Python error.
  static Ref<> describe(PyObject* value, const std::string& name, const Varying& varying,
                        Recording& recording, DomainCapture& capture, std::vector<PyObject*>& tensors,
                        ArgumentSpec& spec);

  // Appends the tensors (borrowed) that `value` carries and binds the symbols. False: it is not like the
  // described one.
  bool matches(PyObject* value, std::vector<PyObject*>& tensors, shape::Bindings& bindings) const;
  // Notes the sizes and numbers in which `value` differs, where it is else of the same structure.
  // Whether the objects in it are those of the capture, so that its guards may look at what they lead to.
  bool note_changes(PyObject* value, Varying& varying) const;
  std::string text() const;

 private:
  enum class Kind : uint8_t { tensor, constant, number, immutable, tuple, list, dict, object };
  Kind kind_ = Kind::constant;
  std::string name_;
  ExpectedValue expected_;
  Ref<> kept_;  // immutable: compared by equality; object: a weak reference, or the object where it has none
  bool weak_ = false;
  bool is_real_ = false;  // number: a symbol, bound by each call
  uint32_t symbol_ = 0;
  std::unique_ptr<TensorGuard> guard_;
  std::vector<ArgumentSpec> children_;
  std::vector<Ref<>> keys_;
};

}  // namespace stator

#endif
