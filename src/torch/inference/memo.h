// src/torch/inference/memo.h: remembers inferences by operator and argument metadata.
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "torch/inference/inference.h"

namespace stator {

// All that an inference may depend on, as words. Not usable (`valid` false) if an argument has no such form.
struct MemoKey {
  std::vector<uint64_t> words;
  uint64_t hash = 0;
  bool valid = true;

  void build(const OperatorInfo& info, std::span<const c10::IValue> arguments);
  bool operator==(const MemoKey& other) const { return hash == other.hash && words == other.words; }
};

class Memo {
 public:
  const Inference* find(const MemoKey& key) const;
  const Inference& add(const MemoKey& key, Inference inference);
  void clear() { entries_.clear(); }
  size_t size() const { return entries_.size(); }

 private:
  struct Hash {
    size_t operator()(const MemoKey& key) const { return key.hash; }
  };
  // Values that change from call to call (a learning rate) must not fill memory: past this the memo starts
  // anew.
  static constexpr size_t kLimit = 200000;
  std::unordered_map<MemoKey, std::unique_ptr<Inference>, Hash> entries_;
};

}  // namespace stator
