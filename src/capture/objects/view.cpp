// capture/objects/view.cpp: views of mappings (`d.keys()`, `types.MappingProxyType`), which show them as they
// are now.
#include "capture/objects/view.h"

#include "capture/cpython/referents.h"
#include "capture/program/description.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"

namespace stator {
namespace {

bool is_proxy(PyObject* view) { return Py_IS_TYPE(view, &PyDictProxy_Type); }

void pin_mapping(Recording& recording, PyObject* view, PyObject* mapping) {
  if (is_pinned(recording, view))
    pin(recording, mapping, {Origin::attribute, view, Ref<>::steal(PyUnicode_FromString("mapping"))});
}

bool read_view(Recording& recording, PyObject* view) {
  if (!is_pinned(recording, view) && !is_fresh(recording, view)) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(view)->tp_name + " of unknown origin is read");
  }
  PyObject* mapping = cpython::mapping_of_view(view);
  if (mapping == nullptr) return stop(recording, BreakCode::kUnguardable, "a view of nothing");
  if (shows_class(recording, view)) return true;
  pin_mapping(recording, view, mapping);
  return read_contents(recording, mapping);
}

bool read_item(Recording& recording, PyObject* view, PyObject* key) {
  const bool is_of_class = shows_class(recording, view);
  if (is_proxy(view) && !is_of_class && (is_pinned(recording, view) || is_fresh(recording, view))) {
    PyObject* mapping = cpython::mapping_of_view(view);
    if (mapping != nullptr && PyDict_CheckExact(mapping)) {
      pin_mapping(recording, view, mapping);
      return read_dict_item(recording, mapping, key);
    }
  }
  if (is_of_class) {
    // The guard on the class knows its attributes by address.
    PyObject* const found = PyDict_GetItemWithError(cpython::mapping_of_view(view), key);
    if (found == nullptr && PyErr_Occurred()) return false;
    if (found != nullptr) pin(recording, found, {Origin::root, nullptr, Ref<>::share(key)});
  }
  return any_instance.read_item(recording, view, key);
}

void add_mapping(Recording& recording, PyObject* view, std::vector<PyObject*>& found) {
  PyObject* mapping = shows_class(recording, view) ? nullptr : cpython::mapping_of_view(view);
  if (mapping != nullptr) found.push_back(mapping);
}

Ref<> make_view(PyTypeObject* type, PyObject* mapping) {
  if (type == &PyDictProxy_Type) return Ref<>::steal(PyDictProxy_New(mapping));
  const char* const method = type == &PyDictKeys_Type     ? "keys"
                             : type == &PyDictValues_Type ? "values"
                                                          : "items";
  return Ref<>::steal(PyObject_CallMethod(mapping, method, nullptr));
}

// One of a dictionary, by itself: not that of an OrderedDict or a class.
bool describe_view(Description& description, size_t step, PyObject* view) {
  PyTypeObject* const type = Py_TYPE(view);
  const bool is_plain =
      is_proxy(view) || type == &PyDictKeys_Type || type == &PyDictValues_Type || type == &PyDictItems_Type;
  PyObject* const mapping = is_plain ? cpython::mapping_of_view(view) : nullptr;
  if (mapping == nullptr || !PyDict_CheckExact(mapping))
    return any_instance.describe(description, step, view);
  const size_t shown = description.add(mapping);
  if (shown == Description::kStopped) return false;
  description.make_whole(step, [type, shown](const Description::Values& values) {
    return make_view(type, values[shown].get());
  });
  return true;
}

}  // namespace

bool is_view(PyObject* object) {
  return PyDictKeys_Check(object) || PyDictItems_Check(object) || PyDictValues_Check(object) ||
         is_proxy(object);
}

bool shows_class(const Recording& recording, PyObject* view) {
  if (!is_proxy(view) || !is_fresh(recording, view)) return false;
  PyObject* mapping = cpython::mapping_of_view(view);
  return mapping != nullptr &&
         (!is_known(recording, mapping) || recording.classes.class_with(mapping) != nullptr);
}

const ObjectKind ViewKind::row = {
    .read = read_view,
    .shows_another = true,
    .read_item = read_item,
    .add_reached = add_mapping,
    .describe = describe_view,
};

}  // namespace stator
