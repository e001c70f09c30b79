// bindings/capture/compiled.cpp: a callable that captures its function once and serves later calls from the
// capture.
#include "bindings/capture/compiled.h"

#include <structmember.h>

#include <chrono>
#include <cstddef>

#include "bindings/capture/identity.h"
#include "bindings/capture/report.h"
#include "bindings/capture/stance.h"
#include "capture/cpython/error_scope.h"
#include "capture/hook/engine.h"
#include "capture/marks/mark.h"
#include "capture/no_tensors.h"
#include "capture/programs/callee_captures.h"
#include "capture/programs/entry.h"

namespace stator {
namespace {

const Domain* installed_domain =
    &no_tensors();  // or the torch layer's, which owns it for the life of the process
void install_domain(const Domain* domain) { installed_domain = domain; }

struct State {
  std::vector<std::shared_ptr<Entry>> entries;  // shared: a call in progress keeps its own while others reset
  std::vector<CaptureStop> stops;
  std::vector<std::string> misses;  // the guard that failed before each capture but the first
  bool native = false;              // given up: runs as it is from now on
  bool skipped = false;             // by the user's wish: nothing of it is captured
  bool whole = false;               // a stop is an error
  int limit = -1;                   // of captures; negative: the setting's
  Varying varying;
  std::unique_ptr<CalleeCaptures> callees;            // of functions called while this one runs as it is
  std::vector<std::unique_ptr<CalleesScope>> blocks;  // with-blocks that were entered
};

struct Compiled {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* backend;
  PyObject* on_entry;  // called with the guards of each new capture; or None
  PyObject* on_miss;   // called with the guard that failed before a further capture; or None
  PyObject* dict;
  PyObject* weak_references;
  State* state;
};

void raise_not_whole(const CaptureStop& stop) {
  const BreakReason& why = reason(*stop.code);
  std::string message = "stator: the function could not be captured whole: " + text_of(stop);
  if (const std::string line = source_line(stop); !line.empty()) message += "\n    " + line;
  message += std::string("\n  reason: ") + why.message;
  if (*why.hint != '\0') message += std::string("\n  hint: ") + why.hint;
  PyErr_SetString(capture_error, message.c_str());
}

// Tells the hooks of one function and the one of all functions. False with a Python error set.
bool tell_miss(Compiled* self, const std::string& guard) {
  for (PyObject* hook : {self->on_miss, settings.miss_hook}) {
    if (hook == nullptr || hook == Py_None) continue;
    auto text =
        Ref<>::steal(PyUnicode_DecodeUTF8(guard.data(), static_cast<Py_ssize_t>(guard.size()), "replace"));
    auto done = Ref<>::steal(
        text ? hook == self->on_miss ? PyObject_CallOneArg(hook, text.get())
                                     : PyObject_CallFunctionObjArgs(hook, self->function, text.get(), nullptr)
             : nullptr);
    if (!done) return false;
  }
  return true;
}

// A guard that raises holds for no call: the hook is told, and the call goes on as after any other miss.
// False with a Python error set, where the hook itself raises.
bool tell_guard_error(Compiled* self) {
  if (!PyErr_Occurred()) [[likely]]
    return true;
  const Ref<> error = take_error();
  PyObject* hook = settings.guard_error_hook;
  if (hook == nullptr || hook == Py_None) return true;
  return static_cast<bool>(
      Ref<>::steal(PyObject_CallFunctionObjArgs(hook, self->function, error.get(), nullptr)));
}

// Where the captures of functions go that are called while this one runs as it is.
CalleeCaptures* callees_of(Compiled* self) {
  State& state = *self->state;
  if (!state.callees) {
    const CaptureOptions options{self->backend, &state.varying};
    const int limit = state.limit < 0 ? settings.recompile_limit : state.limit;
    state.callees = std::make_unique<CalleeCaptures>(*installed_domain, options, limit, false);
  }
  return state.callees.get();
}

PyObject* call_natively(Compiled* self, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  State& state = *self->state;
  const bool alone = thread_stance != Stance::normal || settings.disable || state.whole || state.skipped;
  if (alone || thread_context.recording != nullptr || thread_context.plain)
    return PyObject_Vectorcall(self->function, arguments, flags, keywords);
  const CalleesScope scope(callees_of(self));
  return PyObject_Vectorcall(self->function, arguments, flags, keywords);
}

// Captures this call and serves it, or runs the function as it is.
PyObject* capture_and_call(Compiled* self, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  State& state = *self->state;
  const int limit = state.limit < 0 ? settings.recompile_limit : state.limit;
  if (!state.entries.empty()) {
    const std::string guard = state.misses.back();
    if (settings.error_on_recompile) {
      PyErr_Format(capture_error, "stator: a second capture is needed, since this no longer holds: %s",
                   guard.c_str());
      return nullptr;
    }
    if (!tell_miss(self, guard)) return nullptr;
  }
  if (static_cast<int>(state.entries.size()) >= limit) {
    state.native = true;
    const std::string message =
        "stator: " + std::to_string(limit) +
        " captures of one function; it runs without capture from now on. The guard that failed last: " +
        (state.misses.empty() ? "none" : state.misses.back());
    if (PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), 1) < 0) return nullptr;
    return call_natively(self, arguments, flags, keywords);
  }
  CaptureStop why;
  for (const auto& known : state.entries)
    known->note_changes(arguments, PyVectorcall_NARGS(flags), keywords, state.varying);
  const auto start = std::chrono::steady_clock::now();
  const CaptureOptions options{self->backend, &state.varying};
  std::shared_ptr<Entry> entry = Entry::capture(*installed_domain, self->function, arguments,
                                                PyVectorcall_NARGS(flags), keywords, options, why);
  if (!entry && why.code == BreakCode::kCaptureRunning)
    return call_natively(self, arguments, flags, keywords);
  if (!entry) {
    state.stops.push_back(why);
    if (PyErr_Occurred()) return nullptr;  // the backend's own
    if (state.whole) {
      raise_not_whole(why);
      return nullptr;
    }
    state.native = state.entries.empty();
    return call_natively(self, arguments, flags, keywords);
  }
  std::vector<PyObject*> tensors;
  shape::Bindings bindings;
  std::string failed;
  entry->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  state.entries.push_back(entry);
  if (self->on_entry != Py_None) {
    auto guards = Ref<>::steal(strings(entry->guards()));
    auto told = Ref<>::steal(guards ? PyObject_CallOneArg(self->on_entry, guards.get()) : nullptr);
    if (!told) return nullptr;
  }
  if (!entry->serves(*installed_domain, arguments, PyVectorcall_NARGS(flags), keywords, tensors, bindings,
                     &failed)) {
    state.misses.push_back(failed);
    return call_natively(self, arguments, flags, keywords);
  }
  return entry->run(tensors, arguments, bindings);
}

PyObject* call(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  auto* self = reinterpret_cast<Compiled*>(object);
  State& state = *self->state;
  if (state.native || thread_stance == Stance::force_eager || settings.disable ||
      thread_context.recording != nullptr) {
    return call_natively(self, arguments, flags, keywords);
  }
  try {
    std::vector<PyObject*> tensors;
    shape::Bindings bindings;
    std::string failed;
    for (size_t i = 0; i < state.entries.size(); i++) {
      const std::shared_ptr<Entry> entry = state.entries[i];
      const bool last = i + 1 == state.entries.size();
      if (!entry->serves(*installed_domain, arguments, PyVectorcall_NARGS(flags), keywords, tensors, bindings,
                         last ? &failed : nullptr)) {
        if (!tell_guard_error(self)) return nullptr;
        continue;
      }
      entry->hits++;
      return entry->run(tensors, arguments, bindings);
    }
    // A way through the function that breaks is not tried again and again beside those that are captured.
    const int limit = state.limit < 0 ? settings.recompile_limit : state.limit;
    const bool breaks_often = static_cast<int>(state.stops.size()) >= limit;
    if (thread_stance == Stance::run_only || Engine::get().capturing || breaks_often)
      return call_natively(self, arguments, flags, keywords);
    if (!state.entries.empty()) state.misses.push_back(failed);
    return capture_and_call(self, arguments, flags, keywords);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_RuntimeError, "stator: %s", error.what());
    return nullptr;
  }
}

PyObject* bind(PyObject* self, PyObject* owner, PyObject*) {
  return owner == nullptr || owner == Py_None ? Py_NewRef(self) : PyMethod_New(self, owner);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<Compiled*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->function);
  Py_VISIT(self->backend);
  Py_VISIT(self->on_entry);
  Py_VISIT(self->on_miss);
  Py_VISIT(self->dict);
  return 0;
}

int clear(PyObject* object) {
  auto* self = reinterpret_cast<Compiled*>(object);
  Py_CLEAR(self->function);
  Py_CLEAR(self->backend);
  Py_CLEAR(self->on_entry);
  Py_CLEAR(self->on_miss);
  Py_CLEAR(self->dict);
  return 0;
}

void deallocate(PyObject* object) {
  auto* self = reinterpret_cast<Compiled*>(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  delete self->state;
  clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"fn",      "fullgraph", "limit",   "backend",
                                "dynamic", "on_entry",  "on_miss", nullptr};
  PyObject *function, *backend = Py_None, *dynamic = Py_None, *on_entry = Py_None, *on_miss = Py_None;
  int whole = 0, limit = -1;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|piOOOO:Compiled", const_cast<char**>(names),
                                   &function, &whole, &limit, &backend, &dynamic, &on_entry, &on_miss)) {
    return nullptr;
  }
  if (!PyCallable_Check(function)) {
    PyErr_Format(PyExc_TypeError, "stator.compile: a callable is needed, not %.200s",
                 Py_TYPE(function)->tp_name);
    return nullptr;
  }
  auto object = Ref<>::steal(type->tp_alloc(type, 0));
  if (!object) return nullptr;
  auto* self = reinterpret_cast<Compiled*>(object.get());
  self->vectorcall = &call;
  self->function = Py_NewRef(function);
  self->backend = Py_NewRef(backend);
  self->on_entry = Py_NewRef(on_entry);
  self->on_miss = Py_NewRef(on_miss);
  self->state = new (std::nothrow) State;
  if (self->state == nullptr) return PyErr_NoMemory();
  self->state->whole = whole != 0;
  self->state->limit = limit;
  if (dynamic != Py_None) {
    const int truth = PyObject_IsTrue(dynamic);
    if (truth < 0) return nullptr;
    self->state->varying.policy = truth != 0 ? DynamicSizes::always : DynamicSizes::never;
  }
  return copy_identity(object.get(), function) ? object.release() : nullptr;
}

PyObject* get_entries(PyObject* object, void*) {
  auto list = Ref<>::steal(PyList_New(0));
  if (!list) return nullptr;
  for (const auto& entry : reinterpret_cast<Compiled*>(object)->state->entries) {
    auto row = Ref<>::steal(entry_row(*entry));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* get_stops(PyObject* object, void*) {
  return stop_rows(reinterpret_cast<Compiled*>(object)->state->stops);
}

PyObject* get_callees(PyObject* object, void*) {
  const State& state = *reinterpret_cast<Compiled*>(object)->state;
  return state.callees ? callee_rows(*state.callees) : PyList_New(0);
}

PyObject* get_breaks(PyObject* object, void*) {
  std::vector<std::string> texts;
  for (const CaptureStop& stop : reinterpret_cast<Compiled*>(object)->state->stops)
    texts.push_back(text_of(stop));
  return strings(texts);
}

PyObject* get_misses(PyObject* object, void*) {
  return strings(reinterpret_cast<Compiled*>(object)->state->misses);
}

PyObject* reset(PyObject* object, PyObject*) {
  State& state = *reinterpret_cast<Compiled*>(object)->state;
  state.entries.clear();
  state.stops.clear();
  state.misses.clear();
  state.varying.clear();
  state.native = state.skipped = false;
  if (state.callees) state.callees->reset();
  Py_RETURN_NONE;
}

PyObject* enter_block(PyObject* object, PyObject*) {
  auto* self = reinterpret_cast<Compiled*>(object);
  self->state->blocks.push_back(std::make_unique<CalleesScope>(callees_of(self)));
  Py_RETURN_NONE;
}

PyObject* leave_block(PyObject* object, PyObject*) {
  State& state = *reinterpret_cast<Compiled*>(object)->state;
  if (!state.blocks.empty()) state.blocks.pop_back();
  Py_RETURN_NONE;
}

PyObject* skip(PyObject* object, PyObject*) {
  State& state = *reinterpret_cast<Compiled*>(object)->state;
  state.entries.clear();
  state.native = state.skipped = true;
  Py_RETURN_NONE;
}

PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Compiled, function), READONLY, "The callable that is compiled."},
    {"backend", T_OBJECT, offsetof(Compiled, backend), READONLY, "What runs its graphs."},
    {"__dictoffset__", T_PYSSIZET, offsetof(Compiled, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Compiled, weak_references), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Compiled, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"entries", get_entries, nullptr, "The captures: guards, graph, nodes, hits.", nullptr},
    {"breaks", get_breaks, nullptr, "Why captures were given up.", nullptr},
    {"stops", get_stops, nullptr, "The same, taken apart: code, message, hint, detail, file, line.", nullptr},
    {"callees", get_callees, nullptr, "Functions that were captured on their own, after a break.", nullptr},
    {"misses", get_misses, nullptr, "The guard that failed before each further capture.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"reset", reset, METH_NOARGS, "Drops every capture."},
                         {"skip", skip, METH_NOARGS, "Drops every capture and makes no more until reset."},
                         {"enter_block", enter_block, METH_NOARGS,
                          "From now on functions that this thread calls are captured, each on its own."},
                         {"leave_block", leave_block, METH_NOARGS, "Ends what enter_block began."},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"stator._capture.Compiled", sizeof(Compiled), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

bool add_compiled(PyObject* module) {
  auto type = Ref<>::steal(PyType_FromSpec(&spec));
  if (!type || PyModule_AddObjectRef(module, "Compiled", type.get()) < 0) return false;
  recognise_mark(reinterpret_cast<PyTypeObject*>(type.get()), [](PyObject* object) {
    return Marked{Mark::captured, reinterpret_cast<Compiled*>(object)->function};
  });
  auto capsule = Ref<>::steal(
      PyCapsule_New(reinterpret_cast<void*>(&install_domain), "stator._capture._install_domain", nullptr));
  return capsule && PyModule_AddObjectRef(module, "_install_domain", capsule.get()) == 0;
}

}  // namespace stator
