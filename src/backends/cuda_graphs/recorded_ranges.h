// src/backends/cuda_graphs/recorded_ranges.h: ranges of a program that are recorded once for each set of
// sizes, then replayed.
//
// A recording reads and writes the memory that it was made with. Tensors that come from outside of the range
// keep their place (parameters), or are copied to one that the recording owns; a tensor that was in another
// place than the call before is copied from then on, a parameter once that has happened several times.
// Results are made in the recorder's pool, where the next replay overwrites them: whatever leaves the ranges
// is copied out, so nobody ever sees that happen. Tensors that alias a tensor from outside are made anew on
// the tensor of the call. Only what is lent (Loan) is not copied.
#pragma once

#include <ATen/core/ivalue.h>

#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "backends/cuda_graphs/recorder.h"
#include "backends/native/program.h"

namespace stator::cuda_graphs {

// What the ranges need to know of the graph, by value.
struct GraphFacts {
  std::vector<uint32_t> alias_set;                  // its first value
  std::vector<char> is_fixed;                       // an input that seldom lies in another place
  std::vector<char> is_used_outside;                // by something that is in no range
  std::vector<std::vector<uint32_t>> written_sets;  // by instruction
  size_t lent_from = SIZE_MAX;                      // outputs from here on are lent
};

// Outputs of a run that were not copied out: a forward lends its backward what it keeps. It stands behind the
// outputs of the run, as a capsule; while somebody holds it the program runs instruction by instruction, so
// that nothing overwrites what is lent.
class Loan final : public torch::CustomClassHolder {};

class RecordedRanges final : public native::RangeRunner {
 public:
  RecordedRanges(native::Program program, GraphFacts facts, c10::Device device);
  ~RecordedRanges() override;

  // Of all programs, since the process began.
  static uint64_t replay_count();

  void enter(const shape::Bindings& bindings) override;
  void leave() noexcept override;
  const native::Range* at(size_t instruction) const override;
  void run(const native::Range& range, std::vector<c10::IValue>& values, const Natively& natively,
           size_t& at) override;
  void release(std::vector<c10::IValue>& outputs) override;

 private:
  struct Input;
  struct Result;
  struct Recording;
  struct Slot;  // a range with its recordings

  void begin_run(const shape::Bindings& bindings);
  enum class Served { yes, no };
  Served replay(Slot& slot, Recording& recording, std::vector<c10::IValue>& values);
  std::unique_ptr<Recording> record(Slot& slot, std::vector<c10::IValue>& values, const Natively& natively);
  void run_again(const Slot& slot, Recording& recording);
  void give_results(const Recording& recording, std::vector<c10::IValue>& values);
  bool moves(uint32_t value, const std::vector<c10::IValue>& values) const;
  void note_move(Slot& slot, size_t use, const std::vector<c10::IValue>& values);
  bool is_in_pool(const at::Tensor& tensor) const;
  bool shares_memory_it_must_not(const Slot& slot, const Recording& recording,
                                 const std::vector<c10::IValue>& values) const;
  void give_up(Slot& slot, size_t at, const char* reason);
  void add_slot(native::Range range);

  native::Program program_;  // the instructions
  GraphFacts facts_;
  c10::Device device_;
  std::unique_ptr<Recorder> recorder_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> by_instruction_;  // where one begins
  std::recursive_mutex mutex_;
  int depth_ = 0;  // of runs inside of runs: a function in the graph may call the compiled function again
  bool is_plain_ = false;
  std::vector<int64_t> key_;
  // Of the run:
  std::vector<Recording*> replayed_;
  const Natively* natively_ = nullptr;
  std::vector<c10::IValue>* values_ = nullptr;

  size_t recordings_ = 0;
  std::optional<c10::weak_intrusive_ptr<Loan>> loan_;  // the last one
  // No longer of use; a pool must not become empty while something is recorded into it.
  std::vector<std::unique_ptr<Recording>> retired_;
};

}  // namespace stator::cuda_graphs
