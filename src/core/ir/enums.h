// src/core/ir/enums.h: element types, devices, layouts and memory formats as small integers with text
// (enums.def).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stator::ir {

enum class DType : uint8_t {
#define STATOR_DTYPE(name, text) name,
#include "core/ir/enums.def"
};
enum class DeviceType : int8_t {
#define STATOR_DEVICE(name, text) name,
#include "core/ir/enums.def"
};
enum class Layout : uint8_t {
#define STATOR_LAYOUT(name, text) name,
#include "core/ir/enums.def"
};
enum class MemoryFormat : uint8_t {
#define STATOR_MEMORY_FORMAT(name, text) name,
#include "core/ir/enums.def"
};

struct Device {
  DeviceType type = DeviceType::kCpu;
  int8_t index = -1;  // -1: none given
  bool operator==(const Device&) const = default;
};

// An empty text means that the code is outside the enumeration.
std::string_view text(DType dtype);
std::string_view text(DeviceType type);
std::string_view text(Layout layout);
std::string_view text(MemoryFormat format);

std::optional<DType> dtype_from_text(std::string_view text);
std::optional<DeviceType> device_type_from_text(std::string_view text);
std::optional<Layout> layout_from_text(std::string_view text);
std::optional<MemoryFormat> memory_format_from_text(std::string_view text);

}  // namespace stator::ir
