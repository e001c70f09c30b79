// capture/recording/table_calls.cpp: calls of C functions that have a row in the tables of policy/.
#include "capture/recording/table_calls.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/python_class.h"
#include "capture/policy/iterators.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/context_managers.h"
#include "capture/recording/context_variables.h"
#include "capture/recording/format_fields.h"
#include "capture/recording/identities.h"
#include "capture/recording/indirect_calls.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/named_arguments.h"
#include "capture/recording/random_numbers.h"
#include "capture/recording/reads.h"
#include "capture/recording/shown_objects.h"
#include "capture/recording/warnings.h"
#include "capture/recording/writes.h"

namespace stator {
namespace {

using Arguments = std::vector<PyObject*>;

std::string_view method_name(PyObject* function) {
  const bool is_descriptor =
      Py_IS_TYPE(function, &PyMethodDescr_Type) || Py_IS_TYPE(function, &PyWrapperDescr_Type);
  const char* name = is_descriptor ? PyUnicode_AsUTF8(PyDescr_NAME(function)) : nullptr;
  return name != nullptr ? name : "";
}

// Whether a C class below the method's own has another method of this name: `dict.pop` knows nothing of the
// order of an OrderedDict, and leaves one behind that no later call can be given.
bool is_overridden_in_c(PyObject* method, PyObject* self) {
  const bool is_descriptor =
      Py_IS_TYPE(method, &PyMethodDescr_Type) || Py_IS_TYPE(method, &PyWrapperDescr_Type);
  if (!is_descriptor) return false;
  PyTypeObject* type = Py_TYPE(self);
  while (type->tp_base != nullptr && cpython::is_python_class(type)) type = type->tp_base;
  PyObject* const own = _PyType_Lookup(type, PyDescr_NAME(method));
  return own != nullptr && own != method && PyType_IsSubtype(type, PyDescr_TYPE(method));
}

// What the function looks at, argument by argument. `called`: the one that it calls, or the number of them.
bool read_arguments(Recording& recording, const NativeCall& known, const Arguments& all, size_t called) {
  bool looks = called < all.size() && known.calls.looks;
  const size_t named = named_arguments(recording, all);
  for (size_t i = 0; i < all.size(); i++) {
    if (i == called) continue;
    Sight sight = i < all.size() - named ? known.sees.of(i) : known.sees.rest;
    if (sight == Sight::everything && called < all.size() && known.calls.instead) sight = Sight::items;
    looks = looks || sight == Sight::everything || sight == Sight::pairs;
    if (!read_argument(recording, all[i], sight)) return false;
    if (sight == Sight::items && iterator_kind(all[i]) != nullptr && !read_iterator(recording, all[i], looks))
      return false;
  }
  note_use(recording, looks ? Given::looked_at : Given::passed_on);
  return true;
}

// While a C function that gives an item, or says whether it is there, does not look at it.
class ItemScope {
 public:
  explicit ItemScope(bool& flag) : flag_(flag) { flag_ = true; }
  ~ItemScope() { flag_ = false; }
  ItemScope(const ItemScope&) = delete;
  ItemScope& operator=(const ItemScope&) = delete;

 private:
  bool& flag_;
};

// An item is looked for, by hash or by comparison.
bool before_item_read(Recording& recording, const Arguments& all, bool subscripts) {
  if (all.size() < 2) return true;  // raises
  if (!read_behaviour(recording, all[0])) return false;
  const ItemScope moves(recording.arguments.gets_item);
  if (subscripts) return before_subscript(recording, all[0], all[1]);
  if (PyDict_Check(all[0]) || Py_IS_TYPE(all[0], &PyDictProxy_Type) || is_argument_set(recording, all[0]))
    return read_subscript(recording, all[0], all[1]);
  return read_deep(recording, all[0]) && read_deep(recording, all[1]);
}

// The variable `__class__` of the calling frame says behind which class super() looks.
bool read_class_cell(Recording& recording) {
  const PyCodeObject* code = recording.frame->code;
  const int first = code->co_nlocalsplus - code->co_nfreevars;
  for (int i = first; i < code->co_nlocalsplus; i++) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, i), "__class__") == 0)
      return read_cell(recording, recording.frame->localsplus[i], recording.frame->code, i);
  }
  return true;  // raises
}

bool before_in_place_call(Recording& recording, PyObject* left, PyObject* right, PyObject* function) {
  const char* name =
      PyCFunction_Check(function) ? reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_name : "";
  const bool adds = std::string_view(name) == "iadd" || std::string_view(name) == "iconcat";
  if (!before_in_place(recording, left, right, adds ? OnList::extends : OnList::rewrites)) return false;
  if (PyUnicode_Check(left) || PyBytes_Check(left)) return before_words(recording, right);
  // What is relied on of the left one is guarded already where it is written.
  return (recording.journal.find(left) != nullptr || read_deep(recording, left)) &&
         read_deep(recording, right);
}

bool before_type_question(Recording& recording, const Arguments& all) {
  if (all.size() != 1) return stop(recording, BreakCode::kUnknownFunction, "type() with three arguments");
  if (is_fresh(recording, all[0])) return true;
  if (!read_argument(recording, all[0], Sight::kind)) return false;
  pin(recording, reinterpret_cast<PyObject*>(Py_TYPE(all[0])), {Origin::type_of, all[0], {}});
  return true;
}

// str(), format() and the special methods that they call; a template may ask for repr() as well.
bool shows_as_text(PyObject* function, const Arguments& all) {
  if (function == reinterpret_cast<PyObject*>(&PyUnicode_Type)) return true;
  const auto name = method_name(function);
  return name == "__str__" || name == "__format__" ||
         (name == "format" && !all.empty() && !PyUnicode_Check(all[0]));
}

// A default dictionary that is asked for a field makes what it misses.
bool may_be_shown(Recording& recording, PyObject* object, bool as_text) {
  if (!is_default_dict(object) || is_fresh(recording, object))
    return before_showing(recording, object, as_text);
  return stop(recording, BreakCode::kUnknownFunction, "a defaultdict is formatted");
}

}  // namespace

bool before_table_call(Recording& recording, const NativeCall& known, PyObject* function, PyObject* self,
                       PyObject* const* arguments, Py_ssize_t count) {
  Arguments all;
  if (self != nullptr) all.push_back(self);
  all.insert(all.end(), arguments, arguments + count);
  size_t called = all.size();
  if (known.calls.any()) {
    called = called_argument(recording, known.calls, all);
    if (called < all.size() && !give_as_function(recording, known.calls, all, called)) return false;
  }
  switch (known.effect) {
    case NativeEffect::reads:
      return read_arguments(recording, known, all, called);
    case NativeEffect::shows:
    case NativeEffect::hashes:
      if (method_name(function).starts_with("format") && !all.empty() && PyUnicode_Check(all[0]) &&
          reads_attribute_in_field(all[0]))
        return stop(recording, BreakCode::kUnknownFunction,
                    "str.format() with a field that reads an attribute");
      for (PyObject* object : all) {
        if (!(known.effect == NativeEffect::shows
                  ? may_be_shown(recording, object, shows_as_text(function, all))
                  : before_hash_call(recording, object)))
          return false;
      }
      return read_arguments(recording, known, all, called);
    case NativeEffect::reads_dict:
      if (all.size() != 1) return stop(recording, BreakCode::kFrameIntrospection, "vars() of a frame");
      return read_attribute(recording, all[0], Ref<>::steal(PyUnicode_InternFromString("__dict__")).get());
    case NativeEffect::asks_registry:
      return read_arguments(recording, known, all, called) && read_registry(recording);
    case NativeEffect::acquires:
    case NativeEffect::releases:
      // One that is tried, or waited for a while, may not be taken.
      if (all.empty() || (known.effect == NativeEffect::acquires && all.size() > 1))
        return stop(recording, BreakCode::kThread, "a lock is tried");
      return before_lock(recording, known.effect, all[0]);
    case NativeEffect::asks_exception:
      return read_handled_exception(recording);
    case NativeEffect::asks_setting:
      return all.empty() ? read_setting(recording, function) : true;  // raises
    case NativeEffect::asks_super:
      if (all.empty()) return read_class_cell(recording);
      for (PyObject* object : all) {
        if (!read_argument(recording, object, Sight::kind)) return false;
      }
      return true;
    case NativeEffect::reduces:
      return !all.empty() && read_reduced(recording, all[0]);
    case NativeEffect::reads_item:
    case NativeEffect::reads_subscript:
      note_use(recording, known.effect == NativeEffect::reads_item ? Given::looked_at : Given::passed_on);
      if (known.effect == NativeEffect::reads_subscript && all.size() > 1)
        note_key(recording, all[0], all[1]);
      return before_item_read(recording, all, known.effect == NativeEffect::reads_subscript);
    case NativeEffect::reads_attribute:
      if (all.size() >= 2 && PyUnicode_Check(all[1])) return read_attribute(recording, all[0], all[1]);
      return stop(recording, BreakCode::kUnguardable, "an attribute whose name is no string");
    case NativeEffect::writes_self:
      if (all.empty()) return true;  // raises
      if (is_overridden_in_c(function, all[0]))
        return stop(recording, BreakCode::kUnknownFunction, text_of_call(function));
      return read_arguments(recording, known, all, called) &&
             before_method_write(recording, method_name(function), all.data(), all.size());
    case NativeEffect::writes_item:
    case NativeEffect::deletes_item:
      if (all.size() < 2) return true;  // raises
      note_key(recording, all[0], all[1]);
      return before_item_write(recording, all[0], all[1], known.effect == NativeEffect::deletes_item,
                               all.size() > 2 ? all[2] : nullptr);
    case NativeEffect::writes_in_place:
      if (all.size() == 2) note_operands(recording, all[0], all[1]);
      return all.size() != 2 || before_in_place_call(recording, all[0], all[1], function);
    case NativeEffect::writes_attribute: {
      if (all.size() < 2 || !PyUnicode_Check(all[1])) return true;  // raises
      PyObject* value = all.size() == 2 ? nullptr : all[2];
      const bool is_plain = Py_IS_TYPE(function, &PyWrapperDescr_Type);  // object.__setattr__, not setattr()
      return is_plain ? before_plain_attribute_write(recording, all[0], all[1], value)
                      : before_attribute_write(recording, all[0], all[1], value);
    }
    case NativeEffect::advances:
      return all.empty() || before_advancing(recording, all[0]);
    case NativeEffect::calls:
      return all.empty() ||
             before_call_with(recording, all[0], all.data() + 1, static_cast<Py_ssize_t>(all.size()) - 1);
    case NativeEffect::asks_identity:
      return all.size() != 1 || read_identity(recording, all[0]);
    case NativeEffect::sets_context:
    case NativeEffect::resets_context:
      if (all.size() != 2 || recording.keywords != 0)
        return stop(recording, BreakCode::kUnknownFunction, text_of_call(function));
      return known.effect == NativeEffect::resets_context ? before_context_reset(recording, all[0], all[1])
                                                          : before_context_set(recording, all[0], all[1]);
    case NativeEffect::asks_context:
      return all.empty() || before_context_read(recording, all[0]);
    case NativeEffect::draws:
      return before_draw(recording, function, method_name(function), all);
    case NativeEffect::warns:
      return before_warning(recording, all);
    case NativeEffect::compares_identity:
      return all.size() != 2 || before_identity(recording, all[0], all[1]);
    case NativeEffect::asks_type:
      return before_type_question(recording, all);
  }
  return false;
}

}  // namespace stator
