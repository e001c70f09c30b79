// src/backends/openxla/emit/types.cpp: element types as StableHLO writes them, and questions about them.
#include <numeric>

#include "backends/openxla/emit/builder.h"

namespace stator::openxla {

int64_t product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

Dims range(int64_t begin, int64_t end) {
  Dims result;
  for (int64_t i = begin; i < end; ++i) result.push_back(i);
  return result;
}

Dims repeated(int64_t count, int64_t value) { return Dims(static_cast<size_t>(count), value); }

int64_t Tensor::count() const { return product(dims); }

bool is_float(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 || dtype == DType::kF64;
}

bool is_complex(DType dtype) { return dtype == DType::kC64 || dtype == DType::kC128; }

bool is_signed(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
}

bool is_integer(DType dtype) {
  return is_signed(dtype) || dtype == DType::kU8 || dtype == DType::kU16 || dtype == DType::kU32 ||
         dtype == DType::kU64;
}

DType real_part_of(DType dtype) {
  if (dtype == DType::kC64) return DType::kF32;
  if (dtype == DType::kC128) return DType::kF64;
  return dtype;
}

DType accumulation_type(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

int64_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kI8:
    case DType::kU8:
      return 1;
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI32:
    case DType::kU32:
    case DType::kF32:
      return 4;
    case DType::kI64:
    case DType::kU64:
    case DType::kF64:
    case DType::kC64:
      return 8;
    case DType::kC128:
      return 16;
    default:
      throw Unsupported{"element type " + std::string(ir::text(dtype))};
  }
}

std::string element_text(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "i1";
    case DType::kU8:
      return "ui8";
    case DType::kU16:
      return "ui16";
    case DType::kU32:
      return "ui32";
    case DType::kU64:
      return "ui64";
    case DType::kC64:
      return "complex<f32>";
    case DType::kC128:
      return "complex<f64>";
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      return std::string(ir::text(dtype));
    default:
      throw Unsupported{"element type " + std::string(ir::text(dtype))};
  }
}

}  // namespace stator::openxla
