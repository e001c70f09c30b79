// src/core/ir/enums.cpp: the texts of enums.def, both ways.
#include "core/ir/enums.h"

#include <iterator>

namespace stator::ir {
namespace {

constexpr std::string_view kDTypes[] = {
#define STATOR_DTYPE(name, text) text,
#include "core/ir/enums.def"
};
constexpr std::string_view kDevices[] = {
#define STATOR_DEVICE(name, text) text,
#include "core/ir/enums.def"
};
constexpr std::string_view kLayouts[] = {
#define STATOR_LAYOUT(name, text) text,
#include "core/ir/enums.def"
};
constexpr std::string_view kMemoryFormats[] = {
#define STATOR_MEMORY_FORMAT(name, text) text,
#include "core/ir/enums.def"
};

template <size_t N>
std::string_view text_of(const std::string_view (&texts)[N], int code) {
  return code >= 0 && static_cast<size_t>(code) < N ? texts[code] : std::string_view();
}

template <class Enum, size_t N>
std::optional<Enum> code_of(const std::string_view (&texts)[N], std::string_view text) {
  for (size_t i = 0; i < N; ++i) {
    if (texts[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view text(DType dtype) { return text_of(kDTypes, static_cast<int>(dtype)); }
std::string_view text(DeviceType type) { return text_of(kDevices, static_cast<int>(type)); }
std::string_view text(Layout layout) { return text_of(kLayouts, static_cast<int>(layout)); }
std::string_view text(MemoryFormat format) { return text_of(kMemoryFormats, static_cast<int>(format)); }

std::optional<DType> dtype_from_text(std::string_view text) { return code_of<DType>(kDTypes, text); }
std::optional<DeviceType> device_type_from_text(std::string_view text) {
  return code_of<DeviceType>(kDevices, text);
}
std::optional<Layout> layout_from_text(std::string_view text) { return code_of<Layout>(kLayouts, text); }
std::optional<MemoryFormat> memory_format_from_text(std::string_view text) {
  return code_of<MemoryFormat>(kMemoryFormats, text);
}

}  // namespace stator::ir
