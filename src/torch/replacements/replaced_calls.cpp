// src/torch/replacements/replaced_calls.cpp: the table of replaced calls, one row each.
#include "torch/replacements/replaced_calls.h"

#include "torch/guards/input_queries.h"
#include "torch/replacements/bodies.h"
#include "torch/replacements/checkpoint_region.h"
#include "torch/replacements/compiled_autograd.h"
#include "torch/replacements/default_device.h"
#include "torch/replacements/hooks.h"
#include "torch/replacements/known_list.h"
#include "torch/replacements/legacy_tensor.h"
#include "torch/replacements/made_parameter.h"
#include "torch/replacements/new_tensor.h"
#include "torch/replacements/profiler_range.h"
#include "torch/replacements/run_calls.h"
#include "torch/replacements/seeds.h"
#include "torch/replacements/tensor_data.h"
#include "torch/replacements/transforms.h"
#include "torch/replacements/wrapper_class.h"

namespace stator {
namespace {

// Which callables a row may replace: asking is saved for the others.
enum class Of : uint8_t { nothing, functions, methods, others, both };

struct Replacement {
  Of of;
  Ref<> (*instead_of)(PyObject*);  // what is called instead of a callable, if it is one that is replaced
  bool (*is_ours)(PyObject*);      // whether captured code calls what this row put in its place
  CallKind kind;                   // and what that may do
  void (*prepare)() = nullptr;     // once, when the module is initialised
};

// Asked in this order. Rows that replace nothing tell of functions that our own Python code calls.
constexpr Replacement kReplacements[] = {
    {Of::functions, asks_engine, is_engine_call, CallKind::tensor, prepare_transforms},
    {Of::others, calls_in_run, is_number_of_run, CallKind::tensor, prepare_run_calls},
    {Of::methods, draws_in_run, nullptr, CallKind::unknown},
    {Of::nothing, nullptr, is_output_in_run, CallKind::output},
    {Of::others, opens_range, is_range_opener, CallKind::pure, prepare_profiler_ranges},
    {Of::both, records_seed, is_seed_call, CallKind::tensor, prepare_seeds},
    {Of::functions, makes_region, marks_region, CallKind::region, prepare_checkpoint_regions},
    {Of::functions, checks_hooked, is_hook_check, CallKind::tensor, prepare_hooks},
    {Of::nothing, nullptr, marks_outermost_body, CallKind::region},  // the outermost of those that follow
    {Of::nothing, nullptr, is_body_call, CallKind::tensor, prepare_bodies},
    {Of::nothing, nullptr, is_autograd_operation, CallKind::tensor},
    {Of::others, makes_parameter, is_parameter_maker, CallKind::tensor, prepare_made_parameters},
    {Of::others, calls_custom_function, nullptr, CallKind::unknown},
    {Of::others, asks_without_device, is_question_without_device, CallKind::pure, prepare_default_device},
    {Of::nothing, nullptr, changes_default_device, CallKind::modes},
    {Of::others, makes_new_tensor, is_new_tensor, CallKind::values},
    {Of::others, makes_legacy_tensor, is_legacy_tensor, CallKind::values, prepare_legacy_tensors},
    {Of::others, makes_wrapper_tensor, is_wrapper_maker, CallKind::tensor},
    {Of::others, makes_known_list, is_known_list, CallKind::tensor},
    {Of::others, queries_input, is_input_query, CallKind::tensor},
    {Of::others, makes_from_data, is_data_constructor, CallKind::values},
};

}  // namespace

void prepare_replaced_calls() {
  for (const Replacement& row : kReplacements) {
    if (row.prepare != nullptr) row.prepare();
  }
}

Ref<> called_in_place_of(PyObject* callable) {
  const bool is_function = PyFunction_Check(callable);
  if (is_function) before_function(callable);
  const bool is_method = Py_IS_TYPE(callable, &PyMethod_Type);
  const Of wanted = is_function ? Of::functions : is_method ? Of::methods : Of::others;
  for (const Replacement& row : kReplacements) {
    if (row.of != wanted && (is_method || row.of != Of::both)) continue;
    if (Ref<> found = row.instead_of(callable)) return found;
  }
  return {};
}

CallKind kind_of_replacement(PyObject* callable) {
  for (const Replacement& row : kReplacements) {
    if (row.is_ours != nullptr && row.is_ours(callable)) return row.kind;
  }
  return CallKind::unknown;
}

}  // namespace stator
