// capture/recording/effects.cpp: writes to objects that existed before the capture: journaled, and undone
// when it ends.
//
// A write is allowed where it can be undone exactly: an attribute in an instance's own dictionary. What a
// finished capture would have to repeat on every call is not captured yet, so only programs that leave what
// they found pass: a flag that is set and reset.
#include "capture/cpython/error_scope.h"
#include "capture/cpython/exported.h"
#include "capture/recording/recording.h"

namespace stator {

bool Recording::before_attribute_write(PyObject* owner, PyObject* name) {
  PyTypeObject* type = Py_TYPE(owner);
  PyObject* on_type = _PyType_Lookup(type, name);
  const bool plain = type->tp_setattro == PyObject_GenericSetAttr &&
                     (on_type == nullptr || Py_TYPE(on_type)->tp_descr_set == nullptr) &&
                     !PyModule_Check(owner) && !PyType_Check(owner) && !domain_.is_tensor(owner);
  if (!plain || !read_object(owner)) return plain ? false : before_write(owner, "an attribute");
  PyObject** slot = _PyObject_GetDictPtr(owner);
  if (slot == nullptr || *slot == nullptr) return before_write(owner, "an attribute");
  // The value at entry counts: it is what the location must hold again.
  if (!is_written(*slot, name) && !read_dict_item(*slot, name)) return false;
  journal_.push_back(
      {Ref<>::share(*slot), Ref<>::share(name), Ref<>::share(PyDict_GetItemWithError(*slot, name))});
  return true;
}

bool Recording::is_written(PyObject* dict, PyObject* key) const {
  for (const Write& write : journal_) {
    if (write.dict.get() == dict &&
        (write.key.get() == key || PyObject_RichCompareBool(write.key.get(), key, Py_EQ) == 1))
      return true;
  }
  return false;
}

bool Recording::settle() {
  for (size_t i = 0; i < journal_.size(); i++) {
    const Write& first = journal_[i];
    bool seen = false;
    for (size_t j = 0; j < i; j++)
      seen = seen || (journal_[j].dict.get() == first.dict.get() && journal_[j].key.get() == first.key.get());
    if (seen) continue;
    PyObject* now = PyDict_GetItemWithError(first.dict.get(), first.key.get());
    if (now != first.old.get())
      return stop(BreakCode::kOutsideEffect, std::string("attribute ") + PyUnicode_AsUTF8(first.key.get()) +
                                                 " of an object that existed before");
  }
  return true;
}

void Recording::roll_back() {
  ErrorScope scope;
  for (; !journal_.empty(); journal_.pop_back()) {
    const Write& write = journal_.back();
    PyObject* now = PyDict_GetItemWithError(write.dict.get(), write.key.get());
    if (now == write.old.get()) continue;
    const int status = write.old ? PyDict_SetItem(write.dict.get(), write.key.get(), write.old.get())
                                 : PyDict_DelItem(write.dict.get(), write.key.get());
    if (status < 0) PyErr_Clear();
  }
}

}  // namespace stator
