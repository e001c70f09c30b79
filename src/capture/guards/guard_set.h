// capture/guards/guard_set.h: what a capture relied on, checked in order on every later call.
//
// Objects that a capture reached from the function are *pinned*: each guard proves that the objects behind it
// in the list are still the same ones, alive, so no name is looked up on a call that hits. A container is
// proven unchanged by one comparison (a dictionary's version, a type's version, a cell's content); only when
// that fails are the values that were read compared one by one.
//
// All of these comparisons are of one machine word at a fixed address, so a sealed set is an array of
// (address, word): a call that hits runs over it without a branch on the kind of guard. Objects that get
// another class or dictionary are told of, and from 3.12 on dictionaries that change: their words are looked
// at only after such a notice.
#ifndef STATOR_CAPTURE_GUARDS_GUARD_SET_H
#define STATOR_CAPTURE_GUARDS_GUARD_SET_H

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/guards/dict_watches.h"
#include "capture/guards/dynamism.h"
#include "capture/guards/guard.h"
#include "capture/guards/guard_parts.h"
#include "capture/guards/object_notices.h"
#include "capture/guards/source_text.h"

namespace stator {

class GuardSet {
 public:
  // Called once the capture is complete: notes the versions that will be compared. False: something has
  // changed meanwhile.
  // `tensors` are those of the arguments.
  bool seal(const Domain& domain, const std::vector<PyObject*>& tensors);
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
  // `subject` is the object that is looked at. Where a guard of this kind and key is there already, nothing
  // is done.
  void add(Guard guard, PyObject* subject) {
    add(std::move(guard), subject, place_ != nullptr ? place_->line() : LineId::kNone);
  }
  void add(Guard guard, PyObject* subject, LineId line);
  // Whether there is a guard of this kind on the object, or on this part of it.
  template <class Kind>
  bool has(const void* address, const void* part = nullptr) const {
    return seen_.contains({kind_number<Kind>, {address, part}});
  }
  // Gives every guard its source: `source_of` adds that of an object, and says its number.
  template <class SourceOf>
  void name(SourceOf&& source_of) {
    for (size_t i = sources_.size(); i < guards_.size(); i++)
      sources_.push_back(source_of(subjects_[i], texts_));
  }
  size_t size() const { return guards_.size(); }
  // Words that each call compares; tensors come on top of them.
  size_t compared() const { return polled_.size(); }
  // Wherever this constant was read, an equal one is not enough.
  void know_by_identity(PyObject* constant) { identities_.push_back(expect(constant)); }
  // Keeps an object alive for as long as the guards are.
  void keep(PyObject* object) { kept_.push_back(Ref<>::share(object)); }
  // What a user's filter may leave out; of a complete capture, before it is sealed.
  std::vector<GuardPart> parts() const;
  // Calls are served whether these hold or not. All objects that the guards know are kept alive from now on.
  void leave_out(const std::vector<GuardPart>& parts);
  // Each guard in words: what is looked at, and what is expected.
  std::vector<std::string> describe() const;
  // The line of the user's code that relied on each guard first.
  std::span<const LineId> lines() const { return lines_; }

  // Found, or made. References are valid until the next guard is added.
  DictGuard& dict(PyObject* dict);
  ListGuard& list(PyObject* list, Py_ssize_t length);
  ObjectGuard& object(PyObject* object);
  // An item of a dictionary, or its absence, was relied on.
  void read(PyObject* dict, PyObject* key, PyObject* value);
  bool reads_key(PyObject* dict, PyObject* key) const;
  // An attribute of a class that has guards of its own, or is written before it is read: guards on classes
  // leave it out.
  void set_apart(PyTypeObject* type, PyObject* name);

 private:
  using Word = GuardWord;
  // A dictionary that changes all the time (the globals of a script, say) is looked at instead.
  static constexpr uint8_t kMostNotices = 8;
  static bool is_as_noted(const Word& word);
  size_t first_changed(size_t from) const;
  bool check_polled(std::string* failed, FoundByGuards found);
  bool check_all(std::string* failed, FoundByGuards found);
  // A word differs: its guard may hold all the same. Then its words are noted anew.
  bool look_again(uint32_t word, std::string* failed, FoundByGuards found);
  void watch_tensors(const Domain& domain, const std::vector<PyObject*>& tensors);
  void compare_identities();
  void ask_for_notices();
  // A dictionary was changed: what it holds under the keys that were read may have given way to another
  // object at the same address.
  bool check_held(uint32_t dict, std::string* failed, FoundByGuards found);
  bool is_polled(uint32_t word) const;
  void list_polled();
  void settle_notices();
  void note_all_words();
  void note_getters(const PyObject* descriptor, Varying& varying) const;
  bool check_slowly(size_t guard, std::string* failed, FoundByGuards found);
  struct Identity {
    size_t kind;
    GuardKey key;
    bool operator==(const Identity&) const = default;
  };
  struct HashIdentity {
    size_t operator()(const Identity& of) const {
      const std::hash<const void*> hash;
      return (hash(of.key.address) * 31 + hash(of.key.part)) * 31 + of.kind;
    }
  };
  // The guard of this kind on an object; nullptr: there is none.
  template <class Kind>
  Kind* find(const void* address);
  template <class Kind>
  Kind& added(Kind guard, PyObject* subject);

  std::vector<Guard> guards_;
  std::vector<Word> words_;
  std::vector<uint32_t> owners_;  // of each word: the guard that it belongs to
  std::vector<uint32_t> first_;   // of each guard: its first word
  std::vector<Word> polled_;      // those that no notice tells of, once more
  std::vector<uint32_t> places_;  // of each of them in words_
  std::vector<uint8_t> notices_;  // of each guard: how often a notice came
  DictWatches dicts_;
  ObjectNotices objects_;
  std::unordered_map<uint32_t, std::vector<uint32_t>>
      held_;                              // of dictionaries: guards of objects, not polled
  std::vector<size_t> tensors_;           // guards of tensors, which come last
  std::unique_ptr<TensorWatch> watch_;    // answers for all of them
  std::unordered_set<uint32_t> holders_;  // guards of dictionaries that hold them
  std::vector<PyObject*> subjects_;       // meaningful while the capture is in progress
  std::vector<uint32_t> sources_;         // of each guard, in texts_
  SourceTexts texts_;
  std::vector<LineId> lines_;  // of each guard
  std::shared_ptr<ApartNames> apart_;
  UserPlace* place_ = nullptr;
  std::shared_ptr<const UserLines> user_lines_;
  std::vector<Ref<>> kept_;
  std::vector<ExpectedValue> identities_;  // constants
  std::unordered_map<Identity, size_t, HashIdentity> seen_;
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
