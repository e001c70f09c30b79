// src/backends/cuda_graphs/recorded_ranges.cpp: record, replay, and what crosses the borders of a recording.
#include "backends/cuda_graphs/recorded_ranges.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "torch/tracing/caught_error.h"

namespace stator::cuda_graphs {
namespace {

std::atomic<uint64_t> replays{0};

constexpr size_t kMaxSizes = 16;        // recordings of one range
constexpr size_t kMaxRecordings = 128;  // of a program, in its life
constexpr size_t kMinInstructions = 2;  // a shorter range costs more than it saves
constexpr uint8_t kOften = 3;           // a tensor that moved so many times will do so again

// Settings that choose kernels, and that no guard of a capture looks at: kernels read them when they are
// launched.
void add_settings(std::vector<int64_t>& key) {
  at::Context& context = at::globalContext();
  int64_t bits = 0;
  const auto add = [&](bool flag) { bits = bits * 2 + (flag ? 1 : 0); };
  add(context.userEnabledCuDNN());
  add(context.benchmarkCuDNN());
  add(context.deterministicCuDNN());
  add(context.deterministicAlgorithms());
  add(context.deterministicFillUninitializedMemory());
  add(context.userEnabledFlashSDP());
  add(context.userEnabledMemEfficientSDP());
  add(context.userEnabledMathSDP());
  add(context.userEnabledCuDNNSDP());
  add(context.allowFP16BF16ReductionMathSDP());
  key.push_back(bits);
  key.push_back(
      static_cast<int64_t>(context.float32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL)));
  key.push_back(
      static_cast<int64_t>(context.float32Precision(at::Float32Backend::CUDA, at::Float32Op::CONV)));
  key.push_back(static_cast<int64_t>(context.allowFP16ReductionCuBLAS()));
  key.push_back(static_cast<int64_t>(context.allowBF16ReductionCuBLAS()));
}

const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl();
}

// A tensor of its own on the same memory: what is done to it is not done to the recording's.
at::Tensor another(const at::Tensor& tensor) { return tensor.variable_data(); }

int64_t bytes_in_front(const at::Tensor& tensor) {
  return tensor.storage_offset() * static_cast<int64_t>(tensor.itemsize());
}

// Memory of their own for tensors of the pool. Those that share one storage share the new one. It is filled
// at the end, in one launch for all tensors of a type.
class Copies {
 public:
  at::Tensor copy(const at::Tensor& tensor) {
    const at::NoGradGuard no_gradients;
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto [found, is_new] = copies_.try_emplace(storage_of(tensor));
    if (is_new) {
      at::Tensor to = fills_its_storage(tensor) ? copy_of(tensor) : copy_of(bytes_of(tensor));
      found->second = to.storage();
      if (fills_its_storage(tensor)) return to;
    }
    at::Tensor made = at::empty({0}, tensor.options());
    made.set_(found->second, tensor.storage_offset(), tensor.sizes(), tensor.strides());
    made._set_conj(tensor.is_conj());
    made._set_neg(tensor.is_neg());
    return made;
  }

  void fill() {
    const at::NoGradGuard no_gradients;
    const at::AutoDispatchBelowADInplaceOrView below;
    for (auto& [dtype, pairs] : pairs_) at::_foreach_copy_(pairs.to, pairs.from, /*non_blocking=*/true);
  }

 private:
  struct Pairs {
    std::vector<at::Tensor> to, from;
  };

  static bool fills_its_storage(const at::Tensor& tensor) {
    return tensor.nbytes() == tensor.storage().nbytes() && tensor.is_non_overlapping_and_dense() &&
           !tensor.is_conj() && !tensor.is_neg();
  }
  static at::Tensor bytes_of(const at::Tensor& tensor) {
    const auto bytes = static_cast<int64_t>(tensor.storage().nbytes());
    return at::empty({0}, tensor.options().dtype(at::kByte)).set_(tensor.storage(), 0, {bytes}, {1});
  }
  at::Tensor copy_of(const at::Tensor& tensor) {
    Pairs& pairs = pairs_[tensor.scalar_type()];
    pairs.from.push_back(tensor);
    pairs.to.push_back(at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options()));
    return pairs.to.back();
  }

  std::unordered_map<const c10::StorageImpl*, c10::Storage> copies_;
  std::unordered_map<c10::ScalarType, Pairs> pairs_;
};

}  // namespace

// A tensor from outside of the range.
struct RecordedRanges::Input {
  uint32_t value = 0;
  at::Tensor copy;          // the recording's own; undefined: it reads the caller's memory
  void* address = nullptr;  // of that
  bool is_written = false;
  std::vector<int64_t> sizes, strides;
  c10::ScalarType dtype = c10::ScalarType::Float;

  bool is_copied() const { return copy.defined(); }
  bool lies_as(const at::Tensor& tensor) const {
    return tensor.sizes() == sizes && tensor.strides() == strides && tensor.scalar_type() == dtype;
  }
};

struct RecordedRanges::Result {
  uint32_t value = 0;
  at::Tensor tensor;      // in the recording's memory; undefined:
  int input = -1;         // the input whose memory it is
  bool is_input = false;  // and it is that tensor itself
  int64_t offset = 0;     // behind the input's, in bytes
  std::vector<int64_t> sizes, strides;
  c10::ScalarType dtype = c10::ScalarType::Float;
  bool is_conjugate = false, is_negative = false;  // other than the input
  bool leaves = false;                             // something outside of ranges uses its memory

  at::Tensor view_of(const at::Tensor& tensor) const;
};

// Views of memory as another type than the input's go by way of all of the memory: a part of it may not be
// divided into elements of that type along its last dimension.
at::Tensor RecordedRanges::Result::view_of(const at::Tensor& tensor) const {
  const int64_t bytes = bytes_in_front(tensor) + offset;
  const auto item = static_cast<int64_t>(c10::elementSize(dtype));
  at::Tensor view = tensor;
  if (dtype != tensor.scalar_type()) {
    const auto own_item = static_cast<int64_t>(tensor.itemsize());
    const int64_t wide = std::max(item, own_item);
    const int64_t count = static_cast<int64_t>(tensor.storage().nbytes()) / wide * wide / own_item;
    if (view.is_conj()) view = at::_conj(view);
    view = view.as_strided({count}, {1}, 0).view(dtype);
  }
  view = view.as_strided(sizes, strides, bytes / item);
  if (is_conjugate) view = at::_conj(view);
  if (is_negative) view = at::_neg_view(view);
  return view;
}

struct RecordedRanges::Recording {
  std::vector<int64_t> key;
  std::vector<Input> inputs;
  std::vector<Result> results;
  std::unordered_set<const c10::StorageImpl*> memory;  // of results, in the pool
  std::unique_ptr<Recorded> recorded;
};

struct RecordedRanges::Slot {
  native::Range range;
  bool is_plain = false;
  std::vector<char> copies;    // by use: it is copied
  std::vector<uint8_t> moves;  // by use: how often recordings were given up since it was in another place
  std::vector<char> written;
  std::vector<std::vector<int64_t>> seen;  // keys that ran once
  std::vector<void*> last;                 // addresses of the run before
  std::vector<std::unique_ptr<Recording>> recordings;
};

RecordedRanges::RecordedRanges(native::Program program, GraphFacts facts, c10::Device device)
    : program_(std::move(program)), facts_(std::move(facts)), device_(device) {
  by_instruction_.resize(facts_.written_sets.size());
  for (native::Range& range : program_.ranges()) add_slot(std::move(range));
}

RecordedRanges::~RecordedRanges() = default;

uint64_t RecordedRanges::replay_count() { return replays.load(std::memory_order_relaxed); }

void RecordedRanges::add_slot(native::Range range) {
  if (range.end - range.begin < kMinInstructions) return;
  auto slot = std::make_unique<Slot>();
  slot->copies.resize(range.uses.size());
  slot->moves.resize(range.uses.size());
  std::unordered_set<uint32_t> sets;
  for (size_t i = range.begin; i < range.end; ++i)
    sets.insert(facts_.written_sets[i].begin(), facts_.written_sets[i].end());
  for (uint32_t value : range.uses) slot->written.push_back(sets.contains(facts_.alias_set[value]) ? 1 : 0);
  by_instruction_[range.begin] = slot.get();
  slot->range = std::move(range);
  slots_.push_back(std::move(slot));
}

void RecordedRanges::enter(const shape::Bindings& bindings) {
  mutex_.lock();
  ++depth_;
  try {
    if (depth_ == 1) begin_run(bindings);
  } catch (...) {
    leave();  // nobody else does: the run has not begun
    throw;
  }
}

void RecordedRanges::begin_run(const shape::Bindings& bindings) {
  is_plain_ = false;
  replayed_.clear();
  key_.assign(bindings.ints.begin(), bindings.ints.end());
  for (double real : bindings.reals) key_.push_back(std::bit_cast<int64_t>(real));
  add_settings(key_);
  if (loan_ && !loan_->expired()) is_plain_ = true;
  if (!recorder_) recorder_ = make_recorder(device_);
  if (recorder_->is_recorded()) is_plain_ = true;
  if (!is_plain_) recorder_->follow_last_replay();
}

void RecordedRanges::leave() noexcept {
  --depth_;
  mutex_.unlock();
}

const native::Range* RecordedRanges::at(size_t instruction) const {
  if (is_plain_ || depth_ > 1) return nullptr;
  const Slot* slot = by_instruction_[instruction];
  return slot && !slot->is_plain ? &slot->range : nullptr;
}

void RecordedRanges::run(const native::Range& range, std::vector<c10::IValue>& values,
                         const Natively& natively, size_t& at) {
  Slot& slot = *by_instruction_[range.begin];
  natively_ = &natively;
  values_ = &values;
  const auto end_values = [&] {
    for (uint32_t value : slot.range.dead) values[value] = {};
  };
  const auto known =
      std::ranges::find_if(slot.recordings, [&](const auto& each) { return each->key == key_; });
  if (known != slot.recordings.end()) {
    if (replay(slot, **known, values) == Served::yes) return end_values();
    retired_.push_back(std::move(*known));
    slot.recordings.erase(known);
  }
  std::vector<void*> addresses;
  for (uint32_t value : slot.range.uses) addresses.push_back(values[value].toTensor().data_ptr());
  const bool ran_before = std::ranges::find(slot.seen, key_) != slot.seen.end();
  const bool may_record = slot.recordings.size() < kMaxSizes && recordings_ < kMaxRecordings;
  if (!ran_before || !may_record) {
    // The first run starts what kernels start once: handles, workspaces, the choice of algorithms.
    if (!ran_before && slot.seen.size() < kMaxSizes) slot.seen.push_back(key_);
    slot.last = std::move(addresses);
    natively(values, at);
    return;
  }
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] != slot.last[i] && moves(slot.range.uses[i], values)) slot.copies[i] = 1;
  }
  slot.last = std::move(addresses);
  std::unique_ptr<Recording> made = record(slot, values, natively);
  if (!made) {
    natively(values, at);
    return;
  }
  ++recordings_;
  retired_.clear();
  slot.recordings.push_back(std::move(made));
  Recording& recording = *slot.recordings.back();
  if (!recorder_->works_at_once()) recording.recorded->replay();
  replayed_.push_back(&recording);
  for (const Input& input : recording.inputs) {
    if (input.is_copied() && input.is_written) {
      const at::NoGradGuard no_gradients;
      values[input.value].toTensor().copy_(input.copy, /*non_blocking=*/true);
    }
  }
  give_results(recording, values);
  end_values();
}

// Whether a tensor that was in another place before will be in yet another one: a parameter will not, nor
// what another range made.
bool RecordedRanges::moves(uint32_t value, const std::vector<c10::IValue>& values) const {
  return facts_.is_fixed[value] == 0 && !is_in_pool(values[value].toTensor());
}

// The tensor of a use has moved since the range was recorded.
void RecordedRanges::note_move(Slot& slot, size_t use, const std::vector<c10::IValue>& values) {
  if (moves(slot.range.uses[use], values) || ++slot.moves[use] == kOften) slot.copies[use] = 1;
}

bool RecordedRanges::is_in_pool(const at::Tensor& tensor) const {
  const c10::StorageImpl* storage = storage_of(tensor);
  return std::ranges::any_of(replayed_,
                             [&](const Recording* each) { return each->memory.contains(storage); });
}

// What is written must not be seen through another input that was copied by itself.
bool RecordedRanges::shares_memory_it_must_not(const Slot& slot, const Recording& recording,
                                               const std::vector<c10::IValue>& values) const {
  if (std::ranges::find(slot.written, 1) == slot.written.end()) return false;
  std::unordered_map<const c10::StorageImpl*, size_t> users;
  for (const Input& input : recording.inputs) ++users[storage_of(values[input.value].toTensor())];
  return std::ranges::any_of(recording.inputs, [&](const Input& input) {
    return input.is_copied() && users[storage_of(values[input.value].toTensor())] > 1;
  });
}

RecordedRanges::Served RecordedRanges::replay(Slot& slot, Recording& recording,
                                              std::vector<c10::IValue>& values) {
  bool fits = true;
  for (size_t i = 0; i < recording.inputs.size(); ++i) {
    const Input& input = recording.inputs[i];
    const at::Tensor& tensor = values[input.value].toTensor();
    if (!input.lies_as(tensor)) {
      log_recorded_anew(input.value, "it has other sizes, strides or another type");
      return Served::no;
    }
    if (input.is_copied() || tensor.data_ptr() == input.address) continue;
    fits = false;
    note_move(slot, i, values);
    log_recorded_anew(input.value, slot.copies[i] != 0 ? "it moved; it is copied from now on" : "it moved");
  }
  if (!fits || shares_memory_it_must_not(slot, recording, values)) return Served::no;
  const at::NoGradGuard no_gradients;
  for (Input& input : recording.inputs) {
    if (!input.is_copied()) continue;
    const at::AutoDispatchBelowADInplaceOrView below;
    input.copy.copy_(values[input.value].toTensor(), /*non_blocking=*/true);
  }
  recording.recorded->replay();
  replays.fetch_add(1, std::memory_order_relaxed);
  replayed_.push_back(&recording);
  for (const Input& input : recording.inputs) {
    if (!input.is_written) continue;
    const at::Tensor& tensor = values[input.value].toTensor();
    if (input.is_copied()) {
      tensor.copy_(input.copy, /*non_blocking=*/true);
    } else if (!tensor.is_inference()) {
      tensor.unsafeGetTensorImpl()->bump_version();
    }
  }
  give_results(recording, values);
  return Served::yes;
}

std::unique_ptr<RecordedRanges::Recording> RecordedRanges::record(Slot& slot,
                                                                  std::vector<c10::IValue>& values,
                                                                  const Natively& natively) {
  auto made = std::make_unique<Recording>();
  made->key = key_;
  std::vector<c10::IValue> own(values.size());
  std::vector<at::Tensor> given;  // by input
  {
    const at::NoGradGuard no_gradients;
    const at::AutoDispatchBelowADInplaceOrView below;
    for (size_t i = 0; i < slot.range.uses.size(); ++i) {
      const uint32_t value = slot.range.uses[i];
      const at::Tensor& tensor = values[value].toTensor();
      Input input;
      input.value = value;
      input.address = tensor.data_ptr();
      input.is_written = slot.written[i] != 0;
      input.sizes = tensor.sizes().vec();
      input.strides = tensor.strides().vec();
      input.dtype = tensor.scalar_type();
      if (slot.copies[i] != 0) {
        input.copy = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
        input.copy.copy_(tensor, /*non_blocking=*/true);
      }
      given.push_back(input.is_copied() ? input.copy : tensor);
      own[value] = given.back();
      made->inputs.push_back(std::move(input));
    }
  }
  if (shares_memory_it_must_not(slot, *made, values)) {
    slot.is_plain = true;
    return nullptr;
  }
  size_t at = slot.range.begin;
  const auto again = [this, &slot, recording = made.get()] { run_again(slot, *recording); };
  try {
    made->recorded = recorder_->record([&] { natively(own, at); }, again);
  } catch (const std::exception& error) {
    give_up(slot, at, error.what());
    drop_caught();
    return nullptr;
  }
  std::unordered_map<const c10::StorageImpl*, int> of_input;
  for (size_t i = 0; i < given.size(); ++i) of_input.try_emplace(storage_of(given[i]), static_cast<int>(i));
  std::unordered_set<const c10::StorageImpl*> leaving;
  for (uint32_t value : slot.range.makes) {
    Result result;
    result.value = value;
    result.tensor = own[value].toTensor();
    const auto found = of_input.find(storage_of(result.tensor));
    if (found != of_input.end()) {
      const auto itself =
          std::ranges::find_if(given, [&](const at::Tensor& each) { return each.is_same(result.tensor); });
      result.is_input = itself != given.end();
      result.input = result.is_input ? static_cast<int>(itself - given.begin()) : found->second;
      const at::Tensor& of = given[static_cast<size_t>(result.input)];
      result.offset = bytes_in_front(result.tensor) - bytes_in_front(of);
      result.sizes = result.tensor.sizes().vec();
      result.strides = result.tensor.strides().vec();
      result.dtype = result.tensor.scalar_type();
      result.is_conjugate = result.tensor.is_conj() != of.is_conj();
      result.is_negative = result.tensor.is_neg() != of.is_neg();
      result.tensor.reset();  // the caller's memory is not kept
    } else {
      made->memory.insert(storage_of(result.tensor));
      if (facts_.is_used_outside[value] != 0) leaving.insert(storage_of(result.tensor));
    }
    made->results.push_back(std::move(result));
  }
  for (Result& result : made->results) {
    result.leaves = result.tensor.defined() && leaving.contains(storage_of(result.tensor));
  }
  return made;
}

// Of recorders that cannot record: the work once more, its results put where they were the first time.
void RecordedRanges::run_again(const Slot& slot, Recording& recording) {
  std::vector<c10::IValue> scratch(facts_.alias_set.size());
  for (const Input& input : recording.inputs) {
    if (input.is_copied()) {
      scratch[input.value] = input.copy;
    } else {
      scratch[input.value] = (*values_)[input.value];
    }
  }
  size_t number = slot.range.begin;
  (*natively_)(scratch, number);
  for (Result& result : recording.results) {
    if (result.input < 0) result.tensor.copy_(scratch[result.value].toTensor());
  }
}

void RecordedRanges::give_results(const Recording& recording, std::vector<c10::IValue>& values) {
  Copies copies;
  for (const Result& result : recording.results) {
    if (result.input >= 0) {
      const at::Tensor& tensor = values[recording.inputs[static_cast<size_t>(result.input)].value].toTensor();
      if (result.is_input) {
        values[result.value] = tensor;
      } else {
        values[result.value] = result.view_of(tensor);
      }
      continue;
    }
    values[result.value] = result.leaves ? copies.copy(result.tensor) : another(result.tensor);
  }
  copies.fill();
}

void RecordedRanges::release(std::vector<c10::IValue>& outputs) {
  if (replayed_.empty() || depth_ > 1) return;
  Copies copies;
  bool lends = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].isTensor()) continue;
    const at::Tensor& tensor = outputs[i].toTensor();
    if (!tensor.defined() || !tensor.has_storage() || !is_in_pool(tensor)) continue;
    if (i >= facts_.lent_from) {
      lends = true;
    } else {
      outputs[i] = copies.copy(tensor);
    }
  }
  copies.fill();
  if (!lends) return;
  auto loan = c10::make_intrusive<Loan>();
  loan_ = c10::weak_intrusive_ptr<Loan>(loan);
  outputs.push_back(c10::IValue::make_capsule(std::move(loan)));
}

// The instruction that could not be recorded runs by itself from now on; what is beside it stays recorded.
void RecordedRanges::give_up(Slot& slot, size_t at, const char* reason) {
  log_not_recorded(program_.node_of(at), reason);
  slot.is_plain = true;
  if (at >= slot.range.end) return;  // nobody knows which one it was
  const native::Range range = slot.range;
  add_slot(program_.part_of(range, range.begin, at));
  add_slot(program_.part_of(range, at + 1, range.end));
}

}  // namespace stator::cuda_graphs
