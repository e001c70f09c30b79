// src/torch/operators/operator_info.cpp: classifies operators from their schema, tags and registered kernels.
#include "torch/operators/operator_info.h"

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "torch/operators/operator_table.h"
#include "torch/operators/overridden_kernels.h"

namespace stator {

namespace {

bool holds_tensors(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::TensorType) return true;
  for (const auto& inner : type.containedTypes()) {
    if (holds_tensors(*inner)) return true;
  }
  return false;
}

Enumeration enumeration_of(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType) type = type->containedTypes()[0];
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return Enumeration::dtype;
    case c10::TypeKind::LayoutType:
      return Enumeration::layout;
    case c10::TypeKind::MemoryFormatType:
      return Enumeration::memory_format;
    default:
      return Enumeration::no;
  }
}

ir::OpId table_id(const OperatorInfo& info) {
  const auto& schema = info.handle.schema();
  ir::Operator op;
  op.name = info.name;
  if (info.random) op.flags = op.flags | ir::OpFlag::kRandom;
  const bool known = info.name.rfind("aten::", 0) == 0 || info.name.rfind("prims::", 0) == 0;
  const bool reads = info.returns_tensors || info.reads_number;
  if (known && !info.random && reads) op.flags = op.flags | ir::OpFlag::kPure;
  if (schema.returns().size() == 1 && schema.returns()[0].type()->kind() == c10::TypeKind::ListType) {
    op.flags = op.flags | ir::OpFlag::kReturnsList;
  }
  op.writes = info.written;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto& argument = schema.arguments()[i];
    op.arguments.push_back(argument.name());
    if (argument.kwarg_only() && op.first_keyword == UINT32_MAX) op.first_keyword = static_cast<uint32_t>(i);
  }
  const ir::OpId id = torch_operators()->add(op);
  // Where a library defines its operator anew, graphs that call the older one are never run again: the old
  // overload is gone, which their guards see.
  ir::Operator& kept = torch_operators()->mutable_entry(id);
  if (kept.flags != op.flags || kept.writes != op.writes || kept.arguments != op.arguments) {
    kept.flags = op.flags;
    kept.writes = op.writes;
    kept.arguments = std::move(op.arguments);
    kept.first_keyword = op.first_keyword;
  }
  return id;
}

// Overloads that take names of dimensions (up to torch 2.12): zeros.names, sum.dim_DimnameList, ...
bool takes_names(const c10::FunctionSchema& schema) {
  const std::string& overload = schema.overload_name();
  return overload.find("imname") != std::string::npos || overload.starts_with("names") ||
         overload.ends_with("_names");
}

struct Derivative {
  uint64_t arguments;
  uint64_t outputs;
};

// Composite operators with a shape rule: gradients flow through all their tensors, save those that lend only
// their shape or dtype.
const std::unordered_map<std::string_view, uint64_t>& composites_by_first_argument() {
  static const std::unordered_map<std::string_view, uint64_t> masks = {
      {"aten::type_as", 1}, {"aten::to.other", 1},   {"aten::expand_as", 1},
      {"aten::view_as", 1}, {"aten::reshape_as", 1},
  };
  return masks;
}

void read_derivatives(OperatorInfo& info) {
  static const std::unordered_map<std::string_view, Derivative> known = {
#define STATOR_DERIVATIVE(name, arguments, outputs) {name, {arguments, outputs}},
#include "torch/operators/derivatives.def"
  };
  constexpr uint64_t kAll = ~uint64_t{0};
  // `expand_copy` and its kin have the derivatives of the views that they copy.
  std::string name = info.name;
  const size_t copy = name.find("_copy");
  if (!known.count(name) && copy != std::string::npos) name.erase(copy, std::strlen("_copy"));
  if (const auto row = known.find(name); row != known.end()) {
    info.differentiable = row->second.arguments;
    info.differentiable_outputs = row->second.outputs;
    return;
  }
  const auto& composites = composites_by_first_argument();
  const auto row = composites.find(info.name);
  if (row != composites.end()) info.differentiable = row->second;
  const bool foreign = info.name.rfind("aten::", 0) != 0;
  if (row == composites.end() &&
      (info.composite_implicit || foreign || info.name == "aten::copy_" || has_no_derivative(info.handle))) {
    info.differentiable = kAll;
  }
  info.differentiable_outputs = kAll;
}

const std::unordered_set<std::string>& queries() {
  static const std::unordered_set<std::string> names = {
      "aten::size.int",
      "aten::size",
      "aten::stride.int",
      "aten::stride",
      "aten::sym_size.int",
      "aten::sym_size",
      "aten::sym_stride.int",
      "aten::sym_stride",
      "aten::sym_numel",
      "aten::sym_storage_offset",
      "aten::sym_is_contiguous",
      "aten::dim",
      "aten::numel",
      "aten::storage_offset",
      "aten::is_same_size",
      "aten::is_floating_point",
      "aten::is_complex",
      "aten::is_signed",
      "aten::is_conj",
      "aten::is_neg",
      "aten::is_contiguous",
      "aten::is_contiguous.memory_format",
      "aten::is_strides_like_format",
      "aten::is_non_overlapping_and_dense",
      "aten::is_inference",
      "aten::is_pinned",
      "aten::_is_zerotensor",
      "aten::is_leaf",
      "aten::_version",
      "aten::output_nr",
      "aten::retains_grad",
      "aten::result_type.Tensor",
      "aten::result_type.Scalar",
      "aten::result_type.Scalar_Tensor",
      "aten::result_type.Scalar_Scalar",
      "aten::can_cast",
      "aten::promote_types",
      "aten::is_distributed",
      "aten::is_vulkan_available",
      "aten::_has_compatible_shallow_copy_type",
      "aten::_cudnn_rnn_flatten_weight",
      "aten::_use_cudnn_ctc_loss",
      "aten::cudnn_is_acceptable",
      "aten::_nested_tensor_size",
      "aten::sparse_dim",
      "aten::dense_dim",
      "aten::qscheme",
      "aten::get_device",
      "aten::_debug_has_internal_overlap",
      "aten::_fused_sdp_choice",
      "aten::is_coalesced",
      "profiler::_record_function_enter_new",
      "profiler::_record_function_enter",
      "profiler::_record_function_exit",
      "profiler::_record_function_exit._RecordFunction",
      "aten::_dimI",
      "aten::_dimV",
  };
  return names;
}

const std::unordered_set<std::string>& data_dependent() {
  static const std::unordered_set<std::string> names = {
      "aten::item",
      "aten::_local_scalar_dense",
      "aten::is_nonzero",
      "aten::equal",
      "aten::allclose",
      "aten::nonzero",
      "aten::nonzero_numpy",
      "aten::argwhere",
      "aten::where",
      "aten::masked_select",
      "aten::unique_dim",
      "aten::_unique",
      "aten::_unique2",
      "aten::unique_consecutive",
      "aten::unique_dim_consecutive",
      "aten::is_set_to",
      "aten::bincount",
      "aten::_assert_async",
      "aten::_assert_async.msg",
      "aten::repeat_interleave.Tensor",
      "aten::_is_any_true",
      "aten::_is_all_true",
      "aten::backward",
      "aten::_backward",
      "aten::set_data",
      "aten::retain_grad",
      "aten::requires_grad_",
      "aten::record_stream",
      "aten::data",
      "aten::set_.source_Storage",
      "aten::set_.source_Storage_storage_offset",
      "aten::set_.source_Tensor",
      "aten::set_",
      "aten::set_.source_Tensor_storage_offset",
      "aten::_nested_tensor_from_tensor_list",
      "aten::ctc_loss.IntList",
      "aten::ctc_loss.Tensor",
      "aten::_pack_padded_sequence",
      "aten::_pad_packed_sequence",
      "aten::_make_dual",
      "aten::_fw_primal",
      "aten::_unpack_dual",
      "aten::_coalesced_",
  };
  // `_is_any_true` and `_is_all_true` give tensors and are taken off below.
  return names;
}

}  // namespace

OperatorInfo::OperatorInfo(const c10::OperatorHandle& op) : handle(op), name(toString(op.operator_name())) {
  const auto& schema = op.schema();
  arguments = schema.arguments().size();
  for (size_t i = 0; i < arguments && i < 64; ++i) {
    const auto& argument = schema.arguments()[i];
    if (holds_tensors(*argument.type())) tensors |= uint64_t{1} << i;
    enumerations.push_back(enumeration_of(argument));
    if (argument.alias_info() && argument.alias_info()->isWrite()) written |= uint64_t{1} << i;
  }
  // Backwards of attention are given the state that their forwards drew with, and are tagged even so.
  const bool is_given_random_state =
      std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
        return argument.name() == "philox_seed" || argument.name() == "rng_state";
      });
  for (const auto& result : schema.returns()) returns_tensors |= holds_tensors(*result.type());
  composite_implicit = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  composite_explicit =
      op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
      (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) &&
       !op.hasKernelForDispatchKey(c10::DispatchKey::CPU));
  random = op.hasTag(at::Tag::nondeterministic_seeded) && !is_given_random_state;
  detaches = name == "aten::detach" || name == "aten::detach_";
  reads_number = name == "aten::item" || name == "aten::_local_scalar_dense";
  id = table_id(*this);
  rule = find_rule(name);
  meta_kernel = hidden_meta_kernel(op);

  dynamic_shape = op.hasTag(at::Tag::dynamic_output_shape);
  read_derivatives(*this);
  const bool value_known = name != "aten::_is_any_true" && name != "aten::_is_all_true";
  if (name == "aten::lift_fresh") {
    kind = OperatorKind::lift_fresh;
  } else if (queries().count(name) || name.starts_with("profiler::")) {
    // Marks for a profiler are no part of the program; the capture makes them as eager code does.
    kind = OperatorKind::query;
  } else if (name.starts_with("aten::") && takes_names(schema)) {
    kind = OperatorKind::data_dependent;  // graphs know no names
  } else if (value_known && (data_dependent().count(name) || op.hasTag(at::Tag::data_dependent_output) ||
                             (dynamic_shape && !rule))) {
    kind = OperatorKind::data_dependent;
  }
}

namespace {

// Operators of libraries that were destroyed: others, with other schemas, come to lie at their addresses.
class GoneOperators final : public c10::OpRegistrationListener {
 public:
  void onOperatorRegistered(const c10::OperatorHandle&) override {}
  void onOperatorDeregistered(const c10::OperatorHandle& op) override {
    const std::lock_guard lock(mutex_);
    schemas_.push_back(&op.schema());
    came_ = true;
  }
  std::vector<const c10::FunctionSchema*> take() {
    if (!came_) return {};
    const std::lock_guard lock(mutex_);
    came_ = false;
    return std::exchange(schemas_, {});
  }

 private:
  std::mutex mutex_;  // the dispatcher holds its own when it calls
  std::vector<const c10::FunctionSchema*> schemas_;
  std::atomic<bool> came_ = false;
};

GoneOperators& gone_operators() {
  static GoneOperators* const gone = [] {
    auto listener = std::make_unique<GoneOperators>();
    GoneOperators* const kept = listener.get();
    // Listens for as long as the process lives.
    static auto* const registration =
        new auto(c10::Dispatcher::singleton().addRegistrationListener(std::move(listener)));
    static_cast<void>(registration);
    return kept;
  }();
  return *gone;
}

}  // namespace

const OperatorInfo& operator_info(const c10::OperatorHandle& handle) {
  static std::mutex mutex;
  static std::unordered_map<const c10::FunctionSchema*, std::unique_ptr<OperatorInfo>> known;
  static auto* const gone = new std::vector<std::unique_ptr<OperatorInfo>>;  // memos may know their addresses
  const std::lock_guard lock(mutex);
  for (const c10::FunctionSchema* schema : gone_operators().take()) {
    if (auto found = known.extract(schema)) gone->push_back(std::move(found.mapped()));
  }
  auto& info = known[&handle.schema()];
  if (!info) info = std::make_unique<OperatorInfo>(handle);
  return *info;
}

}  // namespace stator
