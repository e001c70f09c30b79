// capture/engine/engine.h: the state of the engine: what each thread does with frames, what each code object
// carries, what was counted.
#ifndef STATOR_CAPTURE_ENGINE_ENGINE_H
#define STATOR_CAPTURE_ENGINE_ENGINE_H

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "capture/bytecode/decode.h"
#include "capture/cpython/frame.h"

namespace stator {

// What the hook does with a frame of a thread.
enum class Mode : uint8_t { off, interpret, capture };

// A call whose arguments CPython is binding: the hook keeps the frame that results instead of running it.
struct Binding {
  PyObject* function;
  cpython::Frame* frame = nullptr;  // set by the hook
  // Owned; used where CPython pops the frame before it can be run.
  std::vector<PyObject*> locals;
  PyObject* name_space = nullptr;
};

class CalleeCaptures;
struct Recording;

class ThreadContext {
 public:
  Mode mode() const { return mode_; }
  // Serves the frames that start, where nothing is recorded; or nullptr.
  CalleeCaptures* callees() const { return callees_; }
  // Below this address the native stack is not used any further; 0: not known yet.
  uintptr_t stack_reserve() const { return stack_reserve_; }
  // Each answers what was there before.
  Mode change_mode(Mode mode) { return change(mode_, mode); }
  CalleeCaptures* change_callees(CalleeCaptures* callees) { return change(callees_, callees); }
  uintptr_t change_stack_reserve(uintptr_t address) { return change(stack_reserve_, address); }

  // Whether a frame that starts on the native stack at this address is none of this thread's wishes, and may
  // be passed on: one load and compare.
  bool passes_on(uintptr_t address) const { return address > pass_above_; }

  Binding* binding = nullptr;
  int evaluators = 0;              // the interpreter's activations on the native stack
  Recording* recording = nullptr;  // of the capture in progress
  bool in_other_engine = false;    // another library runs a frame of this thread: see other_engine.h
  bool own_frame = false;          // the next frame is that of a function that is known not to be served
  bool plain = false;              // a program runs: its frames are nobody's to capture
  bool keeps_gil = false;          // a capture is not undone yet: see atomic_capture.h
  int instruction_limit = -1;      // each frame is handed over after so many instructions; -1: never

 private:
  template <class T>
  T change(T& member, T value) {
    const T before = std::exchange(member, value);
    const bool wanted = mode_ != Mode::off || callees_ != nullptr || stack_reserve_ == 0;
    pass_above_ = wanted ? UINTPTR_MAX : stack_reserve_;
    return before;
  }

  uintptr_t pass_above_ = UINTPTR_MAX;
  uintptr_t stack_reserve_ = 0;
  CalleeCaptures* callees_ = nullptr;
  Mode mode_ = Mode::off;
};

// One per thread. The static model costs one load on the path that every Python call takes while the hook is
// installed.
extern constinit thread_local ThreadContext thread_context __attribute__((tls_model("initial-exec")));

// Why a frame was handed over to CPython, apart from opcodes.
enum class HandOver : uint8_t { tools, limit, count };

struct Statistics {
  uint64_t frames = 0;       // taken up
  uint64_t finished = 0;     // run to their end: returned, raised or yielded
  uint64_t passed = 0;       // left to CPython unlooked
  uint64_t handed_over = 0;  // given up in the middle
  uint64_t captures = 0;     // of frames that were captured on their own
  uint64_t stops = 0;        // captures given up
  uint64_t served = 0;       // frames that a capture answered
  uint64_t unrestored = 0;   // objects that a roll-back left other than they were
  std::array<uint64_t, kOpcodeCount> by_opcode{};
  std::array<uint64_t, static_cast<size_t>(HandOver::count)> by_reason{};
};

// What a code object carries; dies with it.
struct CodeState {
  bool skip = false;  // its frames belong to CPython (the engine's own functions)
  bool undecodable = false;
  std::unique_ptr<DecodedCode> decoded;
};

class Engine {
 public:
  static Engine& get();

  // Called once, by the module's initialisation. False with a Python error set on failure.
  bool start();

  // nullptr without an error when there is no memory for it.
  CodeState* code_state(PyCodeObject* code);

  // While at least one user holds it, every Python call of the interpreter enters the hook.
  void acquire_hook();
  void release_hook();
  // Takes the hook out at once (a tool is active) or puts it back; users keep their hold.
  void suspend_hook();
  void resume_hook();
  bool hook_installed() const;

  // The evaluator of another library: see other_engine.h.
  bool belongs_to(PyInterpreterState* interpreter) const { return interpreter == interpreter_; }
  StatorEvaluator other_evaluator_now() const;
  void set_other_evaluator(StatorEvaluator evaluator);
  // One that may have been installed before its library was managed.
  void find_other_evaluator();

  void interpret_everything(bool on);
  bool everything() const { return everything_; }
  // Captures every function that is called, in every thread; nullptr: no more. The engine does not own it.
  void capture_everything(CalleeCaptures* captures);
  CalleeCaptures* captured_everything() const { return captured_everything_; }

  bool capturing = false;  // one capture at a time in the process; guarded by the GIL

  Statistics statistics;

 private:
  void meet_other_evaluator(StatorEvaluator found);

  PyInterpreterState* interpreter_ = nullptr;
  Py_ssize_t extra_index_ = -1;
  int users_ = 0;
  bool placed_ = false;  // the hook was put into the slot, and not taken out by us
  bool buried_ = false;  // another library put its evaluator above ours before we managed it
  bool everything_ = false;
  CalleeCaptures* captured_everything_ = nullptr;
};

}  // namespace stator

#endif
