// capture/program/description.cpp: describing objects that outlive a capture.
#include "capture/program/description.h"

#include <algorithm>

#include "capture/cpython/instance_values.h"
#include "capture/cpython/interrupts.h"
#include "capture/engine/native_stack.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/object_kind.h"
#include "capture/recording/plain_key.h"
#include "capture/recording/unread_value.h"

namespace stator {
namespace {

// Making it anew runs no code of the user's.
bool hashes_plainly(PyObject* key, const Recording& recording) {
  return is_plain_key(key) || is_pinned(recording, key) || recording.domain.is_immutable(key) ||
         recording.domain.is_tensor(key) || Py_TYPE(key)->tp_hash == PyBaseObject_Type.tp_hash;
}

}  // namespace

std::optional<ArgumentPath> path_behind(const Recording& recording, PyObject* value) {
  const Argument* argument = is_unread(value) ? argument_of(value) : find_argument(recording, value);
  const auto& arrays = recording.arguments.by_array;
  if (const auto array = arrays.find(value); array != arrays.end()) argument = array->second;
  if (argument != nullptr) return argument->path();
  const auto& attributes = recording.arguments.tensor_attributes;
  const auto found = attributes.find(value);
  if (found == attributes.end()) return std::nullopt;
  ArgumentPath path = found->second->path();
  path.steps.push_back({ArgumentStep::Kind::attributes, 0, {}});
  return path;
}

size_t Description::add(PyObject* value) {
  open_.emplace_back();
  const size_t step = describe(value);
  const bool is_in_circle = open_.back().is_in_circle;
  open_.pop_back();
  if (step != kStopped && is_in_circle && rebuild_.steps_[step].is_late) return refuse(value), kStopped;
  if (step != kStopped && rebuild_.steps_[step].is_late && !open_.empty()) open_.back().has_late_part = true;
  return step;
}

size_t Description::describe(PyObject* value) {
  if (const auto found = made_.find(value); found != made_.end()) {
    // An iterator over what contains it: the one cannot be made before the other is filled.
    const auto is_open = [&](const Open& around) { return around.step == found->second; };
    const auto around = std::ranges::find_if(open_, is_open);
    if (around == open_.end()) return found->second;
    around->is_in_circle = true;
    return late_depth_ > 0 ? kStopped : found->second;
  }
  if (native_stack_low()) {
    stop(recording, BreakCode::kUnguardable, "objects that are nested very deeply");
    return kStopped;
  }
  const size_t step = rebuild_.steps_.size();
  made_.emplace(value, step);
  open_.back().step = step;
  rebuild_.steps_.emplace_back();
  return describe_step(step, value) ? step : kStopped;
}

bool Description::describe_step(size_t step, PyObject* value) {
  const auto take_from = [&](ArgumentPath path) {
    begin(step, [path = std::move(path)](const Rebuild::Given& given) {
      return Ref<>::share(path.find(given.arguments));
    });
    return true;
  };
  const auto& numbers = recording.arguments.by_symbol;
  if (const auto number = numbers.find(value); number != numbers.end())
    return take_from(number->second->path());
  const ObjectKind& kind = kind_of(recording, value);
  if (recording.domain.is_tensor(value) || recording.domain.is_symbolic(value))
    return kind.describe(*this, step, value);
  if (const auto owner = owners_.find(value); owner != owners_.end()) {
    make_whole(step, [instance = owner->second](const Values& values) {
      return Ref<>::steal(PyObject_GenericGetDict(values[instance].get(), nullptr));
    });
    return true;
  }
  if (std::optional<ArgumentPath> path = path_behind(recording, value)) return take_from(std::move(*path));
  if (is_unread(value)) return refuse(value);
  if (PyLong_CheckExact(value) && is_identity(recording, value))
    return stop(recording, BreakCode::kUnguardable, "the identity of an object made here is kept");
  if (PlacedValues::Place place = recording.placed.place_of(value); place.container != nullptr) {
    begin(step, [key = Ref<>::share(place.key), place = std::move(place)](const Rebuild::Given&) {
      PyObject* found = item_at(place.container, key.get());
      for (const Py_ssize_t i : place.way) found = PyTuple_GET_ITEM(found, i);
      return Ref<>::share(found);
    });
    return true;
  }
  if ((PyCell_Check(value) || PyFunction_Check(value)) && !before_keeping(recording, value)) return false;
  if (is_pinned(recording, value) && !is_constant(value)) {
    // Borrowed: the guards prove it, and nothing is kept that the program dropped.
    begin(step, [value](const Rebuild::Given&) { return Ref<>::share(value); });
    return true;
  }
  if (is_constant(value) || recording.domain.is_immutable(value) || PyRange_Check(value) ||
      PyCode_Check(value)) {
    stay(step, value);
    return true;
  }
  return (kind.describe != nullptr ? kind : any_instance).describe(*this, step, value);
}

void Description::make_whole(size_t step, Rebuild::Whole make) {
  const bool is_late = !open_.empty() && open_.back().has_late_part;
  if (is_late) rebuild_.steps_[step].is_late = true;
  (is_late ? rebuild_.late_ : rebuild_.whole_).push_back({step, std::move(make)});
}

void Description::fill(size_t step, Rebuild::Fill fill) {
  if (open_.empty() || !open_.back().has_late_part) {
    rebuild_.filled_.push_back({step, std::move(fill)});
    return;
  }
  rebuild_.late_.push_back({step, [step, fill = std::move(fill)](const Values& values) {
                              const Ref<> filled = values[step];
                              return fill(filled.get(), values) ? Ref<>::share(filled.get()) : Ref<>();
                            }});
}

bool Description::refuse(PyObject* value) {
  if (!recording.stopped.happened()) recording.stopped.earlier_end = maker_of(recording, value);
  return stop(recording, BreakCode::kUnguardable, std::string("a result of type ") + Py_TYPE(value)->tp_name);
}

bool Description::is_made_here(PyObject* value) const {
  return is_fresh(recording, value) || Py_REFCNT(value) == 1 || is_kept_by_iterator(recording, value);
}

bool Description::add_part(std::vector<size_t>& parts, PyObject* part) {
  const size_t step = add(part);
  if (step != kStopped) parts.push_back(step);
  return step != kStopped;
}

bool Description::add_key(std::vector<size_t>& parts, PyObject* key) {
  if (hashes_plainly(key, recording)) return add_part(parts, key);
  return stop(recording, BreakCode::kUnguardable, "a result with keys of the program's own type");
}

size_t Description::add_output(PyObject* tensor) {
  tensors_.push_back(tensor);
  return tensors_.size() - 1;
}

bool Description::add_attributes(size_t step, PyObject* value) {
  auto attributes = Ref<>::steal(PyObject_GenericGetDict(value, nullptr));
  if (!attributes) {
    drop_error();
    return true;
  }
  make_fresh(recording, attributes.get());
  // Attributes are set one by one, which makes no dictionary, unless the class would take them for its own
  // or the dictionary itself is at hand already.
  bool settable = made_.count(attributes.get()) == 0;
  PyObject *name, *content;
  Py_ssize_t position = 0;
  while (settable && PyDict_Next(attributes.get(), &position, &name, &content)) {
    PyObject* on_type = PyUnicode_CheckExact(name) ? _PyType_Lookup(Py_TYPE(value), name) : name;
    settable = on_type == nullptr || (on_type != name && Py_TYPE(on_type)->tp_descr_set == nullptr);
  }
  if (!settable) {
    const size_t dict = add(attributes.get());
    rebuild_.attributed_.emplace_back(step, dict);
    return dict != kStopped;
  }
  owners_.emplace(attributes.get(), step);
  struct Field {
    Ref<> name;
    size_t content;
    Py_ssize_t index;  // among the values of an instance, or -1
  };
  std::vector<Field> fields;
  position = 0;
  while (PyDict_Next(attributes.get(), &position, &name, &content)) {
    const size_t index = add(content);
    if (index == kStopped) return false;
    fields.push_back({Ref<>::share(name), index, stator_value_index(Py_TYPE(value), name)});
  }
  if (fields.empty()) return true;
  fill(step, [fields = std::move(fields)](PyObject* object, const Values& values) {
    for (const Field& field : fields) {
      PyObject* const content = values[field.content].get();
      if (field.index >= 0 && stator_store_value(object, field.index, content) != 0) continue;
      if (PyObject_GenericSetAttr(object, field.name.get(), content) < 0) return false;
    }
    return true;
  });
  return true;
}

}  // namespace stator
