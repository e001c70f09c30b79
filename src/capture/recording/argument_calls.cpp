// capture/recording/argument_calls.cpp: C functions that see less of an argument than all it holds.
#include "capture/recording/argument_calls.h"

#include "capture/recording/argument_reads.h"
#include "capture/recording/contents.h"
#include "capture/cpython/module_attribute.h"

namespace stator {
namespace {

PyObject* builtin(const char* name) { return module_attribute("builtins", name).release(); }

bool is_method(PyObject* function, PyTypeObject* type, const char* name) {
  return (Py_IS_TYPE(function, &PyMethodDescr_Type) || Py_IS_TYPE(function, &PyWrapperDescr_Type)) &&
         PyDescr_TYPE(function) == type &&
         PyUnicode_CompareWithASCIIString(PyDescr_NAME(function), name) == 0;
}

// It is a builtin type, whose own C code answers.
bool answers_in_c(PyObject* object) {
  return PyList_CheckExact(object) || PyDict_CheckExact(object) || PyTuple_Check(object) ||
         PySet_CheckExact(object) || PyODict_CheckExact(object);
}

// While a method gives an item as it is.
class ItemScope {
 public:
  explicit ItemScope(bool& flag) : flag_(flag) { flag_ = true; }
  ~ItemScope() { flag_ = false; }
  ItemScope(const ItemScope&) = delete;
  ItemScope& operator=(const ItemScope&) = delete;

 private:
  bool& flag_;
};

}  // namespace

std::optional<bool> before_argument_call(Recording& recording, PyObject* function,
                                         const std::vector<PyObject*>& all) {
  Argument* const argument = all.empty() ? nullptr : find_argument(recording, all[0]);
  if (argument == nullptr) return std::nullopt;
  static PyObject* const length = builtin("len");
  if (function == length && all.size() == 1 && answers_in_c(all[0]))
    return read_argument_length(recording, *argument);
  if (function == reinterpret_cast<PyObject*>(&PyBool_Type) && all.size() == 1 && answers_in_c(all[0]) &&
      recording.journal.find(all[0]) == nullptr) {
    read_argument_truth(*argument);
    return true;
  }
  if (is_method(function, &PyDict_Type, "keys") && all.size() == 1)
    return reach_argument_items(recording, *argument);
  const bool gets =
      is_method(function, &PyDict_Type, "get") || is_method(function, &PyDict_Type, "__getitem__");
  if (gets && all.size() >= 2 && PyDict_Check(all[0])) {
    const ItemScope scope(recording.arguments.gets_item);
    return read_contents(recording, all[1]) && read_argument_key(recording, *argument, all[1]);
  }
  return std::nullopt;
}

}  // namespace stator
