// capture/program/effects.cpp: from the journal to writes, and making them.
#include "capture/program/effects.h"

#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"

namespace stator {

void Effects::add(PyObject* target, std::vector<Ref<>> finals, Apply apply) {
  effects_.push_back({target, {}, std::move(finals), {}, std::move(apply)});
}

bool Effects::collect(const Journal& journal, const Recording& recording) {
  for (const auto& written : journal.written()) {
    written->collect(*this, recording);
    if (PyErr_Occurred()) return false;
  }
  return true;
}

void Effects::name_targets(Description& description) const {
  for (const Effect& effect : effects_) description.note_written(effect.target);
}

bool Effects::describe(Description& description) {
  Recording& recording = description.recording;
  for (Effect& effect : effects_) {
    if (std::optional<ArgumentPath> path = path_behind(recording, effect.target)) {
      effect.path = std::move(*path);
      effect.target = nullptr;
    } else if (!is_pinned(recording, effect.target)) {
      return stop(recording, BreakCode::kUnknownMutation, Py_TYPE(effect.target)->tp_name);
    }
    for (const Ref<>& value : effect.finals) {
      const size_t step = value ? description.add(value.get()) : FinalValues::kNothing;
      if (step == Description::kStopped) return false;
      effect.values.push_back(step);
      write_iterators_ = write_iterators_ || (value && description.is_late(step));
    }
    effect.finals.clear();
  }
  return !write_iterators_ || !description.walks_through_written() ||
         stop(recording, BreakCode::kUnguardable,
              "an iterator over what is written, which is written itself");
}

bool Effects::apply(const std::vector<Ref<>>& values, PyObject* const* arguments) const {
  // A write may let go of what another one writes to.
  std::vector<Ref<>> targets;
  targets.reserve(effects_.size());
  for (const Effect& effect : effects_) {
    PyObject* target = effect.target != nullptr ? effect.target : effect.path.find(arguments);
    if (target == nullptr) return false;
    targets.push_back(Ref<>::share(target));
  }
  for (size_t i = 0; i < effects_.size(); i++) {
    if (!effects_[i].apply(targets[i].get(), FinalValues(effects_[i].values, values))) return false;
  }
  return true;
}

}  // namespace stator
