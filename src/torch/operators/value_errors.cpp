// src/torch/operators/value_errors.cpp: looks the operator up by its name.
#include "torch/operators/value_errors.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "torch/operators/tensors_in.h"

namespace stator {
namespace {

// "index_put" of "aten::index_put_.hacked_twin"; empty for operators of other libraries.
std::string_view plain_name(std::string_view name) {
  constexpr std::string_view kOwn = "aten::";
  if (!name.starts_with(kOwn)) return {};
  name.remove_prefix(kOwn.size());
  name = name.substr(0, name.find('.'));
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

bool is_listed(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {
#define STATOR_VALUE_ERROR(name) #name,
#include "torch/operators/value_errors.def"
  };
  static const std::unordered_set<std::string_view> of_any_matrix = {"linalg_norm",
                                                                     "linalg_vector_norm",
                                                                     "linalg_cross",
                                                                     "linalg_vecdot",
                                                                     "linalg_matmul",
                                                                     "linalg_diagonal",
                                                                     "linalg_multi_dot",
                                                                     "linalg_vander",
                                                                     "linalg_qr",
                                                                     "linalg_matrix_exp",
                                                                     "linalg_householder_product"};
  if (names.count(name) != 0) return true;
  return (name.starts_with("linalg_") || name.starts_with("_linalg_")) && of_any_matrix.count(name) == 0;
}

bool divides(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {"div",       "divide", "floor_divide",
                                                             "remainder", "fmod",   "true_divide"};
  return names.count(name) != 0;
}

}  // namespace

bool may_refuse_values(const OperatorInfo& info, std::span<const c10::IValue> arguments) {
  const std::string_view name = plain_name(info.name);
  if (is_listed(name)) return true;
  // Ints divided by zero: only true division makes floats of them.
  if (!divides(name)) return false;
  bool of_ints = true;
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (tensor.defined()) of_ints &= c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
    });
    of_ints &= !argument.isDouble();
  }
  return of_ints;
}

}  // namespace stator
