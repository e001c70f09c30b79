// capture/program/snapshot.cpp: describing frames, and making them again.
#include "capture/program/snapshot.h"

namespace stator {

using cpython::Frame;

static bool is_free_variable(const PyCodeObject* code, size_t slot) {
  const auto first = static_cast<size_t>(code->co_nlocalsplus - code->co_nfreevars);
  return slot >= first && slot < static_cast<size_t>(code->co_nlocalsplus);
}

bool Snapshot::describe(const SegmentEnd& end, bool has_first, Description& description) {
  behind_ = end.behind;
  break_unit_ = end.unit;
  for (const FrameState& state : end.frames) {
    FrameImage image{kUnset, state.code, state.unit, {}};
    if (!has_first || !frames_.empty()) {
      image.function = description.add(state.function.get());
      if (image.function == Description::kStopped) return false;
    }
    for (size_t i = 0; i < state.slots.size(); i++) {
      size_t step = kUnset;
      if (state.slots[i]) {
        step = is_free_variable(state.code.get(), i) ? kFree : description.add(state.slots[i].get());
        if (step == Description::kStopped) return false;
      }
      image.slots.push_back(step);
    }
    frames_.push_back(std::move(image));
  }
  return true;
}

bool Snapshot::has_room(PyThreadState* thread) const {
  ptrdiff_t words = 0;
  for (const FrameImage& image : frames_) words += cpython::frame_words(image.code.get());
  return thread->datastack_top != nullptr && words < thread->datastack_limit - thread->datastack_top;
}

void Snapshot::fill(const FrameImage& image, Frame* frame, const std::vector<Ref<>>& values) {
  const auto first_free =
      static_cast<size_t>(image.code->co_nlocalsplus) - static_cast<size_t>(image.code->co_nfreevars);
  PyObject* closure = reinterpret_cast<PyFunctionObject*>(frame->function)->func_closure;
  for (size_t i = 0; i < image.slots.size(); i++) {
    const size_t step = image.slots[i];
    PyObject* value = nullptr;
    if (step == kFree) {
      value = PyTuple_GET_ITEM(closure, static_cast<Py_ssize_t>(i - first_free));
    } else if (step != kUnset) {
      value = values[step].get();
    }
    frame->localsplus[i] = Py_XNewRef(value);
  }
  frame->stacktop = static_cast<int>(image.slots.size());
}

std::vector<Frame*> Snapshot::make(PyThreadState* thread, Frame* first,
                                   const std::vector<Ref<>>& values) const {
  std::vector<Frame*> frames;
  for (const FrameImage& image : frames_) {
    Frame* frame = frames.empty() ? first : nullptr;
    if (frame != nullptr) {
      // What the frame held dies when it holds the new values: that may run code, which may look at it.
      const std::vector<PyObject*> old(frame->localsplus, frame->localsplus + frame->stacktop);
      fill(image, frame, values);
      for (PyObject* value : old) Py_XDECREF(value);
    } else {
      frame = cpython::reserve(thread, image.code.get());
      auto* function = reinterpret_cast<PyFunctionObject*>(Py_NewRef(values[image.function].get()));
      cpython::initialise(frame, function, image.code.get(), 0);
      fill(image, frame, values);
    }
    cpython::Unit* at = cpython::code_start(image.code.get()) + image.unit;
    if (&image == &frames_.back()) {
      cpython::go_on_at(frame, at);
    } else {
      cpython::stand_on(frame, at);
    }
    frames.push_back(frame);
  }
  return frames;
}

}  // namespace stator
