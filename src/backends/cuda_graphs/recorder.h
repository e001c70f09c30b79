// src/backends/cuda_graphs/recorder.h: work on a device, recorded once and launched as a whole.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>

namespace stator::cuda_graphs {

// A recording. To replay it is to do the work again, on the memory that it was recorded with.
class Recorded {
 public:
  virtual ~Recorded() = default;
  virtual void replay() = 0;  // on the current stream
};

// All recordings of a recorder share a pool of memory. Not to be called by two threads at once.
class Recorder {
 public:
  virtual ~Recorder() = default;
  // `work` makes its results in the pool; the device does nothing yet. What `work` throws is thrown on, and
  // so is what cannot be recorded; the recorder can be used again then. `again` does the same work on the
  // same memory, for recorders that cannot record.
  virtual std::unique_ptr<Recorded> record(const std::function<void()>& work,
                                           const std::function<void()>& again) = 0;
  // Whether `work` is done when it is recorded, not at the first replay.
  virtual bool works_at_once() const { return false; }
  // Whether somebody else records the current stream's work.
  virtual bool is_recorded() const = 0;
  // Work of now on the current stream waits for the last replay, if that was on another one.
  virtual void follow_last_replay() = 0;
};

std::unique_ptr<Recorder> make_recorder(c10::Device device);

// One line of the log stator.cuda_graphs.
void log_not_recorded(size_t node, const char* reason);
void log_recorded_anew(uint32_t value, const char* reason);

// Tests on machines without CUDA: CPU tensors are "recorded" by running the work again at each replay.
void emulate_on_cpu(bool on);
bool emulates_on_cpu();

}  // namespace stator::cuda_graphs
