// src/torch/domain/left_modes.cpp: reads and writes the thread's modes, around runs of a program.
#include "torch/domain/left_modes.h"

#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>

namespace stator {
namespace {

int autocast_nesting() {
  at::autocast::increment_nesting();
  return at::autocast::decrement_nesting();
}

void set_nesting(int nesting) {
  int now = autocast_nesting();
  for (; now < nesting; now++) at::autocast::increment_nesting();
  for (; now > nesting; now--) at::autocast::decrement_nesting();
}

void set_autocast(c10::DeviceType device, const AutocastState& state) {
  at::autocast::set_autocast_enabled(device, state.enabled);
  at::autocast::set_autocast_dtype(device, state.dtype);
}

class LeavingModes final : public TensorProgram {
 public:
  LeavingModes(std::unique_ptr<TensorProgram> program, const ThreadModes& begin, const ThreadModes& end,
               bool keeps_casts)
      : program_(std::move(program)),
        end_(end),
        opened_(end.nesting() - begin.nesting()),
        keeps_casts_(keeps_casts && opened_ > 0) {}

  bool run(PyObject* const* inputs, const shape::Bindings& bindings, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    const int before = autocast_nesting();
    if (keeps_casts_) set_nesting(before + opened_);
    if (!program_->run(inputs, bindings, outputs, failure)) {
      set_nesting(before);
      if (keeps_casts_ && before == 0) at::autocast::clear_cache();
      return false;
    }
    end_.restore();
    set_nesting(before + opened_);
    return true;
  }
  bool depends_on_overlap() const override { return program_->depends_on_overlap(); }
  bool overlaps_as_captured(PyObject* const* inputs) const override {
    return program_->overlaps_as_captured(inputs);
  }
  std::string graph_text() const override { return program_->graph_text(); }
  size_t node_count() const override { return program_->node_count(); }
  std::vector<LineId> node_lines() const override { return program_->node_lines(); }
  PyObject* graph_module() const override { return program_->graph_module(); }

 private:
  std::unique_ptr<TensorProgram> program_;
  ThreadModes end_;
  int opened_;  // regions of autocast; negative: closed
  bool keeps_casts_;
};

}  // namespace

ThreadModes::ThreadModes() : state_(current_modes()), nesting_(autocast_nesting()) {}

void ThreadModes::restore() const {
  c10::GradMode::set_enabled(state_.grad);
  if (c10::get_default_dtype_as_scalartype() != state_.default_dtype)
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(state_.default_dtype));
  set_autocast(c10::kCPU, state_.cpu);
  set_autocast(c10::kCUDA, state_.cuda);
  at::autocast::set_autocast_cache_enabled(state_.autocast_cache);
  if (AttentionKernels::current() != state_.attention) state_.attention.make_current();
  set_nesting(nesting_);
}

uint64_t lasting_mode_bits() {
  ModeState inference;
  inference.inference = true;
  const uint64_t its_bit = inference.word() ^ ModeState().word();
  return ((uint64_t{1} << ModeState::kBits) - 1) & ~its_bit;
}

std::unique_ptr<TensorProgram> leaving_modes(std::unique_ptr<TensorProgram> program, const ThreadModes& begin,
                                             const ThreadModes& end, bool keeps_casts) {
  if (program == nullptr || begin == end) return program;
  return std::make_unique<LeavingModes>(std::move(program), begin, end, keeps_casts);
}

}  // namespace stator
