// src/torch/replacements/replaced_calls.cpp: asking those who know of such functions, one after another.
#include "torch/replacements/replaced_calls.h"

#include "torch/guards/input_queries.h"
#include "torch/replacements/bodies.h"
#include "torch/replacements/checkpoint_region.h"
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

namespace stator {

void prepare_replaced_calls() {
  prepare_default_device();
  prepare_bodies();
  prepare_checkpoint_regions();
  prepare_transforms();
  prepare_made_parameters();
  prepare_seeds();
  prepare_legacy_tensors();
  prepare_run_calls();
  prepare_profiler_ranges();
  prepare_hooks();
}

Ref<> called_in_place_of(PyObject* callable) {
  Ref<> found;
  const auto asked = [&](auto... those) { return ((found = those(callable)) || ...); };
  if (PyFunction_Check(callable)) {
    before_function(callable);
    asked(asks_engine, records_seed, makes_region, checks_hooked);
  } else {
    asked(calls_in_run, opens_range, records_seed, makes_parameter, calls_custom_function,
          asks_without_device, makes_new_tensor, makes_legacy_tensor, makes_known_list, queries_input,
          makes_from_data);
  }
  return found;
}

}  // namespace stator
