// capture/session/stop_text.cpp: why a capture stopped, in words.
#include "capture/session/stop_text.h"

#include <algorithm>

#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"

namespace stator {
namespace {

// As it stands in the file; empty where it cannot be read.
std::string source_line(const UserFrame& frame) {
  auto linecache = Ref<>::steal(PyImport_ImportModule("linecache"));
  auto line = Ref<>::steal(
      linecache ? PyObject_CallMethod(linecache.get(), "getline", "si", frame.file.c_str(), frame.line)
                : nullptr);
  const char* text = line ? PyUnicode_AsUTF8(line.get()) : nullptr;
  if (text == nullptr) {
    drop_error();
    return {};
  }
  std::string trimmed = text;
  trimmed.erase(0, trimmed.find_first_not_of(" \t"));
  trimmed.erase(trimmed.find_last_not_of(" \t\n") + 1);
  return trimmed;
}

// What helps where a break is an error: a function that is disabled would be one, too.
std::string hint_for_error(BreakCode code) {
  if (code == BreakCode::kUnknownFunction)
    return "pass what it gives as an argument, or mark it: stator.assume_constant_result if it gives the "
           "same "
           "in every call, stator.allow_in_graph if it works on tensors alone";
  return reason(code).hint;
}

}  // namespace

std::string text_of(const CaptureStop& stop) {
  std::string text = reason(*stop.code).code;
  if (!stop.detail.empty()) text += ": " + stop.detail;
  if (!stop.not_kept.empty()) text += "; before it: " + stop.not_kept;
  if (!stop.stack.empty())
    text += " (" + stop.stack.back().file + ":" + std::to_string(stop.stack.back().line) + ")";
  return text;
}

const UserFrame* own_frame(const CaptureStop& stop) {
  const auto is_own = [](const UserFrame& frame) {
    return frame.file.find("/lib/python3") == std::string::npos;
  };
  const auto found = std::find_if(stop.stack.rbegin(), stop.stack.rend(), is_own);
  return found != stop.stack.rend() ? &*found : nullptr;
}

std::string stack_text(const CaptureStop& stop) {
  std::string text;
  for (const UserFrame& frame : stop.stack) {
    text += "\n  File \"" + frame.file + "\", line " + std::to_string(frame.line) + ", in " + frame.function;
    if (const std::string line = source_line(frame); !line.empty()) text += "\n    " + line;
  }
  return text;
}

std::string not_whole_text(const CaptureStop& stop) {
  std::string message = "stator: the function could not be captured whole: " + text_of(stop);
  if (const UserFrame* own = own_frame(stop); own != nullptr && own != &stop.stack.back())
    message += ", from " + own->file + ":" + std::to_string(own->line);
  message += stack_text(stop);
  message += std::string("\n  reason: ") + reason(*stop.code).message;
  if (const std::string hint = hint_for_error(*stop.code); !hint.empty()) message += "\n  hint: " + hint;
  message += "\n  without fullgraph=True this costs a break: the code around it stays captured";
  return message;
}

}  // namespace stator
