// src/torch/inference/memo.cpp: memo keys from boxed arguments.
#include "torch/inference/memo.h"

#include <ATen/core/Generator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <bit>

#include "torch/tracing/mode_state.h"
#include "torch/tracing/tracer.h"

namespace stator {

namespace {

// Tags keep arguments of different kinds from spelling the same words.
enum Tag : uint64_t {
  none = 1,
  tensor,
  undefined,
  integer,
  real,
  boolean,
  complex,
  list,
  device,
  text,
  generator
};

struct Writer {
  MemoKey& key;

  void word(uint64_t w) { key.words.push_back(w); }

  void write(const at::Tensor& t) {
    if (!t.defined()) return word(undefined);
    c10::TensorImpl* impl = t.unsafeGetTensorImpl();
    const auto keys = impl->key_set();
    const Tracer* tracer = as_tracer(t);
    // Expressions mean something in their capture only.
    if (keys.has(c10::DispatchKey::Python) || impl->has_symbolic_sizes_strides() ||
        (tracer && tracer->symbolic_meta()) || t.layout() != c10::kStrided) {
      key.valid = false;
      return;
    }
    const bool wrapped = impl->is_wrapped_number();
    uint64_t word0 = tensor;
    word0 |= static_cast<uint64_t>(c10::typeMetaToScalarType(impl->dtype())) << 8;
    word0 |= static_cast<uint64_t>(static_cast<uint8_t>(impl->device().type())) << 16;
    word0 |= static_cast<uint64_t>(static_cast<uint8_t>(impl->device().index())) << 24;
    word0 |= static_cast<uint64_t>(impl->dim()) << 32;
    word0 |= static_cast<uint64_t>(wrapped) << 40;
    if (impl->requires_grad()) word0 |= uint64_t{t.is_leaf() ? 3u : 1u} << 41;
    word0 |= static_cast<uint64_t>(keys.has(c10::DispatchKey::Conjugate)) << 43;
    word0 |= static_cast<uint64_t>(keys.has(c10::DispatchKey::Negative)) << 44;
    word0 |= static_cast<uint64_t>(impl->is_inference()) << 45;
    word0 |= static_cast<uint64_t>(keys.has(c10::DispatchKey::ZeroTensor)) << 46;
    word(word0);
    if (impl->dim() > 0) {
      for (int64_t s : impl->sizes()) word(static_cast<uint64_t>(s));
      for (int64_t s : impl->strides()) word(static_cast<uint64_t>(s));
    }
    word(static_cast<uint64_t>(impl->storage_offset()));
  }

  void write(const c10::IValue& v) {
    if (v.isTensor()) return write(v.toTensor());
    if (v.isNone()) return word(none);
    if (v.isInt()) return word(integer), word(static_cast<uint64_t>(v.toInt()));
    if (v.isDouble()) return word(real), word(std::bit_cast<uint64_t>(v.toDouble()));
    if (v.isBool()) return word(boolean | static_cast<uint64_t>(v.toBool()) << 8);
    if (v.isList()) {
      const auto elements = v.toListRef();
      word(list | elements.size() << 8);
      for (const c10::IValue& element : elements) write(element);
      return;
    }
    if (v.isDevice()) {
      const c10::Device d = v.toDevice();
      return word(device | uint64_t{static_cast<uint8_t>(d.type())} << 8 |
                  uint64_t{static_cast<uint8_t>(d.index())} << 16);
    }
    if (v.isComplexDouble()) {
      const auto c = v.toComplexDouble();
      word(complex);
      return word(std::bit_cast<uint64_t>(c.real())), word(std::bit_cast<uint64_t>(c.imag()));
    }
    if (v.isString()) {
      const auto string = v.toStringView();
      word(text | string.size() << 8);
      return word(std::hash<std::string_view>{}(string));
    }
    if (v.isGenerator()) return word(generator);
    key.valid = false;
  }
};

}  // namespace

void MemoKey::build(const OperatorInfo& info, std::span<const c10::IValue> arguments) {
  words.clear();
  valid = true;
  words.push_back(reinterpret_cast<uint64_t>(&info));
  const bool below =
      c10::impl::tls_local_dispatch_key_set().excluded_.has(c10::DispatchKey::AutogradFunctionality);
  words.push_back(current_modes().word() | static_cast<uint64_t>(below) << 4 |
                  kernel_settings() << ModeState::kBits);
  Writer writer{*this};
  for (const c10::IValue& argument : arguments) {
    if (argument.isIntList()) {
      const auto numbers = argument.toIntList();
      writer.word(list | uint64_t{1} << 63 | numbers.size() << 8);
      for (int64_t n : numbers) writer.word(static_cast<uint64_t>(n));
    } else {
      writer.write(argument);
    }
    if (!valid) return;
  }
  uint64_t h = 0x9E3779B97F4A7C15;
  for (uint64_t w : words) {
    h = (h ^ w) * 0xD6E8FEB86659FD93;
    h ^= h >> 32;
  }
  hash = h;
}

const Inference* Memo::find(const MemoKey& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.get();
}

const Inference& Memo::add(const MemoKey& key, Inference inference) {
  if (entries_.size() >= kLimit) entries_.clear();
  auto& entry = entries_[key];
  entry = std::make_unique<Inference>(std::move(inference));
  return *entry;
}

}  // namespace stator
