// bindings/capture/compiled.cpp: a callable that captures its function once and serves later calls from the
// capture.
#include "bindings/capture/compiled.h"

#include <structmember.h>

#include <cstddef>

#include "capture/hook/engine.h"
#include "capture/no_tensors.h"
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
  bool capturing = false;
  bool whole = false;  // a stop is an error
  int limit = 8;
};

struct Compiled {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;
  PyObject* weak_references;
  State* state;
};

std::string text_of(const CaptureStop& stop) {
  std::string text = reason(*stop.code).code;
  if (!stop.detail.empty()) text += ": " + stop.detail;
  if (!stop.file.empty()) text += " (" + stop.file + ":" + std::to_string(stop.line) + ")";
  return text;
}

PyObject* call_natively(Compiled* self, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  return PyObject_Vectorcall(self->function, arguments, flags, keywords);
}

// Captures this call and serves it, or runs the function as it is.
PyObject* capture_and_call(Compiled* self, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  State& state = *self->state;
  if (static_cast<int>(state.entries.size()) >= state.limit) {
    state.native = true;
    const std::string message =
        "stator: " + std::to_string(state.limit) +
        " captures of one function; it runs without capture from now on. The guard that failed last: " +
        (state.misses.empty() ? "none" : state.misses.back());
    if (PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), 1) < 0) return nullptr;
    return call_natively(self, arguments, flags, keywords);
  }
  CaptureStop why;
  state.capturing = true;
  std::shared_ptr<Entry> entry =
      Entry::capture(*installed_domain, self->function, arguments, PyVectorcall_NARGS(flags), keywords, why);
  state.capturing = false;
  if (!entry) {
    state.stops.push_back(why);
    if (state.whole) {
      PyErr_SetString(PyExc_RuntimeError,
                      ("stator: the function could not be captured whole: " + text_of(why)).c_str());
      return nullptr;
    }
    state.native = state.entries.empty();
    return call_natively(self, arguments, flags, keywords);
  }
  std::vector<PyObject*> tensors;
  std::string failed;
  state.entries.push_back(entry);
  if (!entry->serves(*installed_domain, arguments, PyVectorcall_NARGS(flags), keywords, tensors, &failed)) {
    state.misses.push_back(failed);
    return call_natively(self, arguments, flags, keywords);
  }
  return entry->run(tensors, arguments);
}

PyObject* call(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  auto* self = reinterpret_cast<Compiled*>(object);
  State& state = *self->state;
  if (state.native || state.capturing || thread_context.recording != nullptr) {
    return call_natively(self, arguments, flags, keywords);
  }
  try {
    std::vector<PyObject*> tensors;
    std::string failed;
    for (size_t i = 0; i < state.entries.size(); i++) {
      const std::shared_ptr<Entry> entry = state.entries[i];
      const bool last = i + 1 == state.entries.size();
      if (!entry->serves(*installed_domain, arguments, PyVectorcall_NARGS(flags), keywords, tensors,
                         last ? &failed : nullptr))
        continue;
      entry->hits++;
      return entry->run(tensors, arguments);
    }
    if (!state.entries.empty()) state.misses.push_back(failed);
    return capture_and_call(self, arguments, flags, keywords);
  } catch (const std::bad_alloc&) {
    state.capturing = false;
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    state.capturing = false;
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
  Py_VISIT(self->dict);
  return 0;
}

int clear(PyObject* object) {
  auto* self = reinterpret_cast<Compiled*>(object);
  Py_CLEAR(self->function);
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
  static const char* names[] = {"fn", "fullgraph", "limit", nullptr};
  PyObject* function;
  int whole = 0, limit = 8;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|pi:Compiled", const_cast<char**>(names), &function,
                                   &whole, &limit)) {
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
  self->state = new (std::nothrow) State;
  if (self->state == nullptr) return PyErr_NoMemory();
  self->state->whole = whole != 0;
  self->state->limit = limit;
  return object.release();
}

PyObject* strings(const std::vector<std::string>& texts) {
  auto list = Ref<>::steal(PyList_New(0));
  for (const std::string& text : texts) {
    auto item =
        Ref<>::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    if (!list || !item || PyList_Append(list.get(), item.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* get_entries(PyObject* object, void*) {
  auto* self = reinterpret_cast<Compiled*>(object);
  auto list = Ref<>::steal(PyList_New(0));
  if (!list) return nullptr;
  for (const auto& entry : self->state->entries) {
    auto guards = Ref<>::steal(strings(entry->guards()));
    if (!guards) return nullptr;
    auto row = Ref<>::steal(Py_BuildValue(
        "{s:O,s:s,s:n,s:K}", "guards", guards.get(), "graph", entry->graph_text().c_str(), "nodes",
        static_cast<Py_ssize_t>(entry->node_count()), "hits", static_cast<unsigned long long>(entry->hits)));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
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
  state.native = false;
  Py_RETURN_NONE;
}

PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Compiled, function), READONLY, "The callable that is compiled."},
    {"__dictoffset__", T_PYSSIZET, offsetof(Compiled, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Compiled, weak_references), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Compiled, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"entries", get_entries, nullptr, "The captures: guards, graph, nodes, hits.", nullptr},
    {"breaks", get_breaks, nullptr, "Why captures were given up.", nullptr},
    {"misses", get_misses, nullptr, "The guard that failed before each further capture.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"reset", reset, METH_NOARGS, "Drops every capture."},
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
  auto capsule = Ref<>::steal(
      PyCapsule_New(reinterpret_cast<void*>(&install_domain), "stator._capture._install_domain", nullptr));
  return capsule && PyModule_AddObjectRef(module, "_install_domain", capsule.get()) == 0;
}

}  // namespace stator
