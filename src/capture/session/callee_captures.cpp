// capture/session/callee_captures.cpp: serving frames that are about to start.
#include "capture/session/callee_captures.h"

#include "capture/cpython/cell_variable.h"
#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/traits.h"
#include "capture/engine/engine.h"
#include "capture/interpreter/interpreter.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/mark.h"
#include "capture/session/callee_notes.h"
#include "capture/session/plain_scope.h"

namespace stator {

CalleeNotes callee_notes;

using cpython::Frame;

namespace {

// The arguments of a frame that has not started, as a call would give them.
struct FrameArguments {
  std::vector<PyObject*> arguments;  // borrowed from the frame
  Py_ssize_t positional = 0;
  Ref<> keywords;  // names

  // False: no memory.
  bool take(Frame* frame) {
    const PyCodeObject* code = frame->code;
    PyObject* const* locals = frame->localsplus;
    const int named = code->co_argcount, only_keyword = code->co_kwonlyargcount;
    int next = named + only_keyword;
    arguments.assign(locals, locals + named);
    if (code->co_flags & CO_VARARGS) {
      PyObject* rest = locals[next++];
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rest); i++) arguments.push_back(PyTuple_GET_ITEM(rest, i));
    }
    positional = static_cast<Py_ssize_t>(arguments.size());
    PyObject* more = code->co_flags & CO_VARKEYWORDS ? locals[next] : nullptr;
    if (only_keyword == 0 && (more == nullptr || PyDict_GET_SIZE(more) == 0)) return true;
    auto names = Ref<>::steal(PyList_New(0));
    for (int i = 0; names && i < only_keyword; i++) {
      arguments.push_back(locals[named + i]);
      if (PyList_Append(names.get(), PyTuple_GET_ITEM(code->co_localsplusnames, named + i)) < 0) return false;
    }
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (names && more != nullptr && PyDict_Next(more, &position, &key, &value)) {
      arguments.push_back(value);
      if (PyList_Append(names.get(), key) < 0) return false;
    }
    keywords = Ref<>::steal(names ? PyList_AsTuple(names.get()) : nullptr);
    return static_cast<bool>(keywords);
  }
  Call call() const { return {arguments.data(), positional, keywords.get()}; }
};

}  // namespace

// Looks at the frame itself: this is asked for every Python call below a break.
bool CalleeCaptures::wants(const Frame* frame) const {
  if (every_) return true;
  const PyCodeObject* code = frame->code;
  PyObject* const* locals = frame->localsplus;
  const int named = code->co_argcount + code->co_kwonlyargcount;
  const auto is_tensor = [&](PyObject* object) { return object != nullptr && domain_.is_tensor(object); };
  int next = 0;
  while (next < named) {
    if (is_tensor(locals[next++])) return true;
  }
  if (code->co_flags & CO_VARARGS) {
    PyObject* rest = locals[next++];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rest); i++) {
      if (is_tensor(PyTuple_GET_ITEM(rest, i))) return true;
    }
  }
  if (!(code->co_flags & CO_VARKEYWORDS)) return false;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(locals[next], &position, &key, &value)) {
    if (is_tensor(value)) return true;
  }
  return false;
}

CalleeCaptures::OfCode::Worth& CalleeCaptures::worth_of(OfCode& of, const Frame* frame) const {
  constexpr size_t kMostObjects = 64;
  PyObject* first = frame->code->co_argcount > 0 ? frame->localsplus[0] : nullptr;
  // A frame that has begun keeps the variables of inner functions in cells.
  if (first != nullptr && PyCell_Check(first) && cpython::is_cell_variable(frame->code, 0))
    first = PyCell_GET(first);
  if (first != nullptr && domain_.is_tensor(first)) first = nullptr;
  if (first != nullptr && of.worth.size() >= kMostObjects && of.worth.count(first) == 0) first = nullptr;
  return of.worth[first];
}

void CalleeCaptures::note_served(OfCode& of, const Frame* frame) const {
  constexpr int kPatience = 8;
  OfCode::Worth& worth = worth_of(of, frame);
  if (every_ || worth.served_without_operator < 0) return;
  for (const CaptureCache::Serving& serving : of.cache.entries()) {
    if (serving.entry->node_count() != 0) {
      worth.served_without_operator = -1;
      return;
    }
  }
  if (++worth.served_without_operator >= kPatience) worth.left_to_python = true;
}

std::shared_ptr<CalleeCaptures::OfCode> CalleeCaptures::find(PyCodeObject* code) {
  auto* object = reinterpret_cast<PyObject*>(code);
  std::shared_ptr<OfCode>& of = codes_[code];
  // Another code object may stand where one was freed.
  if (of && PyWeakref_GET_OBJECT(of->code.get()) == object) return of;
  of = nullptr;
  auto reference = Ref<>::steal(PyWeakref_NewRef(object, nullptr));
  const char* name = PyUnicode_AsUTF8(code->co_qualname);
  if (!reference || name == nullptr) {
    drop_error();
    codes_.erase(code);
    return nullptr;
  }
  of = std::make_shared<OfCode>(OfCode{std::move(reference), name, {}, {}, {}});
  of->cache.varying.policy = options_.varying != nullptr ? options_.varying->policy : DynamicSizes::never;
  return of;
}

// nullptr: the interpreter does not run it.
static const DecodedCode* decoded_code(PyCodeObject* code) {
  CodeState* state = Engine::get().code_state(code);
  return state != nullptr && !state->skip ? decoded(*state, code) : nullptr;
}

void CalleeCaptures::note_break(const ProgramPlace& place) {
  const DecodedCode* code = place.code ? decoded_code(place.code.get()) : nullptr;
  if (code != nullptr) code->note_break(code->at_unit(code->start + place.unit));
}

static void tell(PyObject* function, const CaptureStop& stop) {
  if (stop_policy.note == nullptr) return;
  const ErrorScope errors;
  const PlainScope plain;
  stop_policy.note(function, stop);
}

namespace {

// Tells of captures, of those that end in a break, and of guards that no longer hold.
class CalleeListener final : public CacheListener {
 public:
  CalleeListener(const CaptureCache& cache, PyObject* function) : cache_(cache), function_(function) {}
  bool captures_again(const std::string& guard) override {
    if (callee_notes.captures_again == nullptr) return true;
    const ErrorScope errors;
    const PlainScope plain;
    callee_notes.captures_again(function_, guard);
    return true;
  }
  bool captured(const Entry& entry) override {
    if (callee_notes.captured != nullptr) {
      const ErrorScope errors;
      const PlainScope plain;
      callee_notes.captured(function_, entry);
    }
    if (entry.snapshot() && !cache_.breaks().empty()) tell(function_, cache_.breaks().back());
    return true;
  }

 private:
  const CaptureCache& cache_;
  PyObject* function_;
};

}  // namespace

static void note_break(const Snapshot& snapshot) {
  CalleeCaptures::note_break({1, Ref<PyCodeObject>::share(snapshot.code()), snapshot.unit()});
}

// The frame that the snapshot makes again is the first of `frames`.
static std::vector<Frame*> frames_at(PyThreadState* thread, Frame* first, OpenEnd& end) {
  const Snapshot& snapshot = *end.entry->snapshot();
  note_break(snapshot);
  std::vector<Frame*> frames = snapshot.make(thread, first, end.values);
  end.values.clear();  // from now on they live as long as the program lets them
  return frames;
}

PyObject* CalleeCaptures::go_on(PyThreadState* thread, OpenEnd& end) {
  const std::vector<Frame*> frames = frames_at(thread, nullptr, end);
  Frame* first = frames.front();
  PyObject* result = interpret_segments(thread, frames, *this, end.entry->snapshot()->is_behind());
  if constexpr (!cpython::kEvaluatorClearsFrame) stator_clear_frame(thread, first);
  return result;
}

bool CalleeCaptures::serve_whole(PyThreadState* thread, Frame* frame, OfCode& of, PyObject** result) {
  if (of.cache.given_up()) return false;
  FrameArguments arguments;
  if (!arguments.take(frame)) {
    drop_error();
    return false;
  }
  const Call call = arguments.call();
  CaptureOptions options = options_;
  options.may_end_early = true;
  CalleeListener listener(of.cache, frame->function);
  OpenEnd end;
  switch (of.cache.call(domain_, frame->function, call, options, limit_, true, listener, result, end)) {
    case CaptureCache::Answer::served:
      note_served(of, frame);
      if constexpr (cpython::kEvaluatorClearsFrame) stator_clear_frame(thread, frame);
      return true;
    case CaptureCache::Answer::open:
      *result = interpret_segments(thread, frames_at(thread, frame, end), *this,
                                   end.entry->snapshot()->is_behind());
      return true;
    case CaptureCache::Answer::stopped:
      note_break(of.cache.stops().back().place);
      tell(frame->function, of.cache.stops().back());
      if (!of.cache.stops().back().is_error) break;
      stop_policy.raise(of.cache.stops().back());
      *result = nullptr;
      if constexpr (cpython::kEvaluatorClearsFrame) stator_clear_frame(thread, frame);
      return true;
    default:
      break;
  }
  drop_error();
  return false;
}

// Where breaks are known in the frame's code.
bool CalleeCaptures::run_in_segments(PyThreadState* thread, Frame* frame, OfCode& of, PyObject** result) {
  constexpr int kPatience = 8;
  const DecodedCode* code = decoded_code(frame->code);
  if (code == nullptr || code->breaks.empty()) return false;
  OfCode::Worth& worth = worth_of(of, frame);
  if (worth.runs >= 0 && ++worth.runs > kPatience) {
    worth.left_to_python = true;
    return false;
  }
  *result = interpret_segments(thread, {frame}, *this);
  return true;
}

// Of a generator or coroutine, between two of its yields, which end a segment.
bool CalleeCaptures::serve_resumed(PyThreadState* thread, Frame* frame, PyObject** result) {
  constexpr int kPatience = 8;
  const PyCodeObject* code = frame->code;
  const auto is_tensor = [&](PyObject* value) { return value != nullptr && domain_.is_tensor(value); };
  const bool holds_tensor =
      every_ || std::any_of(frame->localsplus, frame->localsplus + frame->stacktop, is_tensor);
  if (!(code->co_flags & kMakesObject) || !(code->co_flags & CO_OPTIMIZED) || !holds_tensor ||
      !PyFunction_Check(frame->function) || mark_of(frame->function).mark == Mark::skipped ||
      cpython::python_recursion(thread) <= 0 || decoded_code(frame->code) == nullptr)
    return false;
  try {
    const std::shared_ptr<OfCode> of = find(frame->code);
    if (of == nullptr) return false;
    OfCode::Worth& worth = worth_of(*of, frame);
    if (worth.left_to_python) return false;
    if (!every_ && worth.runs >= 0 && ++worth.runs > kPatience) {
      worth.left_to_python = true;
      return false;
    }
    *result = interpret_segments(thread, {frame}, *this, /*at_once=*/true);
    return true;
  } catch (const std::exception& error) {
    domain_.raise_caught(error);
    drop_error();
    return false;
  }
}

bool CalleeCaptures::serve_call(PyThreadState* thread, Frame* frame, bool own, PyObject** result) {
  if (frame->owner == STATOR_OWNED_BY_GENERATOR) return !own && serve_resumed(thread, frame, result);
  const PyCodeObject* code = frame->code;
  if (frame->owner != STATOR_OWNED_BY_THREAD || code->co_flags & kMakesObject ||
      !(code->co_flags & CO_OPTIMIZED) || !PyFunction_Check(frame->function) || (!own && !wants(frame)) ||
      mark_of(frame->function).mark == Mark::skipped || cpython::python_recursion(thread) <= 0 ||
      decoded_code(frame->code) == nullptr) {
    return false;
  }
  try {
    const std::shared_ptr<OfCode> of = find(frame->code);
    if (of == nullptr || worth_of(*of, frame).left_to_python) return false;
    if (!own && serve_whole(thread, frame, *of, result)) return true;
    return run_in_segments(thread, frame, *of, result);
  } catch (const std::exception& error) {
    domain_.raise_caught(error);
    drop_error();
    return false;
  }
}

namespace {

// The values of a frame in the middle, as arguments.
struct FrameValues {
  FramePlace place;
  std::vector<PyObject*> arguments;  // borrowed from the frame

  FrameValues(Frame* frame, const Instruction& next)
      : place{frame,
              next.begin() - cpython::code_start(frame->code),
              {},
              {},
              static_cast<size_t>(frame->stacktop)} {
    const int locals = frame->code->co_nlocalsplus, free = locals - frame->code->co_nfreevars;
    for (int i = 0; i < frame->stacktop; i++) {
      const bool is_free = i >= free && i < locals;
      PyObject* value = frame->localsplus[i];
      place.given.push_back(value != nullptr && !is_free);
      if (!place.given.back()) continue;
      if (i < locals && cpython::is_cell_variable(frame->code, i) && PyCell_Check(value))
        place.cells.push_back(arguments.size());
      arguments.push_back(value);
    }
    for (size_t i : place.cells) {
      PyObject* content = PyCell_GET(arguments[i]);
      place.given.push_back(content != nullptr);
      if (content != nullptr) arguments.push_back(content);
    }
  }
  Call call() const { return {arguments.data(), static_cast<Py_ssize_t>(arguments.size()), nullptr, &place}; }
};

}  // namespace

FrameSegments::Answer CalleeCaptures::serve(PyThreadState* thread, Frame* frame, const Instruction& next,
                                            PyObject** result, std::vector<Frame*>& inner) {
  try {
    const DecodedCode* code = decoded_code(frame->code);
    const std::shared_ptr<OfCode> of = find(frame->code);
    if (code == nullptr || of == nullptr) return Answer::none;
    OfCode::Worth& worth = worth_of(*of, frame);
    if (worth.left_to_python) return Answer::given_up;
    // The exception that is raised again is no value: it goes on natively.
    if (next.opcode == Opcode::RERAISE) return Answer::none;
    const auto [found, is_new] = of->segments.try_emplace(code->index(&next));
    CaptureCache& cache = found->second;
    if (is_new) cache.varying.policy = of->cache.varying.policy;
    if (cache.given_up()) return Answer::none;
    const FrameValues values(frame, next);
    CaptureOptions options = options_;
    options.may_end_early = true;
    CalleeListener listener(cache, frame->function);
    OpenEnd end;
    switch (
        cache.call(domain_, frame->function, values.call(), options, limit_, true, listener, result, end)) {
      case CaptureCache::Answer::served:
        worth.runs = -1;
        return Answer::returned;
      case CaptureCache::Answer::open: {
        worth.runs = -1;
        inner = frames_at(thread, frame, end);
        inner.erase(inner.begin());
        return end.entry->snapshot()->is_behind() ? Answer::moved_on : Answer::moved;
      }
      case CaptureCache::Answer::stopped:
        note_break(cache.stops().back().place);
        tell(frame->function, cache.stops().back());
        break;
      default:
        break;
    }
    drop_error();
    return Answer::none;
  } catch (const std::exception& error) {
    domain_.raise_caught(error);
    drop_error();
    return Answer::none;
  }
}

CalleesScope::CalleesScope(CalleeCaptures* captures, bool of_function)
    : outer_(thread_context.change_callees(captures)), outer_own_(thread_context.own_frame) {
  thread_context.own_frame = of_function;
  Engine::get().acquire_hook();
}

CalleesScope::~CalleesScope() {
  Engine::get().release_hook();
  thread_context.change_callees(outer_);
  thread_context.own_frame = outer_own_;
}

}  // namespace stator
