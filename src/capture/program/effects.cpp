// capture/program/effects.cpp: from the journal to writes, and making them.
#include "capture/program/effects.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/type_dict.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/symbols.h"

namespace stator {

void Effects::note(Kind kind, PyObject* target, PyObject* key, std::vector<Ref<>> finals) {
  Effect effect{};
  effect.kind = kind;
  effect.target = target;
  effect.key = Ref<>::share(key);
  effect.finals = std::move(finals);
  effects_.push_back(std::move(effect));
}

// Whether a key that is there in the end has another place than at entry, or may have.
static bool moves(const Written& written, PyObject* key, PyObject* old) {
  return written.removed && (old == Journal::absent() || PySet_Contains(written.removed.get(), key) == 1);
}

void Effects::collect_keys(const Written& written, const Recording& recording) {
  PyObject* object = written.object.get();
  PyObject *key, *old;
  Py_ssize_t position = 0;
  while (written.keys && PyDict_Next(written.keys.get(), &position, &key, &old)) {
    PyObject* now = PyDict_GetItemWithError(object, key);
    if (now == nullptr && written.removed) note(Kind::remove_key, object, key, {});
    if (moves(written, key, old)) continue;
    // What was read before and is back in its place needs no write.
    if (now == nullptr || (now == old && recording.guards.reads_key(object, key)) ||
        recording.placed.in(object, key) == now)
      continue;
    note(Kind::set_key, object, key, {Ref<>::share(now)});
  }
  if (written.removed) collect_moved_keys(written, recording);
}

// Keys that stand behind the older ones, in their order.
void Effects::collect_moved_keys(const Written& written, const Recording& recording) {
  PyObject *found, *value;
  Py_ssize_t position = 0;
  PyObject* object = written.object.get();
  while (PyDict_Next(object, &position, &found, &value)) {
    const Ref<> key = key_of(recording, found);
    PyObject* old = PyDict_GetItemWithError(written.keys.get(), key.get());
    if (old == nullptr || !moves(written, key.get(), old)) continue;
    note(Kind::remove_key, object, key.get(), {});
    note(Kind::set_key, object, key.get(), {Ref<>::share(value)});
  }
}

void Effects::collect_class(const Written& written, const Recording& recording) {
  auto* type = reinterpret_cast<PyTypeObject*>(written.object.get());
  PyObject *name, *old;
  Py_ssize_t position = 0;
  while (PyDict_Next(written.keys.get(), &position, &name, &old)) {
    PyObject* now = cpython::own_attribute(type, name);
    if (now == nullptr || recording.placed.in(cpython::type_dict(type).get(), name) == now) continue;
    note(Kind::set_class_attribute, written.object.get(), name, {Ref<>::share(now)});
  }
}

bool Effects::collect(const Journal& journal, const Recording& recording) {
  for (const Written& written : journal.written()) {
    PyObject* object = written.object.get();
    std::vector<Ref<>> finals;
    switch (written.kind) {
      case Written::Kind::dict: {
        if (!written.entry) {
          collect_keys(written, recording);
          break;
        }
        PyObject *key, *value;
        Py_ssize_t position = 0;
        while (PyDict_Next(object, &position, &key, &value)) {
          finals.push_back(Ref<>::share(key));
          finals.push_back(Ref<>::share(value));
        }
        note(Kind::replace, object, nullptr, std::move(finals));
        break;
      }
      case Written::Kind::set:
        // The same writes in the same order leave the same table, whatever else it holds.
        if (!written.entry) {
          for (const auto& [write, key] : written.changes)
            note(write == SetWrite::add ? Kind::add : Kind::discard, object, nullptr, {key});
          break;
        }
        each_item(object, [&](PyObject* item) {
          finals.push_back(Ref<>::share(item));
          return true;
        });
        note(Kind::replace, object, nullptr, std::move(finals));
        effects_.back().layout = cpython::SetLayout::of(object);
        break;
      case Written::Kind::list: {
        const Py_ssize_t size = PyList_GET_SIZE(object);
        if (!written.entry) {
          for (const auto& [index, old] : written.items) {
            const Ref<> key = Ref<>::steal(PyLong_FromSsize_t(index));
            PyObject* now = PyList_GET_ITEM(object, index);
            if (key && recording.placed.in(object, key.get()) != now)
              note(Kind::set_index, object, key.get(), {Ref<>::share(now)});
          }
        }
        for (Py_ssize_t i = written.entry ? 0 : written.length; i < size; i++)
          finals.push_back(Ref<>::share(PyList_GET_ITEM(object, i)));
        if (written.entry || !finals.empty())
          note(written.entry ? Kind::replace : Kind::append, object, nullptr, std::move(finals));
        break;
      }
      case Written::Kind::type:
        collect_class(written, recording);
        break;
      case Written::Kind::deque:
        for (const auto& [left, item] : written.pushed)
          note(left ? Kind::push_left : Kind::push, object, nullptr, {item});
        break;
      case Written::Kind::cell:
        finals.push_back(Ref<>::share(PyCell_GET(object)));
        if (finals[0] && recording.placed.in(object, Py_None) == finals[0].get()) break;
        note(Kind::set_cell, object, nullptr, std::move(finals));
        break;
      case Written::Kind::state:
        break;
      case Written::Kind::slot:
        finals.push_back(read_slot(object, written.descriptor.get()));
        if (finals[0] &&
            recording.placed.in(object, PyDescr_NAME(written.descriptor.get())) == finals[0].get())
          break;
        note(Kind::set_slot, object, written.descriptor.get(), std::move(finals));
        break;
    }
    if (PyErr_Occurred()) return false;
  }
  return true;
}

bool Effects::describe(Rebuild& rebuild, Rebuild::Capture& capture) {
  for (Effect& effect : effects_) {
    if (std::optional<ArgumentPath> path = Rebuild::path_behind(capture.recording, effect.target)) {
      effect.path = std::move(*path);
      effect.target = nullptr;
    } else if (!is_pinned(capture.recording, effect.target)) {
      return stop(capture.recording, BreakCode::kUnknownMutation, Py_TYPE(effect.target)->tp_name);
    }
    for (const Ref<>& value : effect.finals) {
      const size_t step = value ? rebuild.add(value.get(), capture) : kNothing;
      if (step == Rebuild::kStopped) return false;
      effect.values.push_back(step);
    }
    effect.finals.clear();
  }
  return true;
}

bool Effects::apply(const std::vector<Ref<>>& values, PyObject* const* arguments) const {
  // A write may let go of what another one writes to.
  std::vector<Ref<>> targets;
  targets.reserve(effects_.size());
  for (const Effect& effect : effects_) {
    PyObject* target = effect.target != nullptr ? effect.target : effect.path.find(arguments);
    if (target == nullptr) return false;
    targets.push_back(Ref<>::share(target));
  }
  for (size_t i = 0; i < effects_.size(); i++) {
    if (!apply_one(effects_[i], targets[i].get(), values)) return false;
  }
  return true;
}

bool Effects::apply_one(const Effect& effect, PyObject* target, const std::vector<Ref<>>& values) const {
  const auto value = [&](size_t i) -> PyObject* {
    return effect.values[i] != kNothing ? values[effect.values[i]].get() : nullptr;
  };
  const size_t count = effect.values.size();
  switch (effect.kind) {
    case Kind::set_key:
      return (PyODict_Check(target) ? PyODict_SetItem(target, effect.key.get(), value(0))
                                    : PyDict_SetItem(target, effect.key.get(), value(0))) == 0;
    case Kind::remove_key:
      return PyDict_Contains(target, effect.key.get()) != 1 || PyDict_DelItem(target, effect.key.get()) == 0;
    case Kind::set_class_attribute:
      return PyType_Type.tp_setattro(target, effect.key.get(), value(0)) == 0;
    case Kind::set_index:
      return PyList_SetItem(target, PyLong_AsSsize_t(effect.key.get()), Py_NewRef(value(0))) == 0;
    case Kind::append:
      for (size_t i = 0; i < count; i++) {
        if (PyList_Append(target, value(i)) < 0) return false;
      }
      return true;
    case Kind::replace: {
      if (PyDict_Check(target)) {
        PyDict_Clear(target);
        for (size_t i = 0; i < count; i += 2) {
          if (PyDict_SetItem(target, value(i), value(i + 1)) < 0) return false;
        }
        return true;
      }
      auto items = Ref<>::steal(PyList_New(static_cast<Py_ssize_t>(count)));
      for (size_t i = 0; items && i < count; i++)
        PyList_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), Py_NewRef(value(i)));
      if (!items) return false;
      if (PyList_Check(target)) return PyList_SetSlice(target, 0, PyList_GET_SIZE(target), items.get()) == 0;
      PySet_Clear(target);
      std::vector<PyObject*> in_order(count);
      for (size_t i = 0; i < count; i++) in_order[i] = value(i);
      return cpython::fill_set(target, in_order, effect.layout ? &*effect.layout : nullptr);
    }
    case Kind::add:
      return PySet_Add(target, value(0)) == 0;
    case Kind::discard:
      return PySet_Discard(target, value(0)) >= 0;
    case Kind::push:
    case Kind::push_left: {
      static PyObject* const append = PyUnicode_InternFromString("append");
      static PyObject* const append_left = PyUnicode_InternFromString("appendleft");
      PyObject* method = effect.kind == Kind::push ? append : append_left;
      return static_cast<bool>(Ref<>::steal(PyObject_CallMethodOneArg(target, method, value(0))));
    }
    case Kind::set_cell:
      return PyCell_Set(target, value(0)) == 0;
    case Kind::set_slot:
      return Py_TYPE(effect.key.get())->tp_descr_set(effect.key.get(), target, value(0)) == 0;
  }
  return false;
}

}  // namespace stator
