// capture/guards/guard_set.h: what a capture relied on, checked in order on every later call.
//
// Objects that a capture reached from the function are *pinned*: each guard proves that the objects behind it
// in the list are still the same ones, alive, so no name is looked up on a call that hits. A container is
// proven unchanged by one comparison (a dictionary's version, a type's version, a cell's content); only when
// that fails are the values that were read compared one by one.
//
// All of these comparisons are of one machine word at a fixed address, so a sealed set is an array of
// (address, word): a call that hits runs over it without a branch on the kind of guard.
#ifndef STATOR_CAPTURE_GUARDS_GUARD_SET_H
#define STATOR_CAPTURE_GUARDS_GUARD_SET_H

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "capture/cpython/ref.h"
#include "capture/domain.h"
#include "capture/guards/held_key.h"
#include "capture/guards/source_text.h"
#include "capture/guards/type_contents.h"
#include "capture/guards/varying.h"

namespace stator {

// A value that was read: the same object, or for constants an equal one of the same type.
struct ExpectedValue {
  PyObject* object = nullptr;  // nullptr: there was none
  Ref<> constant;              // kept when it is compared by value
  // Another guard looks at what is there.
  static ExpectedValue anything();
  bool matches(PyObject* found) const;
  // The same, and takes an equal constant as its own: its address is compared from now on, so it must live.
  bool is_now(PyObject* found);
};

// Constants are compared by value: numbers, strings, bytes, None and the like.
bool is_constant(PyObject* object);
ExpectedValue expect(PyObject* object);

// The items of a set or a deque in the order of iteration.
std::vector<ExpectedValue> expect_items(PyObject* container);

// What a getter in C gives; nothing, with an error set, where it raises.
Ref<> read_getter(PyObject* object, PyObject* descriptor);

// Binds a symbol to an int or float of its kind; false for anything else.
bool bind_number(PyObject* value, bool is_real, uint32_t symbol, shape::Bindings& bindings);
// How Varying names an item of the container with this source.
std::string place_name(const std::string& container, PyObject* key);

// What a slot holds, through a member descriptor; nothing where it is empty.
Ref<> read_slot(PyObject* object, PyObject* descriptor);

struct DictGuard {
  PyObject* dict;
  bool whole = false;  // iterated: keys and their order count
  struct Read {
    HeldKey key;
    ExpectedValue value;
    // What the dictionary holds under the key; nullptr: nothing, also where the key is gone.
    PyObject* found_in(PyObject* dict) const;
  };
  std::vector<Read> reads;
};
struct ListGuard {
  PyObject* list;
  bool whole = false;
  std::vector<ExpectedValue> items;  // as many as the list has; those that were not read expect nothing
};
struct TypeGuard {
  PyTypeObject* type;
  Ref<> alive;  // a weak reference, asked first: guards before this one need not prove that the class exists
  unsigned int version = 0;
  std::shared_ptr<const TypeContents> contents;  // compared where the version differs
};
struct ObjectGuard {
  PyObject* object;
  PyTypeObject* type;
  PyObject** dict_slot = nullptr;  // where the object keeps its dictionary
  PyObject* dict = nullptr;
};
struct FunctionGuard {
  PyFunctionObject* function;
  PyObject *code, *defaults, *keyword_defaults;
};
struct CellGuard {
  PyObject* cell;
  ExpectedValue content;
};
// A slot of an instance, read through the member descriptor of its class.
struct SlotGuard {
  PyObject* object;
  PyObject* descriptor;
  ExpectedValue content;
};
// The order of an OrderedDict, which its version does not tell.
struct OrderGuard {
  PyObject* dict;
  std::vector<ExpectedValue> keys;
};
// Sets and deques: the same items in the same order of iteration. A deque is compared last, when guards on
// what it held may have been checked: so those items are kept.
struct ItemsGuard {
  PyObject* container;
  std::vector<ExpectedValue> items;
  std::vector<Ref<>> kept;
};
// A field of an object that C code keeps outside of any dictionary: a function's name, its annotations.
struct FieldGuard {
  PyObject** field;
  const char* name;
  ExpectedValue content;
};
// No class was registered with an abstract base class since.
struct RegistryGuard {
  Ref<> counter;  // _abc.get_cache_token
  Ref<> count;
};
// The call does not come out of an except clause.
struct NoExceptionGuard {};
// An attribute that a getter in C gives, the same object on every read.
struct GetterGuard {
  PyObject* object;
  PyObject* descriptor;
  ExpectedValue content;
};
// An int or float in a dictionary that is a symbol of the capture: its value is bound by each call.
struct NumberGuard {
  PyObject* dict;
  HeldKey key;
  bool is_real;
  uint32_t symbol;
};
// A tensor in a dictionary or list that each call may find replaced: it is an input like those among the
// arguments.
struct TensorItemGuard {
  PyObject* container;
  HeldKey key;
  std::string name;
  std::unique_ptr<TensorGuard> guard;
  PyObject* find() const;  // borrowed, or nullptr
};
struct PinnedTensorGuard {
  PyObject* tensor;
  std::unique_ptr<TensorGuard> guard;
};

using Guard = std::variant<DictGuard, ListGuard, TypeGuard, ObjectGuard, FunctionGuard, CellGuard, SlotGuard,
                           OrderGuard, ItemsGuard, FieldGuard, RegistryGuard, NoExceptionGuard, GetterGuard,
                           PinnedTensorGuard, NumberGuard, TensorItemGuard>;

// What guards find in a call.
struct FoundByGuards {
  shape::Bindings& bindings;
  std::vector<PyObject*>& tensors;  // borrowed
};

class GuardSet {
 public:
  // Called once the capture is complete: notes the versions that will be compared. False: something has
  // changed meanwhile.
  bool seal(const Domain& domain);
  // Runs no Python code of the user's. On failure `failed` (if given) receives the guard in words.
  // Numbers that are symbols are written into the bindings, tensors that are read from their place are
  // appended.
  bool check(std::string* failed, FoundByGuards found);
  // Notes the ints and floats that were compared by value and differ now, and the tensors that were replaced.
  void note_changes(const Domain& domain, Varying& varying) const;

  // `place` says which line of the user's code a guard is ascribed to, until it is nullptr.
  void follow(UserPlace* place, std::shared_ptr<const UserLines> lines) {
    place_ = place;
    user_lines_ = std::move(lines);
  }
  // `subject` is the object that is looked at.
  void add(Guard guard, PyObject* subject) {
    add(std::move(guard), subject, place_ != nullptr ? place_->line() : LineId::kNone);
  }
  void add(Guard guard, PyObject* subject, LineId line);
  // Gives every guard its source: `source_of` adds that of an object, and says its number.
  template <class SourceOf>
  void name(SourceOf&& source_of) {
    for (size_t i = sources_.size(); i < guards_.size(); i++)
      sources_.push_back(source_of(subjects_[i], texts_));
  }
  size_t size() const { return guards_.size(); }
  // Keeps an object alive for as long as the guards are.
  void keep(PyObject* object) { kept_.push_back(Ref<>::share(object)); }
  // Each guard in words: what is looked at, and what is expected.
  std::vector<std::string> describe() const;
  // The line of the user's code that relied on each guard first.
  std::span<const LineId> lines() const { return lines_; }

  DictGuard& dict(PyObject* dict);
  ListGuard& list(PyObject* list, Py_ssize_t length);
  // An item of a dictionary, or its absence, was relied on.
  void read(PyObject* dict, PyObject* key, PyObject* value);
  bool reads_key(PyObject* dict, PyObject* key) const;
  // False if it was there already.
  bool once(const void* what) { return seen_.emplace(what, guards_.size()).second; }

 private:
  struct Word {
    const void* at;
    uint64_t expected;
  };
  bool check_slowly(size_t guard, std::string* failed, FoundByGuards found);
  void note_words(size_t guard, std::vector<Word>& words) const;

  std::vector<Guard> guards_;
  std::vector<Word> words_;
  std::vector<uint32_t> owners_;        // of each word: the guard that it belongs to
  std::vector<size_t> tensors_;         // guards of tensors, which come last
  std::unique_ptr<TensorWatch> watch_;  // answers for all of them
  std::vector<PyObject*> subjects_;     // meaningful while the capture is in progress
  std::vector<uint32_t> sources_;       // of each guard, in texts_
  SourceTexts texts_;
  std::vector<LineId> lines_;  // of each guard
  UserPlace* place_ = nullptr;
  std::shared_ptr<const UserLines> user_lines_;
  std::vector<Ref<>> kept_;
  std::unordered_map<const void*, size_t> seen_;
  struct Read {
    const PyObject *dict, *key;  // interned keys: one object each
    bool operator==(const Read&) const = default;
  };
  struct HashRead {
    size_t operator()(const Read& read) const {
      return std::hash<const void*>()(read.dict) * 31 + std::hash<const void*>()(read.key);
    }
  };
  std::unordered_set<Read, HashRead> reads_;
};

}  // namespace stator

#endif
