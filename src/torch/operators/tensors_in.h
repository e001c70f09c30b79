// src/torch/operators/tensors_in.h: visits and replaces the tensors inside a boxed argument or result.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace stator {

inline bool is_optional_tensor_list(const c10::IValue& value) {
  if (!value.isList()) return false;
  const auto type = value.toList().elementType();
  return type->kind() == c10::TypeKind::OptionalType &&
         type->containedTypes()[0]->kind() == c10::TypeKind::TensorType;
}

// Absent elements of a list of optional tensors are visited as undefined tensors, so that positions stay.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit&& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const c10::IValue& element : value.toListRef()) visit(element.toTensor());
  } else if (is_optional_tensor_list(value)) {
    for (const c10::IValue& element : value.toListRef())
      visit(element.isTensor() ? element.toTensor() : at::Tensor());
  }
}

// Tensor `element` of a tensor or list argument. Precondition: it is there.
inline at::Tensor tensor_at(const c10::IValue& value, int32_t element) {
  return value.isTensor() ? value.toTensor() : value.toListRef()[element].toTensor();
}

// A value of the same type whose defined tensors are replaced by what `replace` gives for them.
template <class Replace>
c10::IValue map_tensors(const c10::IValue& value, Replace&& replace) {
  if (value.isTensor()) {
    return value.toTensor().defined() ? c10::IValue(replace(value.toTensor())) : value;
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    list.reserve(value.toListRef().size());
    for (const c10::IValue& element : value.toListRef()) {
      const at::Tensor& tensor = element.toTensor();
      list.push_back(tensor.defined() ? replace(tensor) : tensor);
    }
    return list;
  }
  if (is_optional_tensor_list(value)) {
    c10::List<std::optional<at::Tensor>> list;
    for (const c10::IValue& element : value.toListRef()) {
      list.push_back(element.isTensor() && element.toTensor().defined()
                         ? std::optional<at::Tensor>(replace(element.toTensor()))
                         : std::nullopt);
    }
    return list;
  }
  return value;
}

}  // namespace stator
