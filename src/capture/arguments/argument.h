// capture/arguments/argument.h: what a capture read of its arguments, compared with those of a later call.
//
// Each argument is a tree that grows as the program reads: a part that nobody looked at is `unread`, has no
// children and matches anything. A container that was looked at is known by its type and by what was asked of
// it: single items, whether a key is there, its length, whether it is empty, or all of it in order.
#ifndef STATOR_CAPTURE_ARGUMENTS_ARGUMENT_H
#define STATOR_CAPTURE_ARGUMENTS_ARGUMENT_H

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/arguments/argument_paths.h"
#include "capture/arguments/call.h"
#include "capture/cpython/set_table.h"
#include "capture/domain.h"
#include "capture/guards/dynamism.h"
#include "capture/guards/expected_value.h"

namespace stator {

struct Argument {
  enum class Kind : uint8_t {  // how calls compare it; the kind of the object itself is a row of objects.def
    unread,
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
    object
  };

  Argument(Argument* parent, ArgumentStep step, PyObject* real)
      : parent(parent),
        step(std::move(step)),
        depth(parent != nullptr ? parent->depth + 1 : 0),
        deep(parent != nullptr && parent->deep),
        real(real),
        alive(Ref<>::share(real)) {}

  Kind kind = Kind::unread;
  Argument* parent;
  ArgumentStep step;
  size_t depth;
  bool deep;  // instances inside of it are known by their attributes too
  std::string root_name;

  // What is compared.
  ExpectedValue expected;  // of a function: its globals
  // Immutable: compared by equality. Function: its code. Object: what `watched` says.
  Ref<> kept;
  Ref<> type;  // of containers and instances: a weak reference, since nobody may keep a class for its
               // instances
  const PyTypeObject* object_type = nullptr;  // of an object; only compared
  // An object that is compared by its address: how another one that comes to lie there is told from it. What
  // a class of the program's holds was guarded as it was read, so there only the class counts.
  enum class Watched : uint8_t { itself, its_class, kept_alive };
  Watched watched = Watched::kept_alive;
  bool not_none = false;  // unread: it was asked whether it is None
  bool is_real = false;   // number: a symbol, bound by each call
  uint32_t symbol = 0;
  size_t tensor = 0;  // its number among the tensors that the arguments bring
  std::unique_ptr<TensorGuard> guard;
  const ArrayForms* arrays = nullptr;  // tensor: an array is given, on whose memory it lies
  std::optional<Py_ssize_t> length;    // that was asked for
  std::optional<bool> is_empty;        // that was asked for
  // A dictionary: every key is a child, in the order of iteration. A list: every item is a child. A set: its
  // items are `keys`.
  bool whole = false;
  std::vector<std::unique_ptr<Argument>> children;
  std::vector<Ref<>> keys;                   // items of a set; names of a function's keyword defaults
  std::vector<Ref<>> absent;                 // keys that a dictionary or set does not have
  std::vector<Ref<>> members;                // items that were found in a set
  std::optional<cpython::SetLayout> layout;  // of a set that is written as a whole, or read after a write

  // While the capture lasts.
  std::vector<Py_ssize_t> ends;  // items that are known by their distance from the end
  PyObject* real;                // what the caller gave
  Ref<> alive;                   // the same: another thread may take it out of its container
  Ref<> stands;                  // what stands for it once it is read
  Ref<> placeholder;             // what stood for it before

  // Puts the tensors (by their numbers) and containers (borrowed) that `value` carries among the values, and
  // binds the symbols. False: it is not like the captured one in what was read of that.
  bool matches(PyObject* value, CallValues& values) const;
  // Notes the sizes, numbers and objects in which `value` differs, where it is else of the same structure.
  // Whether the objects in it are those of the capture, so that its guards may look at what they lead to.
  bool note_changes(PyObject* value, Varying& varying) const;
  // `L["batch"]["x"]`
  std::string name() const;
  // All that is compared, in words; empty if nothing is.
  std::string describe() const;
  // The innermost part in which `value` differs, in words.
  std::string difference(PyObject* value, CallValues& values) const;
  ArgumentPath path() const;
  // A call may be refused for it.
  bool is_compared() const { return kind != Kind::unread || not_none; }
  // Another one of its kind may have a finalizer, or hold what has one.
  bool may_die_aloud() const {
    return kind != Kind::tensor && kind != Kind::constant && kind != Kind::number && kind != Kind::immutable;
  }
  // The capture is over.
  void forget_call();

 private:
  bool has_same_form(PyObject* value) const;
  bool is_same(PyObject* value) const;
  bool is_alike(PyObject* function) const;
  bool matches_children(PyObject* value, CallValues& values) const;
  bool matches_pairs(PyObject* dict, CallValues& values) const;
  std::string text() const;
  std::string type_name() const;
};

}  // namespace stator

#endif
