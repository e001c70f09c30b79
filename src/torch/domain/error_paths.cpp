// src/torch/domain/error_paths.cpp: walks the frames of the program and looks for handlers.
#include "torch/domain/error_paths.h"

#include <string_view>

namespace stator {
namespace {

Ref<> current_frame() {
  return Ref<>::steal(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
}

// Of the code's exception table: start, length, target and depth of each range, in numbers of six bits a
// byte, the first byte of a range marked.
bool has_handler(PyObject* code, long unit) {
  const Ref<> table = Ref<>::steal(PyObject_GetAttrString(code, "co_exceptiontable"));
  if (!table || !PyBytes_Check(table.get())) return PyErr_Clear(), true;
  const char* at = PyBytes_AS_STRING(table.get());
  const char* const end = at + PyBytes_GET_SIZE(table.get());
  const auto number = [&] {
    long result = 0;
    unsigned char byte = 0x40;
    while (at < end && (byte & 0x40) != 0) {
      byte = static_cast<unsigned char>(*at++);
      result = result << 6 | (byte & 0x3F);
    }
    return result;
  };
  while (at < end) {
    const long start = number(), length = number();
    number(), number();
    if (start <= unit && unit < start + length) return true;
  }
  return false;
}

}  // namespace

ErrorPaths::ErrorPaths(const std::string& folder) : folder_(folder), caller_(current_frame()) {}

bool ErrorPaths::pass_on(LineId line) {
  if (line == LineId::kNone) return look();
  const auto [found, is_new] = known_.try_emplace(line, false);
  if (is_new) found->second = look();
  return found->second;
}

bool ErrorPaths::look() const {
  bool is_first = true;
  for (Ref<> frame = current_frame(); frame && frame.get() != caller_.get(); is_first = false) {
    auto* const at = reinterpret_cast<PyFrameObject*>(frame.get());
    const Ref<> code = Ref<>::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(at)));
    auto* const of = reinterpret_cast<PyCodeObject*>(code.get());
    const char* file = PyUnicode_AsUTF8(of->co_filename);
    if (file == nullptr) return PyErr_Clear(), false;
    const std::string_view path = file;
    if (is_first && !path.starts_with(folder_ + "optim/")) return false;
    if (!path.starts_with(folder_) && has_handler(code.get(), PyFrame_GetLasti(at) / 2)) return false;
    frame = Ref<>::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(at)));
  }
  return true;
}

}  // namespace stator
