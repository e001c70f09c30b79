// capture/objects/partial.cpp: partials of functools: a callable with some of its arguments.
#include "capture/objects/partial.h"

#include <string_view>

#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "capture/objects/tuple.h"
#include "capture/program/description.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/reads.h"

namespace stator {
namespace {

bool read_partial(Recording& recording, PyObject* partial) {
  if (!read_object(recording, partial)) return false;
  for (const char* name : {"func", "args", "keywords"}) {
    if (read_member(recording, partial, name) == nullptr)
      return stop(recording, BreakCode::kUnguardable, "a partial of another make");
  }
  return true;
}

// The dictionary that one was made with here, unless it took over that of another partial.
void know_keywords(Recording& recording, PyObject* partial) {
  if (!is_fresh(recording, partial)) return;
  const auto keywords = Ref<>::steal(PyObject_GetAttrString(partial, "keywords"));
  if (!keywords) return drop_error();
  if (PyDict_CheckExact(keywords.get()) && Py_REFCNT(keywords.get()) == 2)
    make_fresh(recording, keywords.get());
}

bool fill(const std::vector<size_t>& parts, PyObject* partial, const Description::Values& values) {
  auto keywords = Ref<>::steal(PyDict_New());
  for (size_t i = 2; keywords && i < parts.size(); i += 2) {
    if (PyDict_SetItem(keywords.get(), values[parts[i]].get(), values[parts[i + 1]].get()) < 0) return false;
  }
  if (!keywords) return false;
  return static_cast<bool>(
      Ref<>::steal(PyObject_CallMethod(partial, "__setstate__", "((OOOO))", values[parts[0]].get(),
                                       values[parts[1]].get(), keywords.get(), Py_None)));
}

bool describe_partial(Description& description, size_t step, PyObject* partial) {
  if (std::string_view(Py_TYPE(partial)->tp_name) != "functools.partial" ||
      !description.is_made_here(partial))
    return any_instance.describe(description, step, partial);
  std::vector<size_t> parts;
  const auto keywords = Ref<>::steal(PyObject_GetAttrString(partial, "keywords"));
  for (const char* name : {"func", "args"}) {
    const auto part = Ref<>::steal(PyObject_GetAttrString(partial, name));
    if (part) take_made_tuple(description.recording, part.get());
    if (!part || !description.add_part(parts, part.get())) return false;
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (keywords && PyDict_Next(keywords.get(), &position, &key, &value)) {
    if (!description.add_part(parts, key) || !description.add_part(parts, value)) return false;
  }
  // A partial of anything, until it is filled.
  description.begin(
      step, [type = Ref<>::share(reinterpret_cast<PyObject*>(Py_TYPE(partial)))](const Rebuild::Given&) {
        return Ref<>::steal(PyObject_CallOneArg(type.get(), type.get()));
      });
  description.fill(step, [parts = std::move(parts)](PyObject* made, const Description::Values& values) {
    return fill(parts, made, values);
  });
  return keywords && description.add_attributes(step, partial);
}

}  // namespace

bool is_partial(PyObject* object) {
  static TypeInModule type("_functools", "partial");
  return type.has_instance(object);
}

const ObjectKind PartialKind::row = {
    .read = read_partial, .pin_parts = know_keywords, .describe = describe_partial};

}  // namespace stator
