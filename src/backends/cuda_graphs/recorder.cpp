// src/backends/cuda_graphs/recorder.cpp: torch's CUDA graphs, by way of stator/backends/cuda_graphs.py.
#include "backends/cuda_graphs/recorder.h"

#include <torch/csrc/utils/pybind.h>

#include <atomic>

namespace stator::cuda_graphs {
namespace {

std::atomic<bool> emulates{false};

// A reference that may be dropped without the GIL.
class Held {
 public:
  explicit Held(py::object object) : object_(object.release().ptr()) {}
  ~Held() {
    if (!object_ || Py_IsInitialized() == 0) return;
    const py::gil_scoped_acquire locked;
    Py_DECREF(object_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  py::handle get() const { return object_; }

 private:
  PyObject* object_;
};

class CudaGraph final : public Recorded {
 public:
  explicit CudaGraph(py::object replay) : replay_(std::move(replay)) {}
  void replay() override {
    const py::gil_scoped_acquire locked;
    PyObject* result = PyObject_CallNoArgs(replay_.get().ptr());
    if (!result) throw py::error_already_set();
    Py_DECREF(result);
  }

 private:
  Held replay_;
};

class CudaRecorder final : public Recorder {
 public:
  explicit CudaRecorder(py::object recorder) : recorder_(std::move(recorder)) {}

  std::unique_ptr<Recorded> record(const std::function<void()>& work,
                                   const std::function<void()>& /*again*/) override {
    const py::gil_scoped_acquire locked;
    std::exception_ptr thrown;
    const py::cpp_function run([&] {
      const py::gil_scoped_release released;
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
    });
    const py::object failed = py::cpp_function([&] { return thrown != nullptr; });
    py::object replay = recorder_.get().attr("record")(run, failed);
    if (thrown) std::rethrow_exception(thrown);
    return std::make_unique<CudaGraph>(std::move(replay));
  }
  bool is_recorded() const override {
    const py::gil_scoped_acquire locked;
    return recorder_.get().attr("is_recorded")().cast<bool>();
  }
  void follow_last_replay() override {
    const py::gil_scoped_acquire locked;
    recorder_.get().attr("follow_last_replay")();
  }

 private:
  Held recorder_;
};

class Emulated final : public Recorded {
 public:
  explicit Emulated(std::function<void()> again) : again_(std::move(again)) {}
  void replay() override { again_(); }

 private:
  std::function<void()> again_;
};

class EmulatedRecorder final : public Recorder {
 public:
  std::unique_ptr<Recorded> record(const std::function<void()>& work,
                                   const std::function<void()>& again) override {
    work();
    return std::make_unique<Emulated>(again);
  }
  bool works_at_once() const override { return true; }
  bool is_recorded() const override { return false; }
  void follow_last_replay() override {}
};

}  // namespace

void emulate_on_cpu(bool on) { emulates = on; }
bool emulates_on_cpu() { return emulates; }

std::unique_ptr<Recorder> make_recorder(c10::Device device) {
  if (device.is_cpu()) return std::make_unique<EmulatedRecorder>();
  const py::gil_scoped_acquire locked;
  const py::object module = py::module_::import("stator.backends.cuda_graphs");
  return std::make_unique<CudaRecorder>(module.attr("Recorder")(static_cast<int>(device.index())));
}

namespace {

py::object logger() { return py::module_::import("logging").attr("getLogger")("stator.cuda_graphs"); }

}  // namespace

void log_not_recorded(size_t node, const char* reason) {
  const py::gil_scoped_acquire locked;
  logger().attr("info")("node %d is not part of a CUDA graph: %s", node, reason);
}

void log_recorded_anew(uint32_t value, const char* reason) {
  const py::gil_scoped_acquire locked;
  logger().attr("debug")("a CUDA graph is recorded anew for value %d: %s", value, reason);
}

}  // namespace stator::cuda_graphs
