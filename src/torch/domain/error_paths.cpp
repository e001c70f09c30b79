// src/torch/domain/error_paths.cpp: walks the frames of the program and looks for handlers.
#include "torch/domain/error_paths.h"

#include <string_view>

#include "capture/cpython/interrupts.h"
#include "torch/domain/torch_folder.h"

namespace stator {
namespace {

Ref<> current_frame() {
  return Ref<>::steal(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
}

Ref<> code_of(const Ref<>& frame) {
  return Ref<>::steal(
      reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame.get()))));
}

bool is_below(const Ref<>& code, std::string_view folder) {
  const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
  if (file == nullptr) drop_error();
  return file != nullptr && std::string_view(file).starts_with(folder);
}

// Of the code's exception table: start, length, target and depth of each range, in numbers of six bits a
// byte, the first byte of a range marked.
bool has_handler(PyObject* code, long unit) {
  const Ref<> table = Ref<>::steal(PyObject_GetAttrString(code, "co_exceptiontable"));
  if (!table || !PyBytes_Check(table.get())) return drop_error(), true;
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

ErrorPaths::ErrorPaths() : caller_(current_frame()) {}

bool ErrorPaths::pass_on(LineId line, bool without_effects) {
  Path path;
  if (line == LineId::kNone) {
    path = look();
  } else {
    const auto [found, is_new] = known_.try_emplace(line);
    if (is_new) found->second = look();
    path = found->second;
  }
  return !path.is_handled && (without_effects || path.is_of_optimizer);
}

ErrorPaths::Path ErrorPaths::look() const {
  Path path{.is_handled = false, .is_of_optimizer = runs_optimizer_code()};
  for (Ref<> frame = current_frame(); frame && frame.get() != caller_.get();) {
    auto* const at = reinterpret_cast<PyFrameObject*>(frame.get());
    const Ref<> code = code_of(frame);
    if (!is_below(code, torch_folder())) path.is_handled |= has_handler(code.get(), PyFrame_GetLasti(at) / 2);
    frame = Ref<>::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(at)));
  }
  return path;
}

bool runs_optimizer_code() {
  const Ref<> frame = current_frame();
  return frame && is_below(code_of(frame), torch_folder() + "optim/");
}

}  // namespace stator
