// src/torch/domain/left_modes.cpp: reads and writes the thread's modes, around runs of a program.
#include "torch/domain/left_modes.h"

#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>

#include "torch/domain/wrapped_program.h"

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

class LeavingModes final : public WrappedProgram {
 public:
  LeavingModes(std::unique_ptr<TensorProgram> program, const ThreadModes& begin, const ThreadModes& end,
               bool keeps_casts)
      : WrappedProgram(std::move(program)),
        end_(end),
        opened_(end.nesting() - begin.nesting()),
        keeps_casts_(keeps_casts && opened_ > 0) {}

  bool run(PyObject* const* inputs, const shape::Bindings& bindings, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    const int before = autocast_nesting();
    if (keeps_casts_) set_nesting(before + opened_);
    if (!program().run(inputs, bindings, outputs, failure)) {
      set_nesting(before);
      if (keeps_casts_ && before == 0) at::autocast::clear_cache();
      return false;
    }
    end_.restore();
    set_nesting(before + opened_);
    return true;
  }

 private:
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
