// capture/recording/journal.cpp: finding what was noted, and putting everything back.
#include "capture/recording/journal.h"

#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"

namespace stator {

PyObject* Journal::absent() {
  static PyObject* const object = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return object;
}

const Written* Journal::find(PyObject* object) const {
  const auto found = index_.find(object);
  return found == index_.end() ? nullptr : written_[found->second].get();
}

bool Journal::wrote_key(PyObject* object, PyObject* key) const {
  const Written* written = find(object);
  return written != nullptr && (written->entry || written->wrote_key(key));
}

size_t Journal::roll_back() {
  const ErrorScope scope;
  for (size_t i = written_.size(); i > 0; i--) {
    if (!written_[i - 1]->put_back()) drop_error();
  }
  size_t different = 0;
  for (const auto& written : written_) different += written->is_as_before() ? 0 : 1;
  written_.clear();
  index_.clear();
  slots_.clear();
  return different;
}

}  // namespace stator
