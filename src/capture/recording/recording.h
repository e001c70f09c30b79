// capture/recording/recording.h: the state of one capture in progress.
//
// What is done with it stands in free functions, by subject: known_objects.h (which objects may be read and
// written), reads.h, attributes.h and contents.h (each read installs its guard), writes.h (each write is
// journaled), calls.h (what a call may do is decided before it is made), symbols.h and places.h (values that
// change between calls), results.h, capture_stop.h. instructions.h asks them before each instruction.
#ifndef STATOR_CAPTURE_RECORDING_RECORDING_H
#define STATOR_CAPTURE_RECORDING_RECORDING_H

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/bytecode/decode.h"
#include "capture/guards/guard_set.h"
#include "capture/recording/cached_calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/class_reads.h"
#include "capture/recording/context_writes.h"
#include "capture/recording/frame_states.h"
#include "capture/recording/given_arguments.h"
#include "capture/recording/given_tensors.h"
#include "capture/recording/held_locks.h"
#include "capture/recording/journal.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/native_callbacks.h"
#include "capture/recording/placed_values.h"
#include "capture/recording/results.h"
#include "capture/recording/walked_objects.h"

namespace stator {

struct Recording;

class PausedCapture;

struct Recording {
  Recording(const Domain& domain, DomainCapture& capture, GuardSet& guards, UserStack& stack);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  const Domain& domain;
  DomainCapture& capture;
  GuardSet& guards;
  UserStack& stack;

  KnownObjects known;
  Journal journal;  // what was written, and what was there before; a capture always ends with its roll_back()
  CaptureStop stopped;

  // Where the program stands.
  cpython::Frame* frame = nullptr;
  const cpython::Frame* first_frame = nullptr;
  const Instruction* at = nullptr;
  size_t instructions = 0;
  size_t last_mode_call = 0;  // number of the latest one that entered or left a mode
  SegmentEnd end;
  bool takes_up_frame = false;                          // it began in the middle of one
  int fewest_levels = std::numeric_limits<int>::max();  // of recursion that were left to a frame
  std::vector<PendingResult> pending;
  PyObject** stored = nullptr;  // where the value lies that an instruction is about to write
  Py_ssize_t keywords = 0;      // of the call that is looked at: so many of its last arguments have names
  CallSlots slots;
  std::vector<NativeUse> uses;
  WalkedObjects walked;

  // Values that change between calls. The pointers outlive the capture.
  bool has_symbols = false;
  const Varying* varying = nullptr;
  const std::unordered_set<PyObject*>* by_identity = nullptr;  // tensors that are not read from their place
  PlacedValues placed;
  GivenArguments arguments;
  GivenTensors given_tensors;
  std::unordered_map<PyObject*, PyObject*> given_functions;  // and their cells, to the real function
  std::unordered_set<PyObject*> wanted_by_identity;  // what the call brings and must be given as it is
  std::unordered_set<PyObject*> looked_at;  // tensors whose sizes, dtype and the like may have been asked for

  // Calls with a treatment of their own.
  CachedCalls cached;
  HeldLocks locks;
  ContextWrites context_writes;
  ClassReads classes;
  std::unique_ptr<PausedCapture> pause;  // while a function is executed, not captured
  PyObject* given_new_object = nullptr;  // a function whose first argument C code makes for it
  std::optional<uint64_t> writes_before_region;
  int following = 0;  // above zero in a forward that every run makes by itself
  BreakCode followed_reason = BreakCode::kUnknownFunction;  // why that cannot be captured, if it cannot

  std::string wanted_import;  // the module whose loading ended the capture, if it can be loaded beforehand
  std::unordered_map<PyObject*, uint32_t> source_numbers;
  const int callback_depth = PyThreadState_Get()->tracing;  // of tools and audit hooks, at entry
  const bool handles_at_entry = static_cast<bool>(Ref<>::steal(PyErr_GetHandledException()));
};

// The captured call is over: no frame of it is left.
void leave(Recording& recording);

}  // namespace stator

#endif
