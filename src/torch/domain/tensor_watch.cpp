// src/torch/domain/tensor_watch.cpp: metadata of many tensors, compared by memory without a call for each: a
// parameter costs a few nanoseconds.
//
// What a guard looks at lies in one stretch of a TensorImpl: sizes and strides (up to five of them), dtype,
// device, dispatch keys. A snapshot of that stretch is compared whole. It holds more than guards ask for, so
// a difference is no answer: the guards are then asked one by one, and a new snapshot is taken.
#include "torch/domain/tensor_watch.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

namespace stator {
namespace {

using torch::autograd::AutogradMeta;

// The way to members of TensorImpl that only classes derived from it may name.
struct Layout : c10::TensorImpl {
  static constexpr auto first = &Layout::sizes_and_strides_;
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

const AutogradMeta* autograd_meta(const c10::TensorImpl* impl) {
  return static_cast<const AutogradMeta*>(impl->autograd_meta());
}

const c10::TensorImpl* impl_of(PyObject* object) { return THPVariable_Unpack(object).unsafeGetTensorImpl(); }

// Where no tensor has a history of its own, this is what an AutogradMeta says.
const AutogradMeta& no_autograd() {
  static const AutogradMeta none;
  return none;
}

struct Watched {
  PyObject* object;
  PyTypeObject* type;
  const c10::TensorImpl* impl;
  const AutogradMeta* meta;  // or nullptr
  const AutogradMeta* read;  // the same, or one that says the same as none
  const Metadata* metadata;  // parameters have few different ones
  bool requires_grad;
  bool leaf;

  Watched(PyObject* tensor, const Metadata* expected)
      : object(tensor),
        type(Py_TYPE(tensor)),
        impl(impl_of(tensor)),
        meta(autograd_meta(impl)),
        read(meta != nullptr ? meta : &no_autograd()),
        metadata(expected),
        requires_grad(read->requires_grad_),
        leaf(!read->grad_fn_) {}

  // The addresses are known beforehand: no load waits for another one.
  bool unchanged() const {
    return Py_TYPE(object) == type && impl_of(object) == impl && autograd_meta(impl) == meta &&
           same(metadata_of(impl), metadata->data()) && read->requires_grad_ == requires_grad &&
           !read->grad_fn_ == leaf;
  }
};

class Watch final : public TensorWatch {
 public:
  explicit Watch(const std::vector<PyObject*>& tensors) : tensors_(tensors) { renew(); }

  bool unchanged() const override {
    for (const Watched& watched : watched_) {
      if (!watched.unchanged()) return false;
    }
    return comparable_;
  }

  void renew() override {
    watched_.clear();
    metadata_.clear();
    watched_.reserve(tensors_.size());
    comparable_ = true;
    for (PyObject* tensor : tensors_) {
      comparable_ = impl_of(tensor)->dim() <= static_cast<int64_t>(kInlineDims);
      if (!comparable_) return;
      Metadata now;
      std::copy_n(metadata_of(impl_of(tensor)), kWords, now.begin());
      watched_.emplace_back(tensor, &*metadata_.insert(now).first);
    }
  }

 private:
  std::vector<PyObject*> tensors_;  // borrowed
  std::vector<Watched> watched_;
  std::set<Metadata> metadata_;
  bool comparable_ = true;  // otherwise every guard is asked
};

}  // namespace

std::unique_ptr<TensorWatch> watch_tensors(const std::vector<PyObject*>& tensors) {
  return std::make_unique<Watch>(tensors);
}

}  // namespace stator
