// bindings/capture/compiled.cpp: the type of compiled functions.
#include "bindings/capture/compiled.h"

#include <utility>

#include "bindings/capture/report.h"
#include "capture/recording/mark.h"

namespace stator {
namespace {

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<Compiled*>(object);
  Py_VISIT(self->backend);
  Py_VISIT(self->on_entry);
  Py_VISIT(self->on_miss);
  Py_VISIT(self->guard_filter);
  Py_VISIT(self->context);
  return traverse_wrapper(object, visit, arg);
}

int clear(PyObject* object) {
  auto* self = reinterpret_cast<Compiled*>(object);
  renounce(self->backend);
  renounce(self->on_entry);
  renounce(self->on_miss);
  renounce(self->guard_filter);
  renounce(self->context);
  return clear_wrapper(object);
}

void deallocate(PyObject* object) {
  auto* self = reinterpret_cast<Compiled*>(object);
  PyObject_GC_UnTrack(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  delete std::exchange(self->state, nullptr);  // may run code of the program
  Py_CLEAR(self->backend);
  Py_CLEAR(self->on_entry);
  Py_CLEAR(self->on_miss);
  Py_CLEAR(self->guard_filter);
  Py_CLEAR(self->context);
  free_wrapper(object);
}

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"fn",       "fullgraph", "limit",   "backend",      "dynamic",
                                "on_entry", "on_miss",   "context", "guard_filter", nullptr};
  PyObject *function, *backend = Py_None, *dynamic = Py_None, *on_entry = Py_None, *on_miss = Py_None,
                      *context = Py_None, *guard_filter = Py_None;
  int whole = 0, limit = -1;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|piOOOOOO:Compiled", const_cast<char**>(names),
                                   &function, &whole, &limit, &backend, &dynamic, &on_entry, &on_miss,
                                   &context, &guard_filter)) {
    return nullptr;
  }
  Ref<> object = wrap_function(type, function, &vectorcall_compiled, "stator.compile");
  if (!object) return nullptr;
  auto* self = reinterpret_cast<Compiled*>(object.get());
  self->backend = Py_NewRef(backend);
  self->on_entry = Py_NewRef(on_entry);
  self->on_miss = Py_NewRef(on_miss);
  self->context = Py_NewRef(context);
  self->guard_filter = Py_NewRef(guard_filter);
  self->state = new (std::nothrow) CompiledState;
  if (self->state == nullptr) return PyErr_NoMemory();
  self->state->whole = whole != 0;
  self->state->limit = limit;
  if (dynamic != Py_None) {
    const int truth = PyObject_IsTrue(dynamic);
    if (truth < 0) return nullptr;
    self->state->cache.varying.policy = truth != 0 ? DynamicSizes::always : DynamicSizes::never;
  }
  return object.release();
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
  return stop_rows(all_stops(reinterpret_cast<Compiled*>(object)->state->cache));
}

PyObject* get_callees(PyObject* object, void*) {
  const CompiledState& state = *reinterpret_cast<Compiled*>(object)->state;
  return state.callees ? callee_rows(*state.callees) : PyList_New(0);
}

PyObject* get_breaks(PyObject* object, void*) {
  std::vector<std::string> texts;
  for (const CaptureStop& stop : all_stops(reinterpret_cast<Compiled*>(object)->state->cache))
    texts.push_back(text_of(stop));
  return strings(texts);
}

PyObject* get_misses(PyObject* object, void*) {
  return strings(reinterpret_cast<Compiled*>(object)->state->cache.misses());
}

PyObject* reset(PyObject* object, PyObject*) {
  CompiledState& state = *reinterpret_cast<Compiled*>(object)->state;
  state.cache.reset();
  state.skipped = state.ran_once = false;
  if (state.callees) state.callees->reset();
  Py_RETURN_NONE;
}

PyObject* enter_block(PyObject* object, PyObject*) {
  auto* self = reinterpret_cast<Compiled*>(object);
  self->state->blocks.push_back(std::make_unique<CalleesScope>(callees_of(as_function(object)), false));
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

PyObject* get_backend(PyObject* object, void*) {
  return Py_NewRef(reinterpret_cast<Compiled*>(object)->backend);
}

PyObject* get_context(PyObject* object, void*) {
  return Py_NewRef(reinterpret_cast<Compiled*>(object)->context);
}

PyMemberDef members[] = {STATOR_WRAPPER_OFFSETS, {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {
    {"backend", get_backend, nullptr, "What runs its graphs.", nullptr},
    {"context", get_context, nullptr, "Compiles other callables with the same options; or None.", nullptr},
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
  add_call_reports();
  auto type = Ref<>::steal(derived_wrapper(&spec));
  if (!type || PyModule_AddObjectRef(module, "Compiled", type.get()) < 0) return false;
  recognise_mark(reinterpret_cast<PyTypeObject*>(type.get()), [](PyObject* object) {
    return Marked{Mark::captured, reinterpret_cast<Compiled*>(object)->function};
  });
  auto capsule = Ref<>::steal(
      PyCapsule_New(reinterpret_cast<void*>(&install_domain), "stator._capture._install_domain", nullptr));
  return capsule && PyModule_AddObjectRef(module, "_install_domain", capsule.get()) == 0;
}

}  // namespace stator
