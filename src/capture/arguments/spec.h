// capture/arguments/spec.h: what the arguments of a captured call looked like, and which tensors they
// carried.
//
// A capture runs on *stand-ins*: a tracer for a tensor, a copy for a container or a plain instance that may
// hold some. So the arguments of a later call may be other objects, as long as they look alike. Everything
// else is the object that was given, and so is what the function also reaches by itself or is given twice: a
// copy of that would not be one and the same.
#ifndef STATOR_CAPTURE_ARGUMENTS_SPEC_H
#define STATOR_CAPTURE_ARGUMENTS_SPEC_H

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "capture/arguments/call.h"
#include "capture/guards/dynamism.h"
#include "capture/guards/guard_set.h"
#include "capture/recording/recording.h"

namespace stator {

// What describing the arguments of one call needs, and finds.
struct ArgumentsInCapture {
  const Varying& varying;
  Recording& recording;
  DomainCapture& capture;
  const std::unordered_set<PyObject*>& by_identity;  // these are given as they are
  std::vector<PyObject*> tensors;                    // that tracers stand for, borrowed
  std::unordered_set<PyObject*> copied;              // containers and instances that copies stand for
  std::unordered_set<PyObject*> repeated;            // those of them that occur twice
  size_t depth = 0;                                  // of the part that is described, inside of the argument
};

class ArgumentSpec {
 public:
  // Describes `value` and gives what stands for it in the capture. Nothing: stopped, or a Python error.
  static Ref<> describe(PyObject* value, const std::string& name, ArgumentsInCapture& in,
                        ArgumentSpec& spec) {
    return describe(value, name, false, in, spec);
  }

  // A value that passes through and is never looked at: another one of the same type will do.
  static ArgumentSpec unread(PyObject* value, const std::string& name);

  // Appends the tensors and containers (borrowed) that `value` carries and binds the symbols. False: it is
  // not like the described one.
  bool matches(PyObject* value, CallValues& values) const;
  // Notes the sizes, numbers and objects in which `value` differs, where it is else of the same structure.
  // Whether the objects in it are those of the capture, so that its guards may look at what they lead to.
  bool note_changes(PyObject* value, Varying& varying) const;
  std::string text() const;
  // The innermost part in which `value` differs, in words.
  std::string difference(PyObject* value) const;

 private:
  enum class Kind : uint8_t {
    tensor,
    constant,
    number,
    immutable,
    tuple,
    list,
    set,
    dict,
    instance,
    function,
    method,
    object,
    unread
  };
  // `whole`: instances inside of it are copied too.
  static Ref<> describe(PyObject* value, const std::string& name, bool whole, ArgumentsInCapture& in,
                        ArgumentSpec& spec);
  bool describe_number(PyObject* value, ArgumentsInCapture& in, Ref<>& stands);
  Ref<> describe_object(PyObject* value, ArgumentsInCapture& in);
  Ref<> copy_sequence(PyObject* value, bool whole, ArgumentsInCapture& in);
  Ref<> copy_set(PyObject* value);
  Ref<> copy_mapping(PyObject* value, bool whole, ArgumentsInCapture& in);
  Ref<> copy_instance(PyObject* value, bool whole, ArgumentsInCapture& in);
  bool copy_attributes(PyObject* value, PyObject* copy, bool whole, ArgumentsInCapture& in);
  Ref<> copy_function(PyObject* value, ArgumentsInCapture& in);
  Ref<> copy_method(PyObject* value, bool whole, ArgumentsInCapture& in);
  Ref<> describe_child(PyObject* item, const std::string& key, bool whole, ArgumentsInCapture& in);
  // Calls `visit(child, item)` for every item until one gives false; false as well for another structure.
  template <class Visit>
  bool each_item(PyObject* value, Visit&& visit) const;
  bool is_same(PyObject* value) const;
  bool is_alike(PyObject* function) const;
  // Of a class that is gone, the address of something that is no class.
  const PyTypeObject* type() const {
    return reinterpret_cast<PyTypeObject*>(PyWeakref_GET_OBJECT(type_.get()));
  }
  std::string type_name() const;

  Kind kind_ = Kind::constant;
  std::string name_;
  ExpectedValue expected_;  // of a function: its globals
  Ref<> kept_;  // immutable: compared by equality; object: a weak reference, or the object where it has none;
                // function: its code
  Ref<> type_;  // of containers and instances: a weak reference, since nobody may keep a class for its
                // instances
  const PyTypeObject* object_type_ = nullptr;  // of an object; only compared
  bool weak_ = false;
  bool is_real_ = false;  // number: a symbol, bound by each call
  uint32_t symbol_ = 0;
  std::unique_ptr<TensorGuard> guard_;
  std::vector<ArgumentSpec> children_;
  // Of a dictionary, items of a set, names of an instance's attributes or of a function's keyword defaults.
  std::vector<Ref<>> keys_;
  // Of a dictionary that has attributes as well, which come behind its items: how many items.
  std::optional<size_t> items_;
};

}  // namespace stator

#endif
