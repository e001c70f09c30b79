// capture/recording/recording.h: one capture in progress: which objects are known, what was relied on, why it
// cannot go on.
//
// Every object of the run is *fresh* (made in it: free to read and write), *pinned* (reached from the
// function through reads that are guarded: free to read, each read guarded), constant, or unknown. Reading an
// unknown object's contents or writing to one that is not fresh ends the capture: it has changed nothing that
// existed before, so the function can simply be run instead.
#ifndef STATOR_CAPTURE_RECORDING_RECORDING_H
#define STATOR_CAPTURE_RECORDING_RECORDING_H

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "capture/bytecode/decode.h"
#include "capture/guards/guard_set.h"
#include "capture/recording/cached_calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/class_reads.h"
#include "capture/recording/constant_places.h"
#include "capture/recording/given_tensors.h"
#include "capture/recording/held_locks.h"
#include "capture/recording/journal.h"
#include "capture/recording/native_table.h"
#include "capture/recording/origin.h"
#include "capture/recording/placed_values.h"

namespace stator {

class PausedCapture;

class Recording {
 public:
  Recording(const Domain& domain, DomainCapture& capture, GuardSet& guards, UserStack& stack);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // --- the interpreter ---
  // Before each instruction: guards what it will read, or stops the capture. False: stopped, an error is set.
  bool before(const Instruction& instruction, cpython::Frame* frame, PyObject** sp);
  // A frame of the program is about to run, from its start or from where it waited.
  bool entering(cpython::Frame* frame, PyObject* first_argument);
  // How many levels of recursion are left where a frame runs.
  void note_levels(int left) { fewest_levels_ = std::min(fewest_levels_, left); }
  int fewest_levels() const { return fewest_levels_; }
  // Before a function's frame is entered, however it was called.
  bool entering(PyFunctionObject* function, PyObject* first_argument);
  // A frame whose arguments were just bound: its **kwargs dictionary was made for it.
  void bound(cpython::Frame* frame);
  // Whether a frame is none of the program's: the domain's own code, or code that is executed, not captured.
  bool outside() const { return capture_.runs_own_code(); }
  // A call of a function whose result the user wants kept as a constant: made outside of the capture.
  PyObject* constant_result(PyObject* function, PyObject* const* arguments, size_t flags, PyObject* keywords);
  // A call that becomes one node of the graph.
  PyObject* opaque_result(PyObject* function, PyObject* const* arguments, size_t flags, PyObject* keywords);
  // A call of a function with a gradient of its own: becomes one node, too (custom_gradients.cpp).
  PyObject* followed_result(PyObject* apply, PyObject* const* arguments, Py_ssize_t count);
  // When an error is raised: it may be the domain's way to say that it cannot go on.
  void note_error();
  // Ends the capture with a reason; returns false. The error that is set passes over every handler.
  bool stop(BreakCode code, std::string detail = {});
  // The same, from the next instruction of the program on: CPython runs a frame first.
  void stop_after_frame(BreakCode code, std::string detail);
  const CaptureStop& stopped() const { return stop_; }
  // The captured call is over: no frame of it is left.
  void leave();
  // Objects of a capture that is given up die without a word: generators that wait are not resumed by their
  // end.
  void abandon();
  // Whether a generator that waits would run code of its own when it dies.
  bool leaves_generators();
  bool holds_locks() const { return !locks_.empty(); }

  // What was written, and what was there before. A capture always ends with its roll_back().
  Journal& journal() { return journal_; }
  // Whether a key of this dictionary was read before anything was written there, so that a guard proves it.
  bool proves(PyObject* dict, PyObject* key) const { return guards_.reads_key(dict, key); }

  // --- knowledge ---
  // The captured function is proven on every call by what it is made of: cells and defaults need no guard.
  void know_by_structure(PyFunctionObject* function);
  void make_fresh(PyObject* object);
  void pin(PyObject* object, Origin origin);
  void hold(PyObject* object);
  // The module whose loading ended the capture, if it can be loaded before another attempt.
  const std::string& wanted_import() const { return wanted_import_; }
  bool wants_another_attempt() const { return cached_.was_unsound; }
  bool is_fresh(PyObject* object) const { return fresh_.count(object) != 0; }
  bool is_pinned(PyObject* object) const { return pinned_.count(object) != 0; }
  // Tensors that are read from their place on each call, in the order of their guards.
  const std::vector<Ref<>>& placed_tensors() const { return placed_.tensors; }
  template <class Visit>
  void each_pinned(Visit&& visit) const {
    for (const auto& [object, origin] : pinned_) visit(object);
  }
  // A container of the arguments: guarded with the call, so reads are free; writes are the caller's to see.
  void make_given(PyObject* object) { given_.insert(object); }
  // A tensor that the call brings, and the tracer that stands for it: in the order of the call's tensors.
  void make_given_tensor(PyObject* tracer, PyObject* real, const std::string& name);
  // A function that stands for one of the call's, with cells of its own.
  void make_given_function(PyObject* function, PyObject* real);
  bool is_no_stand_in(PyObject* object);  // false: it is one, or a cell of one, and the capture is stopped
  bool may_outlive(PyObject* object);     // the same; a function or cell that the program keeps
  // What the call brings and must be given as it is.
  const std::unordered_set<PyObject*>& wanted_by_identity() const { return wanted_by_identity_; }
  // Its sizes, dtype and the like may be asked for: a guard on them is needed where it is no input.
  void look_at(PyObject* tensor);
  const std::unordered_set<PyObject*>& looked_at() const { return looked_at_; }
  bool reads_freely(PyObject* object) const { return is_fresh(object) || given_.count(object) != 0; }
  // Its contents may be looked at: fresh, pinned, or of a kind that never changes.
  bool is_known(PyObject* object) const;
  bool never_changes(PyObject* object) const;
  std::string source(PyObject* object);
  // Says of every guard how its object was reached.
  void name_guards();
  // A number that tells objects of this run apart and means nothing in another.
  bool is_identity(PyObject* number) const {
    return !identities_.empty() && identities_.count(PyLong_AsSize_t(number)) != 0;
  }

  // What a key is to those who look at it after the capture: a number where it is a symbol. New reference.
  Ref<> key_of(PyObject* key) const;

  // --- reads: each guards what it says; false: stopped ---
  PyObject* look_up(PyObject* dict,
                    PyObject* key);  // borrowed; nullptr, with an error set where there was one
  bool read_dict_item(PyObject* dict, PyObject* key);
  // Keys, order and values. `by_value`: what stands there was read already, so nothing may take its place.
  bool read_dict(PyObject* dict, bool by_value = false);
  bool read_list(PyObject* list);
  bool read_list_item(PyObject* list, PyObject* index);
  bool read_length(PyObject* list);
  bool note_list_item(PyObject* list, PyObject* items, Py_ssize_t i);
  bool read_type(PyTypeObject* type);
  bool read_cell(PyObject* cell, PyCodeObject* code, int index);
  ObjectGuard guard_of(PyObject* object) const;
  bool read_reference(PyObject* reference);  // a weak one is called
  // Whether `import` with this `__import__` does what CPython does by itself.
  static bool imports_plainly(PyObject* function);
  bool want_import(const std::string& path);
  bool may_be_loaded_early(const std::string& path) const;
  bool before_import_call(PyObject* const* arguments, Py_ssize_t count);
  bool read_attribute(PyObject* owner, PyObject* name);
  bool read_order(PyObject* dict);       // of an OrderedDict
  bool read_items(PyObject* container);  // of a set or a deque
  bool read_view(PyObject* view);        // of a mapping
  void read_field(PyObject* owner, PyObject** field, const char* name);
  // A member that C code declares on the class, as a field; borrowed, nullptr where there is none.
  PyObject* read_member(PyObject* owner, const char* name);
  bool read_subscript(PyObject* container, PyObject* key);
  // What C code may see of an operand: its items, not what is inside of those.
  bool read_contents(PyObject* object);
  // The same for code that compares, formats or hashes, and so looks into containers inside of containers.
  bool read_deep(PyObject* object);
  // `a is b` asks what guards do not tell of constants, which are compared by value.
  bool before_identity(PyObject* a, PyObject* b);
  bool read_identity(PyObject* object);
  bool want_tuple_by_identity(PyObject* stands);
  // An object made here, or a copy that stands for an argument, lies elsewhere in each run: its address may
  // neither be put into words nor hashed.
  bool before_showing(PyObject* object);
  bool before_hashing(PyObject* object);
  bool before_formatting(PyObject* object) { return before_showing(object) && read_deep(object); }
  // A constant that the capture found somewhere: among the arguments, in a container, on an object.
  void note_constant(PyObject* constant, PyObject* parent, PyObject* key) {
    constants_.add(constant, parent, key);
  }
  // A special method of the object's type is about to be used.
  bool read_behaviour(PyObject* object);

  const Domain& domain() const { return domain_; }
  // The capture has symbols: numbers that C code makes of them are replaced by what the domain offers.
  void expect_symbols() { has_symbols_ = true; }
  // Numbers and tensors that changed between calls are read from their place, but for those in
  // `by_identity`. Both outlive the capture.
  void expect_changes(const Varying& varying, const std::unordered_set<PyObject*>& by_identity) {
    varying_ = &varying;
    by_identity_ = &by_identity;
  }
  // The symbol or tracer, or tuple of tracers, that stands in a place (borrowed); nullptr: none does.
  PyObject* stand_in(PyObject* container, PyObject* key) const { return placed_.in(container, key); }
  // Where it stands: a container and a key in it (borrowed); nothing: it is no stand-in.
  PlacedValues::Place place_of(PyObject* stands) const { return placed_.place_of(stands); }

 private:
  static constexpr size_t kLongestSource = 2000;
  // A capture that wrote something keeps the other threads waiting, of which one may be what it waits for.
  static constexpr size_t kMostInstructions = 10'000'000;
  bool before_call(const Instruction& instruction, cpython::Frame* frame, PyObject** sp);
  bool look_through(PyObject*& callable);
  bool look_through_partial(PyObject*& callable);
  bool look_through_dispatch(PyObject*& callable);     // of functools.singledispatch
  static bool is_cached_function(PyObject* callable);  // of functools.lru_cache, or a method of it
  bool follow_call(PyObject*& callable);
  static bool is_followed(PyObject* callable);
  bool before_region_mark();
  bool before_followed_call(PyObject* callable, PyObject* const* arguments, Py_ssize_t count);
  bool before_class_call(PyObject* owner);
  bool stays_as_given(PyObject* argument) const;
  bool is_withheld(PyObject* object);
  void note_raised();
  bool before_number_function(PyObject* function, PyObject* const* arguments, Py_ssize_t count);
  bool read_alias(PyObject* alias);
  bool read_alias_attribute(PyObject* alias, PyObject* name);
  bool before_call_with(PyObject* callable, PyObject* const* arguments, Py_ssize_t count);
  bool before_marked_call(const struct Marked& marked, PyObject* callable, PyObject* const* arguments,
                          Py_ssize_t count);
  // Nothing: a `__call__` that carries no mark.
  std::optional<bool> before_marked_method(PyObject* method, PyObject* self, PyObject* const* arguments,
                                           Py_ssize_t count);
  bool before_native_call(PyObject* callable, PyObject* const* arguments, Py_ssize_t count);
  bool before_class_call(PyTypeObject* type, PyObject* const* arguments, Py_ssize_t count);
  bool before_draw(PyObject* method, std::string_view name, const std::vector<PyObject*>& arguments);
  static std::string text_of_call(PyObject* callable);
  bool before_import(cpython::Frame* frame, PyObject* name, PyObject* level);
  bool before_loading(PyFunctionObject* function, PyObject* name);
  bool read_module(const std::string& path);
  bool package_of(cpython::Frame* frame, int level, std::string& package);

  // --- writes (writes.cpp): journal what can be undone and made again; false: stopped ---
  bool before_write(PyObject* object, const char* what);  // of a kind that only fresh objects allow
  bool before_advancing(PyObject* iterator);
  bool before_replacing(PyObject* old);
  bool before_key_write(PyObject* container, PyObject* key);
  bool before_whole_write(PyObject* container);
  bool before_list_write(PyObject* list, PyObject* index);
  bool before_item_write(PyObject* container, PyObject* key, bool removes);
  bool before_in_place(PyObject* left, PyObject* right, int operation);
  // `value` is nullptr where the attribute is deleted.
  bool before_attribute_write(PyObject* owner, PyObject* name, PyObject* value);
  bool before_plain_attribute_write(PyObject* owner, PyObject* name, PyObject* value);
  bool before_dict_attribute_write(PyObject* dict, PyObject* name, PyObject* value);
  bool before_class_attribute_write(PyTypeObject* type, PyObject* name, PyObject* value);
  bool before_tensor_attribute_write(PyObject* tensor, PyObject* name, PyObject* value);
  bool before_cell_write(PyObject* cell);
  bool before_method_write(std::string_view method, PyObject* const* arguments, size_t count);
  bool before_update(PyObject* dict, PyObject* const* arguments, size_t count);
  bool is_writable(PyObject* object) const { return is_pinned(object) || given_.count(object) != 0; }

  bool read_instance_attribute(PyObject* owner, PyObject* name);
  bool read_object(PyObject* object);
  bool read_super_attribute(PyObject* super, PyObject* name);
  // `owner` is nullptr where the attribute of a class is asked for.
  bool read_attribute_behind(PyObject* after, PyTypeObject* type, PyObject* owner, PyObject* name);
  bool read_through(PyObject* descriptor, PyObject* owner, PyObject* name);
  bool before_intrinsic(int number, PyObject* operand);
  bool read_tensor_attribute(PyObject* tensor, PyObject* name);
  bool read_given_attribute(PyObject* tracer, PyObject* name);
  bool want_by_identity(PyObject* tracer);
  bool read_object_attribute(PyObject* tensor, PyObject* name, PyObject* descriptor);
  bool before_object_attribute_write(PyObject* tensor, PyObject* value, PyObject* descriptor);
  bool before_recorded_write(PyObject* tensor, PyObject* name, PyObject* value);
  // A value that was found on a class or one of its bases.
  void note_class_read(PyObject* name, PyObject* value);
  // Whether a symbol or tracer stands there, or what this run wrote: no guard on the class covers it.
  bool stands_apart(PyTypeObject* type, PyObject* name, PyObject* value);
  PyObject* dict_of_class(PyTypeObject* type);
  void read_class_of(PyObject* object);
  bool read_kind(PyObject* value);
  bool pin_class_attribute(PyTypeObject* type, PyObject* value, PyObject* name);
  bool read_registry();
  bool read_setting(PyObject* function);
  bool before_context_read(PyObject* variable);
  bool read_reduced(PyObject* object);
  bool read_setter(PyObject* owner, PyObject* name);
  void pin_items(PyObject* tuple);
  static bool is_default_dict(PyObject* object);
  bool read_function_attribute(PyObject* function, PyObject* name);
  bool before_subscript(PyObject* container, PyObject* key);
  bool before_with(PyObject* manager);
  bool before_warning(const std::vector<PyObject*>& arguments);
  bool before_lock(NativeEffect effect, PyObject* lock);
  bool is_of_cached_property(PyObject* lock) const;
  bool read_handled_exception();
  bool before_partial(PyObject* partial, PyObject* const* arguments, Py_ssize_t count);
  bool before_cached_call(PyObject* cache, PyObject* const* arguments, Py_ssize_t count);
  bool is_of_this_call(PyObject* object) const;
  bool before_getter(PyObject* getter, PyObject* const* arguments, Py_ssize_t count);
  bool before_match(PyObject* subject, PyObject* type, PyObject* names, int count);
  bool pin_module_function(PyFunctionObject* function);
  bool pin_method(PyFunctionObject* function, PyObject* first_argument);
  bool before_instance_call(PyObject* callable, PyObject* const* arguments, Py_ssize_t count);
  bool before_table_call(const NativeCall& known, PyObject* function, PyObject* self,
                         PyObject* const* arguments, Py_ssize_t count);
  // A frame that stands on an instruction whose result, made natively, is still to come.
  struct Pending {
    enum Kind : uint8_t {
      plain,
      made,   // C code makes the result now, whoever else holds it
      cached  // a cache holds it
    };
    cpython::Frame* frame;
    Kind kind;
    Ref<> instead;  // what captured code is to see, if it is something else
    int depth = 1;  // where it lies, counted from the top of the stack
  };
  void note_result(PyObject* result, bool made = false);
  bool note_cached_result(PyObject* result);
  void end_pause();
  void expect_result(Pending::Kind kind = Pending::plain) { pending_.push_back({frame_, kind, {}, 1}); }

  bool take_pending(PyObject** sp);
  uint32_t add_source(PyObject* object, SourceTexts& texts);
  // Where C code returned a symbolic number: what captured code is to see of it.
  void see_symbols(PyObject*& result);
  bool use_number(PyObject*& operand);
  bool follow_cached(PyObject*& callable, PyObject** arguments, PyObject** end);
  bool before_symbols_are_given(PyObject*& callable, PyObject** arguments, PyObject** end);
  bool look_among_keys(PyObject*& container, PyObject* symbol);
  bool use_numbers(const Instruction& instruction, cpython::Frame* frame, PyObject** sp);
  bool see_place(PyObject* container, PyObject* key, PyObject* value);
  bool see_number(PyObject* container, PyObject* key, PyObject* value, const std::string& name);
  bool see_tuple(PyObject* container, PyObject* key, PyObject* value, const std::string& name);
  bool may_be_placed(PyObject* value) const;
  Ref<> placed_tracer(PyObject* value, const std::string& name, std::unique_ptr<TensorGuard>& guard);
  Ref<> placed_part(PyObject* value, const std::string& name, TupleItemGuard::Part& part);
  bool see_tensor(PyObject* container, PyObject* key, PyObject* value, const std::string& name);
  bool place(PyObject* container, PyObject* key, PyObject* value, Ref<> stands);

  const Domain& domain_;
  DomainCapture& capture_;
  GuardSet& guards_;
  UserStack& stack_;
  CaptureStop stop_;
  bool has_symbols_ = false;
  const Varying* varying_ = nullptr;
  std::string wanted_import_;
  const std::unordered_set<PyObject*>* by_identity_ = nullptr;
  PlacedValues placed_;
  GivenTensors given_tensors_;
  std::unordered_map<PyObject*, PyObject*> given_functions_;  // and their cells, to the real function
  std::unordered_set<PyObject*> wanted_by_identity_;
  std::unordered_set<PyObject*> looked_at_;
  ClassReads classes_;
  std::unordered_set<PyObject*> fresh_;
  std::unordered_set<PyObject*> given_;
  PyFunctionObject* proven_function_ = nullptr;
  std::unordered_set<PyObject*> proven_cells_;
  std::unordered_set<PyTypeObject*> constructed_;  // classes of the program's that were called
  std::vector<Ref<>> kept_;                        // keeps addresses of fresh objects from being used again
  std::unordered_map<PyObject*, Origin> pinned_;
  ConstantPlaces constants_;
  int fewest_levels_ = std::numeric_limits<int>::max();
  // `guarded`: in each of them a guard can ask for the very object.
  size_t places_of(PyObject* constant, bool& guarded) const;
  Journal journal_;
  std::unordered_map<PyObject*, uint32_t> source_numbers_;
  std::vector<Pending> pending_;
  PyObject** stored_ = nullptr;  // where the value lies that an instruction is about to write
  // A function that is executed, not captured, and the cache from which its result will come.
  std::unique_ptr<PausedCapture> pause_;
  Py_ssize_t keywords_ = 0;  // of the call that is looked at: so many of its last arguments have names
  CachedCalls cached_;
  PyObject* given_new_object_ = nullptr;  // a function whose first argument C code makes for it
  HeldLocks locks_;
  const bool handles_at_entry_ = static_cast<bool>(Ref<>::steal(PyErr_GetHandledException()));
  std::unordered_set<size_t> identities_;  // numbers that id() gave for objects made here
  size_t instructions_ = 0;
  std::optional<uint64_t> writes_before_region_;
  int following_ = 0;  // above zero in a forward that every run makes by itself
  cpython::Frame* frame_ = nullptr;
  const cpython::Frame* first_frame_ = nullptr;
  const Instruction* at_ = nullptr;
};

}  // namespace stator

#endif
