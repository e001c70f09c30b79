// bindings/capture/compiled.cpp: the type of compiled functions.
#include "bindings/capture/compiled.h"

#include <structmember.h>

#include <cstddef>

#include "bindings/capture/identity.h"
#include "bindings/capture/report.h"
#include "capture/marks/mark.h"

namespace stator {
namespace {

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
  self->vectorcall = &call_compiled;
  self->function = Py_NewRef(function);
  self->backend = Py_NewRef(backend);
  self->on_entry = Py_NewRef(on_entry);
  self->on_miss = Py_NewRef(on_miss);
  self->state = new (std::nothrow) CompiledState;
  if (self->state == nullptr) return PyErr_NoMemory();
  self->state->whole = whole != 0;
  self->state->limit = limit;
  if (dynamic != Py_None) {
    const int truth = PyObject_IsTrue(dynamic);
    if (truth < 0) return nullptr;
    self->state->cache.varying.policy = truth != 0 ? DynamicSizes::always : DynamicSizes::never;
  }
  return copy_identity(object.get(), function) ? object.release() : nullptr;
}

PyObject* get_entries(PyObject* object, void*) {
  auto list = Ref<>::steal(PyList_New(0));
  if (!list) return nullptr;
  for (const auto& serving : reinterpret_cast<Compiled*>(object)->state->cache.entries()) {
    auto row = Ref<>::steal(entry_row(*serving.entry));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* get_stops(PyObject* object, void*) {
  return stop_rows(reinterpret_cast<Compiled*>(object)->state->cache.stops());
}

PyObject* get_callees(PyObject* object, void*) {
  const CompiledState& state = *reinterpret_cast<Compiled*>(object)->state;
  return state.callees ? callee_rows(*state.callees) : PyList_New(0);
}

PyObject* get_breaks(PyObject* object, void*) {
  std::vector<std::string> texts;
  for (const CaptureStop& stop : reinterpret_cast<Compiled*>(object)->state->cache.stops())
    texts.push_back(text_of(stop));
  return strings(texts);
}

PyObject* get_misses(PyObject* object, void*) {
  return strings(reinterpret_cast<Compiled*>(object)->state->cache.misses());
}

PyObject* reset(PyObject* object, PyObject*) {
  CompiledState& state = *reinterpret_cast<Compiled*>(object)->state;
  state.cache.reset();
  state.skipped = false;
  if (state.callees) state.callees->reset();
  Py_RETURN_NONE;
}

PyObject* enter_block(PyObject* object, PyObject*) {
  auto* self = reinterpret_cast<Compiled*>(object);
  self->state->blocks.push_back(std::make_unique<CalleesScope>(callees_of(self), false));
  Py_RETURN_NONE;
}

PyObject* leave_block(PyObject* object, PyObject*) {
  CompiledState& state = *reinterpret_cast<Compiled*>(object)->state;
  if (!state.blocks.empty()) state.blocks.pop_back();
  Py_RETURN_NONE;
}

PyObject* skip(PyObject* object, PyObject*) {
  CompiledState& state = *reinterpret_cast<Compiled*>(object)->state;
  state.cache.give_up();
  state.skipped = true;
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
