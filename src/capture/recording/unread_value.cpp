// capture/recording/unread_value.cpp: the type of unread values, of which every slot ends the capture.
#include "capture/recording/unread_value.h"

#include "capture/engine/engine.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

struct UnreadValue {
  PyObject base;
  Argument* argument;
};

void end_capture() {
  if (Recording* recording = thread_context.recording) {
    stop(*recording, BreakCode::kUnguardable, "C code looks at an argument that was not read before");
  } else if (!PyErr_Occurred()) {
    PyErr_SetString(PyExc_RuntimeError, "an argument of a capture that is over");
  }
}

PyObject* refuse(PyObject*) {
  end_capture();
  return nullptr;
}
PyObject* refuse_two(PyObject*, PyObject*) { return refuse(nullptr); }
PyObject* refuse_three(PyObject*, PyObject*, PyObject*) { return refuse(nullptr); }
PyObject* refuse_comparison(PyObject*, PyObject*, int) { return refuse(nullptr); }
int refuse_number(PyObject*) {
  end_capture();
  return -1;
}
Py_ssize_t refuse_size(PyObject*) { return refuse_number(nullptr); }
Py_hash_t refuse_hash(PyObject*) { return refuse_number(nullptr); }
int refuse_containing(PyObject*, PyObject*) { return refuse_number(nullptr); }
int refuse_writing(PyObject*, PyObject*, PyObject*) { return refuse_number(nullptr); }

PyNumberMethods number_methods = [] {
  PyNumberMethods methods{};
  methods.nb_add = methods.nb_subtract = methods.nb_multiply = methods.nb_remainder = methods.nb_divmod =
      methods.nb_lshift = methods.nb_rshift = methods.nb_and = methods.nb_xor = methods.nb_or =
          methods.nb_floor_divide = methods.nb_true_divide = methods.nb_matrix_multiply = refuse_two;
  methods.nb_power = refuse_three;
  methods.nb_negative = methods.nb_positive = methods.nb_absolute = methods.nb_invert = methods.nb_int =
      methods.nb_float = methods.nb_index = refuse;
  methods.nb_bool = refuse_number;
  return methods;
}();
PySequenceMethods sequence_methods = [] {
  PySequenceMethods methods{};
  methods.sq_contains = refuse_containing;
  return methods;
}();
PyMappingMethods mapping_methods{refuse_size, refuse_two, refuse_writing};

PyTypeObject unread_type = [] {
  PyTypeObject type{};
  type.ob_base.ob_base.ob_refcnt = 1;
  type.tp_name = "stator.Unread";
  type.tp_basicsize = sizeof(UnreadValue);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_dealloc = [](PyObject* self) { PyObject_Free(self); };
  type.tp_repr = type.tp_str = refuse;
  type.tp_hash = refuse_hash;
  type.tp_richcompare = refuse_comparison;
  type.tp_getattro = refuse_two;
  type.tp_setattro = refuse_writing;
  type.tp_call = refuse_three;
  type.tp_iter = refuse;
  type.tp_as_number = &number_methods;
  type.tp_as_sequence = &sequence_methods;
  type.tp_as_mapping = &mapping_methods;
  return type;
}();

}  // namespace

bool prepare_unread_values() { return unread_type.tp_dict != nullptr || PyType_Ready(&unread_type) == 0; }

bool is_unread(PyObject* object) { return object != nullptr && Py_TYPE(object) == &unread_type; }

bool is_unread_exception(PyObject* object) {
  const Argument* argument = is_unread(object) ? argument_of(object) : nullptr;
  return argument != nullptr && !argument->stands && PyExceptionInstance_Check(argument->real);
}

Ref<> make_unread(Argument* argument) {
  auto* made = PyObject_New(UnreadValue, &unread_type);
  if (made == nullptr) return {};
  made->argument = argument;
  return Ref<>::steal(reinterpret_cast<PyObject*>(made));
}

PyObject* unread_item() {
  static PyObject* const item = make_unread(nullptr).release();
  return item;
}

Argument* argument_of(PyObject* unread) { return reinterpret_cast<UnreadValue*>(unread)->argument; }

void forget_argument(PyObject* unread) { reinterpret_cast<UnreadValue*>(unread)->argument = nullptr; }

}  // namespace stator
