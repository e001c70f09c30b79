// capture/program/rebuild.cpp: making the objects again that outlived a capture.
#include "capture/program/rebuild.h"

namespace stator {

bool Rebuild::make(const std::vector<Ref<>>& tensors, PyObject* const* arguments, Values& values) const {
  const Given given{tensors, arguments};
  values.resize(steps_.size());
  for (size_t i = 0; i < steps_.size(); i++) {
    const Step& step = steps_[i];
    if (!step.begin) {
      values[i] = step.constant;
    } else if (values[i] = step.begin(given); !values[i]) {
      if (PyErr_Occurred()) return false;
    }
  }
  for (const auto& [step, make_whole] : whole_) {
    values[step] = make_whole(values);
    if (!values[step]) return false;
  }
  for (const auto& [step, fill] : filled_) {
    if (!fill(values[step].get(), values)) return false;
  }
  for (const auto& [instance, attributes] : attributed_) {
    if (PyObject_GenericSetDict(values[instance].get(), values[attributes].get(), nullptr) < 0) return false;
  }
  return true;
}

bool Rebuild::make_last(Values& values) const {
  for (const auto& [step, make_late] : late_) {
    values[step] = make_late(values);
    if (!values[step]) return false;
  }
  return true;
}

}  // namespace stator
