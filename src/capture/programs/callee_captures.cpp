// capture/programs/callee_captures.cpp: serving frames that are about to start.
#include "capture/programs/callee_captures.h"

#include "capture/hook/engine.h"

namespace stator {

using cpython::Frame;

// The arguments of a frame that has not started, as a call would give them.
struct CalleeCaptures::Call {
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
};

bool CalleeCaptures::wants(const Call& call) const {
  if (every_) return true;
  for (PyObject* argument : call.arguments) {
    if (argument != nullptr && domain_.is_tensor(argument)) return true;
  }
  return false;
}

CalleeCaptures::OfCode* CalleeCaptures::find(PyCodeObject* code) {
  auto* object = reinterpret_cast<PyObject*>(code);
  OfCode& of = codes_[code];
  if (!of.code || PyWeakref_GET_OBJECT(of.code.get()) != object) {
    of = OfCode{};
    of.varying.policy = options_.varying != nullptr ? options_.varying->policy : DynamicSizes::never;
    of.code = Ref<>::steal(PyWeakref_NewRef(object, nullptr));
    if (const char* name = PyUnicode_AsUTF8(code->co_qualname)) of.name = name;
    if (!of.code) PyErr_Clear();
  }
  return of.code ? &of : nullptr;
}

bool CalleeCaptures::serve(Frame* frame, PyObject** result) {
  constexpr int kMakesObject = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  const PyCodeObject* code = frame->code;
  if (frame->owner != STATOR_OWNED_BY_THREAD || code->co_flags & kMakesObject ||
      !(code->co_flags & CO_OPTIMIZED) || !PyFunction_Check(frame->function)) {
    return false;
  }
  try {
    OfCode* of = find(frame->code);
    if (of == nullptr || of->native) return false;
    Call call;
    if (!call.take(frame)) {
      PyErr_Clear();
      return false;
    }
    if (!wants(call)) return false;
    auto* function = reinterpret_cast<PyFunctionObject*>(frame->function);
    std::vector<PyObject*> tensors;
    shape::Bindings bindings;
    std::string failed;
    for (const OfCode::Serving& serving : of->entries) {
      if (!serving.function.matches(function)) {
        failed = "the function has other cells or defaults";
        continue;
      }
      const std::shared_ptr<Entry> entry = serving.entry;
      if (!entry->serves(domain_, call.arguments.data(), call.positional, call.keywords.get(), tensors,
                         bindings, &failed))
        continue;
      entry->hits++;
      Engine::get().statistics.served++;
      *result = entry->run(tensors, call.arguments.data(), bindings);
      return true;
    }
    // A way through the function that breaks is not tried again and again beside those that are captured.
    if (static_cast<int>(of->stops.size()) >= limit_ || Engine::get().capturing) return false;
    if (!of->entries.empty()) of->misses.push_back(failed);
    return capture(*of, function, call, result);
  } catch (const std::exception&) {
    return false;
  }
}

bool CalleeCaptures::capture(OfCode& of, PyFunctionObject* function, const Call& call, PyObject** result) {
  if (static_cast<int>(of.entries.size()) >= limit_) {
    of.native = true;
    return false;
  }
  CaptureStop why;
  CaptureOptions options = options_;
  options.by_structure = true;
  for (const OfCode::Serving& known : of.entries) {
    if (known.function.matches(function))
      known.entry->note_changes(call.arguments.data(), call.positional, call.keywords.get(), of.varying);
  }
  options.varying = &of.varying;
  FunctionSpec spec(function);
  auto* object = reinterpret_cast<PyObject*>(function);
  std::shared_ptr<Entry> entry = Entry::capture(domain_, object, call.arguments.data(), call.positional,
                                                call.keywords.get(), options, why);
  Statistics& statistics = Engine::get().statistics;
  if (!entry) {
    if (PyErr_Occurred()) PyErr_Clear();
    if (why.code == BreakCode::kCaptureRunning) return false;
    statistics.stops++;
    of.stops.push_back(std::move(why));
    of.native = of.entries.empty();
    return false;
  }
  statistics.captures++;
  of.entries.push_back({std::move(spec), entry});
  std::vector<PyObject*> tensors;
  shape::Bindings bindings;
  std::string failed;
  if (!entry->serves(domain_, call.arguments.data(), call.positional, call.keywords.get(), tensors, bindings,
                     &failed)) {
    of.misses.push_back(failed);
    return false;
  }
  statistics.served++;
  *result = entry->run(tensors, call.arguments.data(), bindings);
  return true;
}

CalleesScope::CalleesScope(CalleeCaptures* captures) : outer_(thread_context.callees) {
  thread_context.callees = captures;
  Engine::get().acquire_hook();
}

CalleesScope::~CalleesScope() {
  Engine::get().release_hook();
  thread_context.callees = outer_;
}

}  // namespace stator
