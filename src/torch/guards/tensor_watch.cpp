// src/torch/guards/tensor_watch.cpp: metadata of many tensors, compared by memory without a call for each: a
// parameter costs a few nanoseconds.
//
// What a guard looks at lies in one stretch of a TensorImpl: sizes and strides (up to five of them), dtype,
// device, dispatch keys. A snapshot of that stretch is compared whole. It holds more than guards ask for, so
// a difference is no answer: the guards are then asked one by one, and a new snapshot is taken.
#include "torch/guards/tensor_watch.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <set>

#include "torch/guards/swap_notices.h"

namespace stator {
namespace {

using torch::autograd::AutogradMeta;

// The way to members of TensorImpl that only classes derived from it may name.
struct Layout : c10::TensorImpl {
  static constexpr auto first = &Layout::sizes_and_strides_;
  static constexpr auto behind_autograd = &Layout::extra_meta_;
  // A TensorImpl is no plain struct, for which alone the standard promises an offset; g++ and clang know it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static constexpr size_t words() {
    return (offsetof(Layout, key_set_) - offsetof(Layout, sizes_and_strides_)) / sizeof(uint64_t) + 1;
  }
#pragma GCC diagnostic pop
};

constexpr size_t kInlineDims = 5;  // more of them lie outside of the TensorImpl
constexpr size_t kWords = Layout::words();

using Metadata = std::array<uint64_t, kWords>;
// Two words at once, at any address of a word.
typedef uint64_t Pair __attribute__((vector_size(16), aligned(8), may_alias));  // NOLINT(modernize-use-using)

const uint64_t* metadata_of(const c10::TensorImpl* impl) {
  return reinterpret_cast<const uint64_t*>(&(impl->*Layout::first));
}

bool same(const uint64_t* a, const uint64_t* b) {
  Pair difference{a[kWords - 1] ^ b[kWords - 1], 0};
  for (size_t i = 0; i + 1 < kWords; i += 2)
    difference |= *reinterpret_cast<const Pair*>(a + i) ^ *reinterpret_cast<const Pair*>(b + i);
  return (difference[0] | difference[1]) == 0;
}

// TensorImpl::autograd_meta() without a call of another library, a tenth of a look. The member is private;
// its neighbour is not.
const AutogradMeta* autograd_meta(const c10::TensorImpl* impl) {
  return reinterpret_cast<const AutogradMeta* const*>(&(impl->*Layout::behind_autograd))[-1];
}

const c10::TensorImpl* impl_of(PyObject* object) { return THPVariable_Unpack(object).unsafeGetTensorImpl(); }

bool can_compare(const c10::TensorImpl* impl) {
  if (impl->is_python_dispatch()) return false;  // it is what its parts are
  return impl->dim() <= static_cast<int64_t>(kInlineDims) && autograd_meta(impl) == impl->autograd_meta();
}

// Where no tensor has a history of its own, this is what an AutogradMeta says.
const AutogradMeta& no_autograd() {
  static const AutogradMeta none;
  return none;
}

// What many tensors have in common: parameters have few different ones.
struct Kind {
  PyTypeObject* type;
  Metadata metadata;
  bool requires_grad;  // the flag of its own, which only a leaf has
  bool leaf;
  bool has_autograd;

  explicit Kind(PyObject* tensor) : type(Py_TYPE(tensor)) {
    const c10::TensorImpl* impl = impl_of(tensor);
    const AutogradMeta* autograd = autograd_meta(impl);
    std::copy_n(metadata_of(impl), kWords, metadata.begin());
    has_autograd = autograd != nullptr;
    requires_grad = has_autograd && autograd->requires_grad_;
    leaf = !has_autograd || !autograd->grad_fn_;
  }

  auto operator<=>(const Kind&) const = default;
};

// Where 10,000 tensors are more than the processor's cache holds, the cache lines that are read are what
// counts: this is less than half of one, and the addresses are known beforehand, so that no load waits for
// another one.
struct Watched {
  const c10::TensorImpl* impl;
  const AutogradMeta* autograd;  // of the tensor, or one that says the same as none
  const Kind* kind;

  Watched(PyObject* tensor, const Kind* expected)
      : impl(impl_of(tensor)),
        autograd(expected->has_autograd ? autograd_meta(impl) : &no_autograd()),
        kind(expected) {}

  // The Python object is still this tensor: only then is the tensor's memory known to be there.
  bool is(PyObject* object) const { return Py_TYPE(object) == kind->type && impl_of(object) == impl; }

  bool unchanged() const {
    return autograd_meta(impl) == (kind->has_autograd ? autograd : nullptr) &&
           same(metadata_of(impl), kind->metadata.data()) && same_autograd();
  }

 private:
  // Autograd refuses to write to a leaf that requires gradients: its history, on a line of its own, stays
  // away as long as the flag is there.
  bool same_autograd() const {
    if (autograd->requires_grad_ != kind->requires_grad) return false;
    return (kind->requires_grad && kind->leaf) || !autograd->grad_fn_ == kind->leaf;
  }
};

// From this many on, threads of torch's own look at the tensors together: 10,000 of them do not fit the cache
// of one processor, where each costs 17 to 20 ns then, but fit those of two, where it costs 7.
constexpr int64_t kWorthSharing = 4096;
// A process that was forked has none of the threads that OpenMP believes it has, and would wait for them.
const pid_t loaded_by = getpid();

class Watch final : public TensorWatch {
 public:
  // Those that are told of come first.
  explicit Watch(const std::vector<PinnedTensor>& tensors) {
    const bool swaps_are_told = SwapNotices::told();
    for (const PinnedTensor& pinned : tensors) {
      if (pinned.told_of && swaps_are_told) objects_.push_back(pinned.tensor);
    }
    told_of_ = static_cast<int64_t>(objects_.size());
    for (const PinnedTensor& pinned : tensors) {
      if (!pinned.told_of || !swaps_are_told) objects_.push_back(pinned.tensor);
    }
    renew();
  }

  bool unchanged() override {
    if (!comparable_) return false;
    if (swaps_.came()) doubtful_ = true;
    backwards_ = !backwards_;  // what the last look left in the cache comes first
    if (!look()) return false;
    swaps_.settle();
    doubtful_ = false;
    return true;
  }

  void doubt() override { doubtful_ = true; }

  void renew() override {
    watched_.clear();
    kinds_.clear();
    watched_.reserve(objects_.size());
    comparable_ = true;
    for (PyObject* tensor : objects_) {
      comparable_ = can_compare(impl_of(tensor));
      if (!comparable_) return;
      watched_.emplace_back(tensor, &*kinds_.emplace(tensor).first);
    }
    swaps_.settle();
    doubtful_ = false;
  }

 private:
  bool look() const {
    const auto count = static_cast<int64_t>(watched_.size());
    if (count < kWorthSharing || getpid() != loaded_by) return look(0, count);
    std::atomic<bool> all = true;
    at::parallel_for(0, count, kWorthSharing / 2, [&](int64_t begin, int64_t end) {
      if (!look(begin, end)) all.store(false, std::memory_order_relaxed);
    });
    return all;
  }

  bool look(int64_t begin, int64_t end) const {
    const int64_t sure = doubtful_ ? begin : std::clamp(told_of_, begin, end);
    for (int64_t i = sure; i < end; i++) {
      if (!watched_[i].is(objects_[i])) return false;
    }
    const Watched* const all = watched_.data();
    const int64_t step = backwards_ ? -1 : 1;
    int64_t at = backwards_ ? end - 1 : begin;
    for (int64_t left = end - begin; left > 0; left--, at += step) {
      if (!all[at].unchanged()) return false;
    }
    return true;
  }

  std::vector<PyObject*> objects_;  // borrowed
  int64_t told_of_ = 0;             // how many of them
  std::vector<Watched> watched_;    // of each object
  std::set<Kind> kinds_;
  SwapNotices swaps_;
  bool doubtful_ = false;  // the first ones are looked at like the others
  bool backwards_ = false;
  bool comparable_ = true;  // otherwise every guard is asked
};

}  // namespace

std::unique_ptr<TensorWatch> watch_tensors(const std::vector<PinnedTensor>& tensors) {
  return std::make_unique<Watch>(tensors);
}

}  // namespace stator
