// capture/recording/calls.cpp: what a call may do is decided before it is made.
#include "capture/recording/calls.h"

#include <algorithm>

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/method_wrapper.h"
#include "capture/cpython/module_attribute.h"
#include "capture/cpython/traits.h"
#include "capture/cpython/type_dict.h"
#include "capture/interpreter/calls.h"
#include "capture/policy/native_table.h"
#include "capture/recording/argument_operands.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/class_calls.h"
#include "capture/recording/contents.h"
#include "capture/recording/context_managers.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/identities.h"
#include "capture/recording/imports.h"
#include "capture/recording/indirect_calls.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/late_calls.h"
#include "capture/recording/mark.h"
#include "capture/recording/marked_calls.h"
#include "capture/recording/native_callbacks.h"
#include "capture/recording/random_numbers.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/results.h"
#include "capture/recording/symbols.h"
#include "capture/recording/table_calls.h"
#include "capture/recording/tensor_attributes.h"
#include "capture/recording/wrappers.h"
#include "capture/recording/writes.h"

namespace stator {

// A capture that took up a frame may leave a mode that was entered before, which cannot be undone.
static bool may_change_modes(Recording& recording) {
  recording.last_mode_call = recording.end.now.number;
  return !recording.takes_up_frame ||
         stop(recording, BreakCode::kUnsupportedMode, "a mode is entered or left behind a break");
}

static bool before_instance_call(Recording& recording, PyObject* callable, PyObject* const* arguments,
                                 Py_ssize_t count);

using cpython::Frame;

bool is_cached_function(PyObject* callable) {
  if (Py_IS_TYPE(callable, &PyMethod_Type)) callable = PyMethod_GET_FUNCTION(callable);
  return std::string_view(Py_TYPE(callable)->tp_name) == "functools._lru_cache_wrapper";
}

bool before_call(Recording& recording, const Instruction& instruction, Frame* frame, PyObject** sp) {
  CallSlots& slots = recording.slots;
  slots = {frame, &instruction, nullptr, nullptr, nullptr, 0, std::move(slots.names)};
  slots.names.clear();
  const auto take_names = [&](PyObject* names) {
    recording.keywords = PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < recording.keywords; i++) slots.names.push_back(PyTuple_GET_ITEM(names, i));
  };
  recording.keywords = 0;
  if (instruction.keywords >= 0) take_names(PyTuple_GET_ITEM(frame->code->co_consts, instruction.keywords));
  if (instruction.opcode == Opcode::CALL_FUNCTION_EX) {
    const bool has_keywords = (instruction.argument & 1) != 0;
    PyObject*& callable = sp[(has_keywords ? -4 : -3) + (cpython::kCallableBelowSelf ? 0 : 1)];
    PyObject** const slot = &sp[has_keywords ? -2 : -1];
    look_at_arguments(recording, callable, slot, 1);  // that of all: what it is a tuple or list of
    if (!look_through(recording, callable) || !read_call_operands(recording, callable, slot, sp))
      return false;
    // C code is given them read, by read_call_operands.
    const auto read = hands_to_python(callable) ? &read_moved : &read_contents;
    if (!read(recording, *slot) || (has_keywords && !read(recording, sp[-1]))) return false;
    if (!PyTuple_CheckExact(*slot)) {
      // Anything else is made a tuple by the call; done here, its items can be looked at before.
      if (Py_TYPE(*slot)->tp_iter == nullptr && !PySequence_Check(*slot))
        return stop(recording, BreakCode::kException, "star arguments that are no iterable");
      if (PyIter_Check(*slot) && !before_advancing(recording, *slot)) return false;
      auto tuple = Ref<>::steal(PySequence_Tuple(*slot));
      if (!tuple) return false;
      recording.frame = frame;  // frames of a generator came and went
      recording.at = &instruction;
      Py_SETREF(*slot, tuple.release());
    }
    std::vector<PyObject*> all;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(*slot); i++) all.push_back(PyTuple_GET_ITEM(*slot, i));
    if (has_keywords && PyDict_Check(sp[-1])) {
      recording.keywords = PyDict_GET_SIZE(sp[-1]);
      PyObject *key, *value;
      Py_ssize_t position = 0;
      while (PyDict_Next(sp[-1], &position, &key, &value)) {
        all.push_back(value);
        slots.names.push_back(key);
      }
      slots.dict = &sp[-1];
    }
    slots.tuple = slot;
    slots.count = static_cast<Py_ssize_t>(all.size());
    return before_call_with(recording, callable, all.data(), static_cast<Py_ssize_t>(all.size()));
  }
  if (instruction.opcode == Opcode::CALL_KW) take_names(*--sp);
  PyObject** const base = sp - instruction.argument - 2;
  const bool has_self = cpython::kCallableBelowSelf ? base[1] != nullptr : base[0] != nullptr;
  PyObject*& callable = cpython::kCallableBelowSelf || has_self ? base[0] : base[1];
  PyObject** const arguments = has_self ? base + 1 : base + 2;
  if ((recording.has_symbols || recording.capture.has_symbols()) &&
      !before_symbols_are_given(recording, callable, arguments, sp))
    return false;
  slots.values = arguments;
  slots.count = sp - arguments;
  look_at_arguments(recording, callable, arguments, sp - arguments);
  return look_through(recording, callable) && read_call_operands(recording, callable, arguments, sp) &&
         before_call_with(recording, callable, arguments, sp - arguments);
}

bool before_call_with(Recording& recording, PyObject* callable, PyObject* const* arguments,
                      Py_ssize_t count) {
  if (Py_IS_TYPE(callable, &PyMethod_Type)) {
    PyObject* function = PyMethod_GET_FUNCTION(callable);
    PyObject* self = PyMethod_GET_SELF(callable);
    if (is_pinned(recording, callable)) {
      pin(recording, function, {Origin::attribute, callable, Ref<>::steal(PyUnicode_FromString("__func__"))});
      pin(recording, self, {Origin::attribute, callable, Ref<>::steal(PyUnicode_FromString("__self__"))});
    }
    std::vector<PyObject*> all{self};
    all.insert(all.end(), arguments, arguments + count);
    return before_call_with(recording, function, all.data(), count + 1);
  }
  if (is_python_function(callable)) return true;  // its frame is entered, and asked for then
  if (const Marked marked = mark_of(callable); marked.mark != Mark::none)
    return before_marked_call(recording, marked, callable, arguments, count);
  expect_result(recording);
  if (PyType_Check(callable) || PyCFunction_Check(callable) || Py_IS_TYPE(callable, &PyMethodDescr_Type) ||
      Py_IS_TYPE(callable, &PyWrapperDescr_Type) || cpython::is_method_wrapper(callable)) {
    return before_native_call(recording, callable, arguments, count);
  }
  return before_instance_call(recording, callable, arguments, count);
}

static bool is_standard_stream(PyObject* object) {
  return object == PySys_GetObject("stdout") || object == PySys_GetObject("stderr");
}

// Every run writes to it; nothing keeps it alive. Another stream that comes to lie at its address is noticed.
static bool read_stream(Recording& recording, PyObject* stream) {
  auto reference = Ref<>::steal(PyWeakref_NewRef(stream, nullptr));
  if (!reference) {
    drop_error();
    return stop(recording, BreakCode::kUnguardable, "a stream without weak references");
  }
  PyObject** const field = &reinterpret_cast<PyWeakReference*>(reference.get())->wr_object;
  recording.guards.keep(reference.get());
  recording.guards.add(FieldGuard{field, "object", expect(stream)}, stream);
  return true;
}

static bool read_written(Recording& recording, PyObject* const* arguments, Py_ssize_t count) {
  return std::all_of(arguments, arguments + count, [&](PyObject* argument) {
    return is_standard_stream(argument) ? read_stream(recording, argument) : read_deep(recording, argument);
  });
}

// What the function is bound to that writes: a partial with the stream, or a plain function.
static bool read_bound_stream(Recording& recording, PyObject* callable) {
  PyObject* const make = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
  if (make == nullptr || !is_partial(make)) return true;
  const auto given = Ref<>::steal(PyObject_GetAttrString(make, "args"));
  return given && PyTuple_Check(given.get()) &&
         read_written(recording, PySequence_Fast_ITEMS(given.get()), PyTuple_GET_SIZE(given.get()));
}

// By C code of the domain, which looks at what code of the program's gives it too: a sequence of some class
// is asked for its items.
static bool read_all(Recording& recording, PyObject* const* arguments, Py_ssize_t count,
                     Given given = Given::looked_at) {
  note_use(recording, given);
  return std::all_of(arguments, arguments + count,
                     [&](PyObject* argument) { return read_deep(recording, argument); });
}

// An object with __call__: where that is a Python function of its class, the class is what must stay.
static bool before_instance_call(Recording& recording, PyObject* callable, PyObject* const* arguments,
                                 Py_ssize_t count) {
  static PyObject* const call_name = PyUnicode_InternFromString("__call__");
  PyTypeObject* type = Py_TYPE(callable);
  const CallPolicy policy = recording.domain.classify(callable);
  if (policy == CallKind::modes && !may_change_modes(recording)) return false;
  if (policy == CallKind::pure || policy == CallKind::tensor || policy == CallKind::modes)
    return read_all(recording, arguments, count);
  if (policy == CallKind::refused) return stop(recording, policy.reason, type->tp_name);
  PyObject* method = _PyType_Lookup(type, call_name);
  if (method != nullptr && type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    if (const std::optional<bool> marked =
            before_marked_method(recording, method, callable, arguments, count))
      return *marked;
  }
  if (method != nullptr && is_python_function(method) && type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    if (!is_known(recording, callable))
      return stop(recording, BreakCode::kUnguardable,
                  std::string("an object of unknown origin is called (") + type->tp_name + ")");
    if (!read_type(recording, type)) return false;
    pin(recording, method, {Origin::attribute, reinterpret_cast<PyObject*>(type), Ref<>::share(call_name)});
    return true;
  }
  const std::string_view name = type->tp_name;
  if (name == "functools.partial") return before_partial(recording, callable, arguments, count);
  if (is_cached_function(callable)) return before_cached_call(recording, callable, arguments, count);
  if (name == "operator.itemgetter" || name == "operator.attrgetter" || name == "operator.methodcaller")
    return before_getter(recording, callable, arguments, count);
  if (PyWeakref_CheckRefExact(callable)) return read_reference(recording, callable);
  // What functools.cmp_to_key gave: it keeps its argument.
  if (name == "functools.KeyWrapper" && is_fresh(recording, callable)) return true;
  if (name == "numpy.ufunc") return before_number_function(recording, callable, arguments, count);
  if (draws_random_numbers(callable)) return stop(recording, BreakCode::kRandomState, text_of_call(callable));
  return stop(recording, BreakCode::kUnknownFunction, std::string("a ") + type->tp_name + " is called");
}

std::string text_of_call(PyObject* callable) {
  auto text = Ref<>::steal(_PyObject_FunctionStr(callable));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 == nullptr) drop_error();
  std::string shown = utf8 != nullptr ? utf8 : Py_TYPE(callable)->tp_name;
  // pybind11 gives its functions a class, with a name that says nothing.
  if (const size_t record = shown.find("pybind11_detail_function_record"); record != std::string::npos)
    shown.erase(record, shown.find('.', record) + 1 - record);
  return shown;
}

// The descriptor behind a method of `owner` that is implemented by `method`, where a class of its defines it
// so.
static PyObject* descriptor_of(PyObject* owner, PyObject* name, const PyMethodDef* method) {
  PyObject* mro = Py_TYPE(owner)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); i++) {
    PyObject* found = cpython::own_attribute(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i)), name);
    if (found != nullptr && Py_IS_TYPE(found, &PyMethodDescr_Type) &&
        reinterpret_cast<PyMethodDescrObject*>(found)->d_method == method) {
      return found;
    }
  }
  return nullptr;
}

// The descriptor or function behind a bound C method, and what it is bound to.
static PyObject* unbound(PyObject* callable, PyObject** self, Ref<>& kept) {
  *self = nullptr;
  const bool is_wrapper = cpython::is_method_wrapper(callable);
  if (!is_wrapper && !PyCFunction_Check(callable)) return callable;
  kept = Ref<>::steal(PyObject_GetAttrString(callable, "__self__"));
  auto name = Ref<>::steal(PyObject_GetAttrString(callable, "__name__"));
  PyObject* owner = kept.get();
  if (owner == nullptr || !name || (!is_wrapper && PyModule_Check(owner))) {
    drop_error();
    return callable;
  }
  PyObject* found = nullptr;
  if (is_wrapper) {
    auto holder = Ref<>::steal(PyObject_GetAttrString(callable, "__objclass__"));
    if (holder) found = cpython::own_attribute(reinterpret_cast<PyTypeObject*>(holder.get()), name.get());
  } else if (PyType_Check(owner)) {
    found = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(owner), name.get());  // class methods and __new__
    if (found != nullptr && PyFunction_Check(found)) found = nullptr;
  }
  if (found == nullptr && !is_wrapper)
    found = descriptor_of(owner, name.get(), reinterpret_cast<PyCFunctionObject*>(callable)->m_ml);
  drop_error();
  if (found == nullptr) return callable;
  *self = owner;
  return found;
}

bool before_native_call(Recording& recording, PyObject* callable, PyObject* const* arguments,
                        Py_ssize_t count) {
  if (is_followed(callable)) return before_followed_call(recording, callable, arguments, count);
  if (is_late_call(callable)) return before_late_call(recording, arguments, count);
  Ref<> kept;
  PyObject* self;
  PyObject* function = unbound(callable, &self, kept);
  if (self != nullptr && is_pinned(recording, callable))
    pin(recording, self, {Origin::attribute, callable, Ref<>::steal(PyUnicode_FromString("__self__"))});
  static PyObject* const call_of_type =
      cpython::own_attribute(&PyType_Type, Ref<>::steal(PyUnicode_InternFromString("__call__")).get());
  if (function == call_of_type) {
    // super().__call__ of a metaclass: the class is called as anywhere.
    if (self == nullptr && count > 0) {
      self = arguments[0];
      arguments++;
      count--;
    }
    if (self != nullptr && PyType_Check(self)) return before_native_call(recording, self, arguments, count);
  }
  if (self != nullptr && Py_IS_TYPE(function, &PyWrapperDescr_Type) &&
      PyExceptionClass_Check(reinterpret_cast<PyObject*>(PyDescr_TYPE(function)))) {
    const bool writes = PyUnicode_CompareWithASCIIString(PyDescr_NAME(function), "__init__") == 0;
    const NativeCall row =
        writes ? NativeCall{NativeEffect::writes_self, kNothing} : NativeCall{NativeEffect::reads};
    return before_table_call(recording, row, function, self, arguments, count);
  }
  if (const NativeCall* known = find_native_call(function))
    return before_table_call(recording, *known, function, self, arguments, count);
  if (self != nullptr) {
    if (const NativeCall* known = find_native_call(callable))
      return before_table_call(recording, *known, callable, nullptr, arguments, count);
  }
  const CallPolicy policy = recording.domain.classify(callable);
  switch (policy.kind) {
    case CallKind::modes:
      return may_change_modes(recording) && read_all(recording, arguments, count);
    case CallKind::pure:
    case CallKind::lasting_mode:
      return read_all(recording, arguments, count);
    case CallKind::setting:
      return count == 0 ? read_setting(recording, callable)
                        : stop(recording, BreakCode::kUnknownFunction, text_of_call(callable));
    case CallKind::tensor:
    case CallKind::values:
      if (self != nullptr) look_at(recording, self);
      return read_all(recording, arguments, count,
                      policy.kind == CallKind::values ? Given::made_numbers : Given::looked_at);
    case CallKind::output:
      note_use(recording, Given::looked_at);
      return read_setting(recording, recording.domain.streams()) && read_bound_stream(recording, callable) &&
             read_written(recording, arguments, count);
    case CallKind::refused:
    case CallKind::calls_as_one:
      return stop(recording, policy.reason, text_of_call(callable));
    case CallKind::writes_attribute: {
      const auto attribute = Ref<>::steal(PyUnicode_InternFromString(policy.attribute));
      if (!attribute) return false;
      PyObject* tensor = self != nullptr               ? self
                         : PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable)
                                                       : nullptr;
      const Py_ssize_t first = tensor != nullptr ? 0 : 1;
      if (tensor == nullptr && count > 0) tensor = arguments[0];
      if (tensor == nullptr || !recording.domain.is_tensor(tensor)) return true;  // raises
      return before_recorded_write(recording, tensor, attribute.get(),
                                   count > first ? arguments[first] : Py_True);
    }
    case CallKind::calls_class:
      return before_class_call(
          recording, self != nullptr ? self : reinterpret_cast<PyCFunctionObject*>(callable)->m_self);
    case CallKind::region:
      return before_region_mark(recording, callable);
    case CallKind::unknown:
      break;
  }
  if (PyType_Check(callable))
    return before_class_call(recording, reinterpret_cast<PyTypeObject*>(callable), arguments, count);
  if (imports_plainly(callable)) return before_import_call(recording, arguments, count);
  return stop(recording, BreakCode::kUnknownFunction, text_of_call(callable));
}

}  // namespace stator
