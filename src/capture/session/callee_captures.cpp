// capture/session/callee_captures.cpp: serving frames that are about to start.
#include "capture/session/callee_captures.h"

#include "capture/engine/engine.h"

namespace stator {

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

void CalleeCaptures::note_served(OfCode& of) const {
  constexpr int kPatience = 8;
  if (every_ || of.served_without_operator < 0) return;
  for (const CaptureCache::Serving& serving : of.cache.entries()) {
    if (serving.entry->node_count() != 0) {
      of.served_without_operator = -1;
      return;
    }
  }
  if (++of.served_without_operator < kPatience) return;
  of.left_to_python = true;
  of.cache.give_up();
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
    PyErr_Clear();
    codes_.erase(code);
    return nullptr;
  }
  of = std::make_shared<OfCode>(OfCode{std::move(reference), name, {}, 0, false});
  of->cache.varying.policy = options_.varying != nullptr ? options_.varying->policy : DynamicSizes::never;
  return of;
}

bool CalleeCaptures::serve(Frame* frame, PyObject** result) {
  constexpr int kMakesObject = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  const PyCodeObject* code = frame->code;
  if (frame->owner != STATOR_OWNED_BY_THREAD || code->co_flags & kMakesObject ||
      !(code->co_flags & CO_OPTIMIZED) || !PyFunction_Check(frame->function) || !wants(frame)) {
    return false;
  }
  try {
    const std::shared_ptr<OfCode> of = find(frame->code);
    if (of == nullptr || of->cache.given_up()) return false;
    FrameArguments arguments;
    if (!arguments.take(frame)) {
      PyErr_Clear();
      return false;
    }
    const Call call = arguments.call();
    CacheListener listener;
    const auto answer =
        of->cache.call(domain_, frame->function, call, options_, limit_, true, listener, result);
    if (answer == CaptureCache::Answer::served) {
      note_served(*of);
      return true;
    }
    PyErr_Clear();
    return false;
  } catch (const std::exception&) {
    return false;
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
