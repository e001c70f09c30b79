// capture/objects/instance.cpp: instances of any class that has no kind of its own: their class, their
// dictionary of attributes and their slots. Every function that another kind may leave out is here.
#include "capture/objects/instance.h"

#include <structmember.h>

#include "capture/cpython/exported.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/referents.h"
#include "capture/cpython/type_dict.h"
#include "capture/objects/dict.h"
#include "capture/objects/list.h"
#include "capture/policy/hidden_contents.h"
#include "capture/program/effects.h"
#include "capture/program/held_class.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"
#include "capture/recording/writes.h"

namespace stator {
namespace {

// A slot, or an attribute that a getter and a setter in C stand for.
class WrittenSlot : public Written {
 public:
  WrittenSlot(PyObject* object, PyObject* descriptor)
      : Written(object), descriptor(Ref<>::share(descriptor)) {
    entry = read_slot(object, descriptor);
    if (!entry) entry = Ref<>::share(Journal::absent());
  }

  const Ref<> descriptor;
  SlotWrite write = SlotWrite::effect;

  bool put_back() const override { return is_as_before() || set(Journal::or_null(entry.get())); }
  bool is_as_before() const override {
    return read_slot(object.get(), descriptor.get()).get() == Journal::or_null(entry.get());
  }
  void collect(Effects& effects, const Recording& recording) const override {
    if (write == SlotWrite::by_program) return;
    Ref<> content = read_slot(object.get(), descriptor.get());
    if (content && recording.placed.in(object.get(), PyDescr_NAME(descriptor.get())) == content.get()) return;
    effects.add(object.get(), {std::move(content)},
                [slot = descriptor](PyObject* target, const FinalValues& values) {
                  return Py_TYPE(slot.get())->tp_descr_set(slot.get(), target, values[0]) == 0;
                });
  }
  bool is_seen_by_lookups() const override { return write == SlotWrite::effect; }

 private:
  bool set(PyObject* value) const {
    return Py_TYPE(descriptor.get())->tp_descr_set(descriptor.get(), object.get(), value) == 0;
  }
};

// Reads ----------------------------------------------------------------------------------------------

// An instance of a class that is no container. Special methods that are Python functions of the class guard
// what they read as they run.
bool read_instance(Recording& recording, PyObject* object) {
  if (hides_contents(Py_TYPE(object))) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("the contents of a ") + Py_TYPE(object)->tp_name + " that existed before");
  }
  if (!read_object(recording, object)) return false;
  if (PyExceptionInstance_Check(object))
    read_field(recording, object, &reinterpret_cast<PyBaseExceptionObject*>(object)->args, "args");
  return read_fields_of_c(recording, object);
}

// One item is taken out, and looked at where it is used.
bool read_item(Recording& recording, PyObject* object, PyObject* key) {
  return PyLong_CheckExact(key) ? read_moved(recording, object) : read_contents(recording, object);
}

void add_shown(Recording&, PyObject* object, std::vector<PyObject*>& found) {
  if (shows_referents(Py_TYPE(object))) cpython::add_referents(object, found);
}

bool holds_none(PyObject*) { return false; }
bool has_none_to_read(Recording&, PyObject*) { return true; }

// Writes ---------------------------------------------------------------------------------------------

bool before_all(Recording& recording, PyObject* object) {
  return before_write(recording, object, "the contents");
}

bool before_subscript_write(Recording& recording, PyObject* object, PyObject*, bool) {
  return before_write(recording, object, "an item");
}

bool before_instance_method(Recording& recording, std::string_view, PyObject* const* arguments, size_t) {
  return before_whole_write(recording, arguments[0]);
}

// Classes of the program's: what they do is Python code.
bool before_instance_in_place(Recording& recording, PyObject* object, PyObject*, OnList) {
  return Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE ? read_behaviour(recording, object)
                                                         : before_write(recording, object, "an operand");
}

bool put(Recording& recording, PyObject* object, PyObject* name, PyObject*, PyObject* stands) {
  PyObject* descriptor = _PyType_Lookup(Py_TYPE(object), name);
  return note_slot(recording, object, descriptor) &&
         Py_TYPE(descriptor)->tp_descr_set(descriptor, object, stands) == 0;
}

// Results --------------------------------------------------------------------------------------------

PyTypeObject* storage_base(PyTypeObject* type) {
  return PyType_IsSubtype(type, &PyODict_Type)  ? &PyODict_Type
         : PyType_IsSubtype(type, &PyDict_Type) ? &PyDict_Type
         : PyType_IsSubtype(type, &PyList_Type) ? &PyList_Type
                                                : &PyBaseObject_Type;
}

// Two types of Python's own: attributes and nothing else, and a dictionary with a factory.
bool is_namespace(const PyTypeObject* type) {
  return std::string_view(type->tp_name) == "types.SimpleNamespace";
}
bool is_plain_default_dict(const PyTypeObject* type) {
  return std::string_view(type->tp_name) == "collections.defaultdict" &&
         PyType_IsSubtype(const_cast<PyTypeObject*>(type), &PyDict_Type);
}

bool describe_slot(Description& description, size_t step, PyObject* object, PyObject* descriptor) {
  const Ref<> content = read_slot(object, descriptor);
  if (!content) return true;
  const size_t part = description.add(content.get());
  const HeldClass held(description.recording.guards, PyDescr_TYPE(descriptor));
  description.fill(step, [held, name = Ref<>::share(PyDescr_NAME(descriptor)), part](
                             PyObject* made, const Description::Values& values) {
    const Ref<> holder = held.get();
    const Ref<> slot = Ref<>::share(holder ? cpython::own_attribute(as_type(holder), name.get()) : nullptr);
    const bool is_there = slot && Py_IS_TYPE(slot.get(), &PyMemberDescr_Type);
    if (holder && !is_there) PyErr_SetObject(PyExc_AttributeError, name.get());
    return is_there && Py_TYPE(slot.get())->tp_descr_set(slot.get(), made, values[part].get()) == 0;
  });
  return part != Description::kStopped;
}

// Of the classes between its own and the one in C.
bool describe_slots(Description& description, size_t step, PyObject* object, PyTypeObject* base) {
  for (PyTypeObject* at = Py_TYPE(object); at != base; at = at->tp_base) {
    if (at == nullptr || !cpython::is_python_class(at)) return description.refuse(object);
    const Ref<> dict = cpython::type_dict(at);
    PyObject *name, *descriptor;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict.get(), &position, &name, &descriptor)) {
      if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) continue;
      if (!cpython::is_slot(descriptor)) return description.refuse(object);
      if (!describe_slot(description, step, object, descriptor)) return false;
    }
  }
  return true;
}

// An instance of a Python class over object, list, dict or OrderedDict: its state is its items, its
// dictionary and its slots.
bool describe_instance(Description& description, size_t step, PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  const bool is_plain = is_namespace(type) || is_plain_default_dict(type);
  if (!description.is_made_here(object) ||
      !(is_plain || type->tp_flags & Py_TPFLAGS_HEAPTYPE || type == &PyODict_Type))
    return description.refuse(object);
  PyTypeObject* const base = storage_base(type);
  const newfunc construct = is_namespace(type) ? type->tp_new : base->tp_new;
  description.begin(step,
                    [construct, held = HeldClass(description.recording.guards, type)](const Rebuild::Given&) {
                      const auto none = Ref<>::steal(PyTuple_New(0));
                      const Ref<> of = held.get();
                      return none && of ? Ref<>::steal(construct(as_type(of), none.get(), nullptr)) : Ref<>();
                    });
  if (is_plain_default_dict(type)) {
    PyObject* factory =
        _PyType_Lookup(type, Ref<>::steal(PyUnicode_InternFromString("default_factory")).get());
    return factory != nullptr && describe_slot(description, step, object, factory) &&
           describe_pairs(description, step, object);
  }
  if (!is_plain && !describe_slots(description, step, object, base)) return false;
  if (PyList_Check(object) && !describe_list_items(description, step, object)) return false;
  if (PyDict_Check(object) && !describe_pairs(description, step, object)) return false;
  return description.add_attributes(step, object);
}

}  // namespace

bool note_slot(Recording& recording, PyObject* object, PyObject* descriptor, SlotWrite write) {
  const bool is_new = !recording.journal.wrote_slot(object, descriptor);
  WrittenSlot& written = recording.journal.note<WrittenSlot>(object, descriptor);
  if (is_new) written.write = write;
  return true;
}

bool read_fields_of_c(Recording& recording, PyObject* object) {
  PyObject* const mro = Py_TYPE(object)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); i++) {
    auto* const type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (cpython::is_python_class(type)) continue;
    for (const PyMemberDef* field = type->tp_members; field != nullptr && field->name != nullptr; field++) {
      if ((field->flags & READONLY) != 0) continue;
      const auto name = Ref<>::steal(PyUnicode_InternFromString(field->name));
      if (!name || !read_attribute(recording, object, name.get())) return false;
    }
  }
  return true;
}

const ObjectKind any_instance = {
    .read = read_instance,
    .read_item = read_item,
    .add_reached = add_shown,
    .holds_unread = holds_none,
    .read_unread = has_none_to_read,
    .before_whole_write = before_all,
    .before_item_write = before_subscript_write,
    .before_method_write = before_instance_method,
    .before_in_place = before_instance_in_place,
    .put = put,
    .describe = describe_instance,
};

}  // namespace stator
