// src/torch/tracing/binding_warnings.cpp: empties the buffer of torch's handler for calls from Python.
#include "torch/tracing/binding_warnings.h"

#include <torch/csrc/Exceptions.h>

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <typeinfo>

namespace stator {
namespace {

// By name: torch does not export the type.
std::vector<c10::Warning>* buffer() {
  c10::WarningHandler* const handler = c10::WarningUtils::get_warning_handler();
  static const std::string_view wanted = "N5torch16PyWarningHandler15InternalHandlerE";
  if (handler == nullptr || typeid(*handler).name() != wanted) return nullptr;
  return &static_cast<torch::PyWarningHandler::InternalHandler*>(handler)->warning_buffer_;
}

}  // namespace

bool take_new_warnings() {
  std::vector<c10::Warning>* const warnings = buffer();
  if (warnings == nullptr || warnings->empty()) return false;
  static std::mutex mutex;
  static std::set<std::pair<std::string, uint32_t>> known;  // by their places in torch's sources
  bool any_new = false;
  const std::lock_guard lock(mutex);
  for (const c10::Warning& warning : *warnings) {
    const c10::SourceLocation& place = warning.source_location();
    any_new |= known.emplace(place.file != nullptr ? place.file : "", place.line).second;
  }
  warnings->clear();
  return any_new;
}

void drop_warnings() {
  if (std::vector<c10::Warning>* const warnings = buffer()) warnings->clear();
}

}  // namespace stator
