// capture/objects/alias.cpp: `list[int]` and `int | None`, which never change and lead to classes. They stand
// where functions are made.
#include "capture/objects/alias.h"

#include "capture/objects/tuple.h"
#include "capture/program/description.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/type_aliases.h"

namespace stator {
namespace {

// The parts of a union are its classes, those of an alias the class and what it is subscripted with.
bool describe_alias(Description& description, size_t step, PyObject* alias) {
  const auto arguments = Ref<>::steal(PyObject_GetAttrString(alias, "__args__"));
  if (!arguments) return false;
  take_made_tuple(description.recording, arguments.get());
  std::vector<size_t> parts;
  if (Py_IS_TYPE(alias, &Py_GenericAliasType)) {
    const auto origin = Ref<>::steal(PyObject_GetAttrString(alias, "__origin__"));
    const auto unpacked = Ref<>::steal(PyObject_GetAttrString(alias, "__unpacked__"));
    if (!origin || unpacked.get() != Py_False) return description.refuse(alias);
    if (!description.add_part(parts, origin.get()) || !description.add_part(parts, arguments.get()))
      return false;
    description.make_whole(step, [parts = std::move(parts)](const Description::Values& values) {
      return Ref<>::steal(Py_GenericAlias(values[parts[0]].get(), values[parts[1]].get()));
    });
    return true;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments.get()); i++) {
    if (!description.add_part(parts, PyTuple_GET_ITEM(arguments.get(), i))) return false;
  }
  description.make_whole(step, [parts = std::move(parts)](const Description::Values& values) {
    Ref<> made = values[parts[0]];
    for (size_t i = 1; made && i < parts.size(); i++)
      made = Ref<>::steal(PyNumber_Or(made.get(), values[parts[i]].get()));
    return made;
  });
  return true;
}

}  // namespace

const ObjectKind AliasKind::row = {.read = read_alias, .describe = describe_alias};

}  // namespace stator
