// capture/program/rebuild.h: how the objects that a captured function made, and that outlive it, are made
// again on every call.
#ifndef STATOR_CAPTURE_PROGRAM_REBUILD_H
#define STATOR_CAPTURE_PROGRAM_REBUILD_H

#include <optional>
#include <unordered_map>
#include <vector>

#include "capture/arguments/argument_paths.h"
#include "capture/recording/recording.h"

namespace stator {

// What is returned and what is written to older objects. An object that occurs twice is made once; objects
// may contain each other.
class Rebuild {
 public:
  // While a capture is described.
  struct Capture {
    Recording& recording;
    std::vector<PyObject*>& tensors;  // receives the outputs that the tensor program must have (borrowed)
    std::unordered_map<PyObject*, size_t> made;
    std::unordered_map<PyObject*, size_t> owners;  // of dictionaries of attributes: the instance's step
    size_t inside = 0;                             // of so many objects lies what is described
  };
  static constexpr size_t kStopped = SIZE_MAX;
  // Where the part of the arguments stands that this object stands for, read or not; nothing: it is none.
  static std::optional<ArgumentPath> path_behind(const Recording& recording, PyObject* value);
  // The step that makes `value`; kStopped: the capture is stopped.
  size_t add(PyObject* value, Capture& capture);

  // Makes every object: values[i] is what step i stands for. `tensors` are the outputs of the tensor program.
  // False with an error set.
  bool make(const std::vector<Ref<>>& tensors, PyObject* const* arguments, std::vector<Ref<>>& values) const;

 private:
  size_t describe(PyObject* value, Capture& capture);
  bool is_made_late(size_t step) const {
    return steps_[step].kind == Kind::iterator || steps_[step].kind == Kind::table_iterator;
  }
  enum class Kind : uint8_t {
    tensor,
    number,
    object,
    pinned,
    placed,
    given,
    tuple,
    frozenset,
    method,
    builtin,
    list,
    dict,
    set,
    instance,
    attributes,
    function,
    cell,
    partial,
    alias,
    union_of,
    iterator,
    table_iterator,
    exception
  };
  struct Step {
    Kind kind;
    size_t tensor = 0;
    // object: itself; instance, tuple, partial: the class; dict: what is the same on every call; function:
    // code; placed: the key
    Ref<> object;
    // borrowed: the guards prove it, and nothing is kept that the program dropped; of a function: its
    // globals; placed: the container
    PyObject* pinned = nullptr;
    newfunc construct = nullptr;      // tuple: of its class; instance: of the class that holds its items
    PyTypeObject* storage = nullptr;  // what fills it: list, dict, OrderedDict, set; or nothing
    ArgumentPath path;                // given
    std::vector<size_t> parts;        // steps of the items; of a dictionary: keys and values in turn
    // instance: the step of its dictionary, where that is known by itself; iterator: its state
    size_t attributes = SIZE_MAX;
    struct Field {
      Ref<> name;
      size_t content;
      Py_ssize_t index;  // among the values of an instance, or -1
    };
    std::vector<Field> fields;                       // instance: its attributes, otherwise
    std::optional<cpython::SetLayout> layout;        // set, frozenset: where adding its items gives another
    std::vector<std::pair<Ref<>, size_t>> slots;     // instance: member descriptors and their values
    std::vector<std::pair<size_t, size_t>> members;  // function: offsets of its fields, and their values
  };
  bool add_parts(size_t step, PyObject* value, Capture& capture);
  bool add_instance(size_t step, PyObject* value, Capture& capture);
  bool add_slot(size_t step, PyObject* value, PyObject* descriptor, Capture& capture);
  bool add_attributes(size_t step, PyObject* value, Capture& capture);
  bool add_cell(size_t step, PyObject* cell, Capture& capture);
  bool add_function(size_t step, PyObject* function, Capture& capture);
  bool add_partial(size_t step, PyObject* partial, Capture& capture);
  bool add_annotation(size_t step, PyObject* value, Capture& capture);
  bool add_iterator(size_t step, PyObject* value, Capture& capture);
  bool add_walk(size_t step, PyObject* value, Capture& capture);
  bool add_exception(size_t step, PyObject* value, Capture& capture);
  static bool is_iterator(PyObject* value, const Recording& recording);
  static bool is_new_exception(PyObject* value);
  static bool is_partial(const PyTypeObject* type);
  bool add_tensor_attributes(size_t step, PyObject* value, Capture& capture);
  void keep_constants(size_t step);
  Ref<> make_shell(const Step& step, const std::vector<Ref<>>& tensors, PyObject* const* arguments) const;
  Ref<> make_whole(const Step& step, const std::vector<Ref<>>& values) const;
  static Ref<> make_function(const Step& step);
  static Ref<> make_partial(const Step& step);
  static Ref<> make_annotation(const Step& step, const std::vector<Ref<>>& values);
  static Ref<> make_iterator(const Step& step, const std::vector<Ref<>>& values);
  static Ref<> make_exception(const Step& step, const std::vector<Ref<>>& values);
  static bool fill_set(const Step& step, PyObject* set, const std::vector<Ref<>>& values);
  static void fill_function(const Step& step, PyObject* function, const std::vector<Ref<>>& values);
  static bool fill_partial(const Step& step, PyObject* partial, const std::vector<Ref<>>& values);
  bool fill(const Step& step, PyObject* shell, const std::vector<Ref<>>& values) const;

  std::vector<Step> steps_;
  std::vector<size_t> whole_;   // steps that need their parts first, in the order in which they can be made
  std::vector<size_t> filled_;  // steps that are made empty and filled later
  std::vector<size_t> iterators_;   // made last, those first that others walk through
  std::vector<size_t> attributed_;  // instances that take over a dictionary, once every one is filled
};

}  // namespace stator

#endif
