// capture/recording/instruction_steps.cpp: the words of opcodes.def, operators.def and intrinsics.def.
#include "capture/recording/instruction_steps.h"

#include <iterator>

#include "capture/bytecode/arguments.h"
#include "capture/cpython/python_class.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/context_managers.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/frame_states.h"
#include "capture/recording/imports.h"
#include "capture/recording/indirect_calls.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/native_callbacks.h"
#include "capture/recording/reads.h"
#include "capture/recording/results.h"
#include "capture/recording/unread_value.h"

namespace stator::steps {

bool stops(const InstructionAt& at) {
  return stop(at.recording, BreakCode::kOpcode, opcode_name(at.instruction.opcode));
}

bool makes(const InstructionAt& at) {
  expect_result(at.recording);
  return true;
}

// Code keeps its constants: a tuple among them is the same object in every run, not one made here.
bool load_constant(const InstructionAt& at) {
  static PyObject* const name = PyUnicode_InternFromString("constant");
  PyObject* const constant = PyTuple_GET_ITEM(at.frame->code->co_consts, at.argument());
  if (PyTuple_CheckExact(constant) || PyFrozenSet_CheckExact(constant))
    pin(at.recording, constant, {Origin::root, nullptr, Ref<>::share(name)});
  return true;
}

bool load_global(const InstructionAt& at) {
  PyObject* const key = at.name(global_name(at.argument()));
  PyObject *const globals = at.frame->globals, *const builtins = at.frame->builtins;
  if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(builtins))
    return stop(at.recording, BreakCode::kUnguardable, "globals or builtins that are no plain dictionary");
  if (!read_dict_item(at.recording, globals, key)) return false;
  return PyDict_GetItemWithError(globals, key) != nullptr || read_dict_item(at.recording, builtins, key);
}

bool store_global(const InstructionAt& at) {
  if (!is_known(at.recording, at.frame->globals))
    return before_write(at.recording, at.frame->globals, "a global variable");
  return before_key_write(at.recording, at.frame->globals, at.name(at.argument()));
}

bool delete_global(const InstructionAt& at) {
  if (!is_known(at.recording, at.frame->globals))
    return before_write(at.recording, at.frame->globals, "a global variable");
  return before_whole_write(at.recording, at.frame->globals);
}

bool load_cell(const InstructionAt& at) {
  return read_cell(at.recording, at.frame->localsplus[at.argument()], at.frame->code, at.argument());
}

bool store_cell(const InstructionAt& at) {
  return before_region_write(at.recording, at.frame, static_cast<int>(at.argument())) &&
         before_cell_write(at.recording, at.frame->localsplus[at.argument()]);
}

bool load_attribute(const InstructionAt& at) {
  return read_attribute(at.recording, at.top(1), at.name(at.argument()));
}

bool load_super_attribute(const InstructionAt& at) {
  PyObject *const object = at.top(1), *const after = at.top(2);
  if (!PyType_Check(after)) return true;  // raises
  auto* const type = reinterpret_cast<PyTypeObject*>(object);
  const bool by_class =
      PyType_Check(object) && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(after));
  return read_attribute_behind(at.recording, after, by_class ? type : Py_TYPE(object),
                               by_class ? nullptr : object, at.name(super_name(at.argument())));
}

bool store_attribute(const InstructionAt& at) {
  at.recording.stored = &at.top(2);
  return before_attribute_write(at.recording, at.top(1), at.name(at.argument()), at.top(2));
}

bool delete_attribute(const InstructionAt& at) {
  return before_attribute_write(at.recording, at.top(1), at.name(at.argument()), nullptr);
}

// An operator of operators.def: how far it looks into each operand, and what its in-place form does to a
// list.
struct OperatorSteps {
  OperandStep left, right;
  OnList on_list;
};

static const OperatorSteps& steps_of(BinaryOperator which) {
  using enum OnList;
  static const OperatorSteps all[] = {
#define OPERATOR(name, operation, in_place, left, right, on_list) {left(2), right(1), on_list},
#include "capture/bytecode/operators.def"
  };
  return all[static_cast<int>(which)];
}

bool binary_operation(const InstructionAt& at) {
  const OperatorSteps& each = steps_of(operator_of(at.argument()));
  note_operands(at.recording, at.top(2), at.top(1));
  if (is_in_place(at.argument())) {
    if (!before_in_place(at.recording, at.top(2), at.top(1), each.on_list)) return false;
    // What is relied on of the left one is guarded already.
    if (at.recording.journal.find(at.top(2)) != nullptr) return each.right(at);
  }
  return each.left(at) && each.right(at);
}

bool subscript(const InstructionAt& at) {
  note_key(at.recording, at.top(2), at.top(1));
  return read_index(at.recording, at.top(2), at.top(1)) &&
         before_subscript(at.recording, at.top(2), at.top(1));
}

// The value of an item or slice that is stored: a reference to it, but tensors and C containers take its
// contents over, and so does a slice of a list.
static bool read_stored(Recording& recording, PyObject* container, bool is_slice, PyObject* value) {
  if (recording.domain.is_tensor(container)) return read_deep(recording, value);
  if (PyList_Check(container)) return !is_slice || read_contents(recording, value);
  PyTypeObject* const type = Py_TYPE(container);
  const bool keeps_references =
      PyDict_Check(container) || cpython::is_python_class(type) || is_deque(container);
  return keeps_references || read_contents(recording, value);
}

bool store_item(const InstructionAt& at) {
  PyObject *const value = at.top(3), *const container = at.top(2), *const key = at.top(1);
  note_key(at.recording, container, key);
  return read_index(at.recording, container, key) &&
         read_stored(at.recording, container, PySlice_Check(key), value) &&
         before_item_write(at.recording, container, key, false, value);
}

bool delete_item(const InstructionAt& at) {
  note_key(at.recording, at.top(2), at.top(1));
  return read_index(at.recording, at.top(2), at.top(1)) &&
         before_item_write(at.recording, at.top(2), at.top(1), true);
}

bool slice(const InstructionAt& at) {
  const auto bounds = Ref<>::steal(PySlice_New(at.top(2), at.top(1), nullptr));
  return bounds && read_index(at.recording, at.top(3), bounds.get()) &&
         before_subscript(at.recording, at.top(3), bounds.get());
}

bool store_slice(const InstructionAt& at) {
  PyObject *const value = at.top(4), *const container = at.top(3);
  if (!read_stored(at.recording, container, true, value)) return false;
  if (at.recording.domain.is_tensor(container)) return true;
  if (!PyList_CheckExact(container) || !is_writable(at.recording, container))
    return before_write(at.recording, container, "a slice");
  const auto bounds = Ref<>::steal(PySlice_New(at.top(2), at.top(1), nullptr));
  return bounds && before_item_write(at.recording, container, bounds.get(), false, value);
}

bool compare_identity(const InstructionAt& at) { return before_identity(at.recording, at.top(2), at.top(1)); }

bool contains(const InstructionAt& at) {
  PyObject *const item = at.top(2), *const container = at.top(1);
  if (PyDict_Check(container) || Py_IS_TYPE(container, &PyDictProxy_Type) ||
      is_argument_set(at.recording, container))
    return read_hashed(at.recording, item) && read_subscript(at.recording, container, item);
  return read_deep(at.recording, container) && read_deep(at.recording, item);
}

// Keys of a dictionary are all that its iterator gives.
bool iterate(const InstructionAt& at) {
  return PyDict_Check(at.top(1)) ? read_moved(at.recording, at.top(1))
                                 : read_contents(at.recording, at.top(1));
}

bool build_set(const InstructionAt& at) {
  for (int i = 1; i <= at.argument(); i++) {
    if (!read_hashed(at.recording, at.top(i))) return false;
  }
  return true;
}

bool build_map(const InstructionAt& at) {
  for (int i = 1; i <= at.argument(); i++) {
    if (!read_hashed(at.recording, at.top(2 * i))) return false;
  }
  return true;
}

// The containers of displays and comprehensions lie on the stack while they are filled. A capture that began
// meanwhile has not made them.
bool append_item(const InstructionAt& at) {
  PyObject* const filled[] = {at.top(at.argument() + 1), at.top(1)};
  return before_method_write(at.recording, "append", filled, 2);
}

bool add_member(const InstructionAt& at) {
  PyObject* const filled[] = {at.top(at.argument() + 1), at.top(1)};
  return before_method_write(at.recording, "add", filled, 2);
}

bool add_pair(const InstructionAt& at) {
  PyObject* const filled[] = {at.top(at.argument() + 2), at.top(2), at.top(1)};
  return before_method_write(at.recording, "__setitem__", filled, 3);
}

bool update_below(const InstructionAt& at) {
  return before_whole_write(at.recording, at.top(at.argument() + 1));
}

bool format_value(const InstructionAt& at) {
  const int conversion = conversion_of(at.argument());
  const bool as_text = conversion == 0 || conversion == 1;  // none, or `!s`
  return before_formatting(at.recording, at.top(has_format_spec(at.argument()) ? 2 : 1), as_text);
}

// The list that is made lies below what comes before it.
bool unpack_around(const InstructionAt& at) {
  at.recording.pending.back().depth = unpacked_before(at.argument()) + 1;
  return true;
}

bool call(const InstructionAt& at) { return before_call(at.recording, at.instruction, at.frame, at.sp); }

bool call_intrinsic(const InstructionAt& at) {
  switch (static_cast<Intrinsic>(at.argument())) {
#define INTRINSIC(name, ...) \
  case Intrinsic::name:      \
    return take(at, __VA_ARGS__);
#include "capture/bytecode/intrinsics.def"
  }
  return stops(at);
}

// One that the frame held where the capture took it up: what it is, nobody asks.
static bool is_own_exception(const InstructionAt& at, int operand) {
  return !is_unread_exception(at.top(operand)) ||
         stop(at.recording, BreakCode::kException, "an exception that was raised before");
}

bool match_exception(const InstructionAt& at) { return is_own_exception(at, 2); }

// Of the handler in which the capture began: what was handled around it is handled again.
bool end_handler(const InstructionAt& at) {
  return !is_unread(at.top(1)) || leave_handler(at.recording, at.top(1));
}

// An exception that existed before gets a traceback and a context by being raised: a write that is not
// journaled.
bool raise(const InstructionAt& at) {
  if (at.argument() == 0) {  // the one that is handled, again
    if (!handles_own_exception(at.recording))
      return stop(at.recording, BreakCode::kException,
                  "an exception that was handled before is raised again");
    return Ref<>::steal(PyErr_GetHandledException()) || read_handled_exception(at.recording);
  }
  for (int i = 1; i <= at.argument(); i++) {
    if (!is_own_exception(at, i)) return false;
  }
  PyObject* const raised = at.top(at.argument());
  if (PyType_Check(raised)) return read_class(at.recording, raised) && read_contents(at.recording, raised);
  return !is_pinned(at.recording, raised) || before_write(at.recording, raised, "the traceback");
}

bool reraise(const InstructionAt& at) {
  if (!is_own_exception(at, 1)) return false;
  return !is_pinned(at.recording, at.top(1)) || before_write(at.recording, at.top(1), "the traceback");
}

bool enter_context(const InstructionAt& at) {
  read_class_of(at.recording, at.top(1));
  return before_with(at.recording, at.top(1));
}

// The context manager is told of an exception with its traceback, which the run has made: raising an
// exception that existed before ends the capture. Its method is called as any callable is: one that was
// entered before the capture began has not been looked at.
bool leave_by_error(const InstructionAt& at) {
  if (!is_own_exception(at, 1)) return false;
  PyObject* const exception = at.top(1);
  const auto traceback = Ref<>::steal(PyException_GetTraceback(exception));
  if (traceback && !is_pinned(at.recording, exception)) make_fresh(at.recording, traceback.get());
  PyObject* const given[] = {reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception,
                             traceback ? traceback.get() : Py_None};
  at.recording.slots = {};
  at.recording.keywords = 0;
  return before_call_with(at.recording, at.top(4), given, std::size(given));
}

bool import_name(const InstructionAt& at) {
  return before_import(at.recording, at.frame, at.name(at.argument()), at.top(2));
}

// Where the module lacks the attribute, the import system is asked for a submodule of that name.
bool import_from(const InstructionAt& at) {
  PyObject *const module = at.top(1), *const name = at.name(at.argument());
  if (!read_attribute(at.recording, module, name)) return false;
  if (!PyModule_Check(module) || PyDict_GetItemWithError(PyModule_GetDict(module), name) != nullptr)
    return true;
  static PyObject* const fallback = PyUnicode_InternFromString("__getattr__");
  return PyDict_GetItemWithError(PyModule_GetDict(module), fallback) != nullptr || stops(at);
}

// Each key is looked up with the mapping's own get().
bool match_keys(const InstructionAt& at) {
  PyObject *const keys = at.top(1), *const mapping = at.top(2);
  if (!PyTuple_CheckExact(keys)) return true;  // raises
  if (!PyDict_CheckExact(mapping) && Py_TYPE(mapping)->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    static PyObject* const get = PyUnicode_InternFromString("get");
    if (!read_attribute(at.recording, mapping, get)) return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
    PyObject* const key = PyTuple_GET_ITEM(keys, i);
    if (!read_hashed(at.recording, key) || !read_subscript(at.recording, mapping, key)) return false;
  }
  return read_class(at.recording, mapping);
}

bool match_class(const InstructionAt& at) {
  return read_class(at.recording, at.top(3)) &&
         before_match(at.recording, at.top(3), at.top(2), at.top(1), at.argument());
}

}  // namespace stator::steps
