// capture/recording/identities.cpp: which object something is, where a later call may have another one in its
// place.
#include "capture/recording/identities.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/operands.h"
#include "capture/recording/places.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"

namespace stator {

// Whether CPython keeps one object for all constants of this value.
static bool is_one_of_its_kind(PyObject* constant) {
  if (PyLong_CheckExact(constant)) {
    int overflow = 0;
    const long value = PyLong_AsLongAndOverflow(constant, &overflow);
    return overflow == 0 && value >= -5 && value <= 256;
  }
  if (PyUnicode_CheckExact(constant))
    return PyUnicode_GET_LENGTH(constant) == 0 ||
           (PyUnicode_GET_LENGTH(constant) == 1 && PyUnicode_READ_CHAR(constant, 0) < 256);
  if (PyBytes_CheckExact(constant)) return PyBytes_GET_SIZE(constant) <= 1;
  return !PyFloat_CheckExact(constant) && !PyComplex_CheckExact(constant);
}

// In how many places a capture found constants of this value, those of the running function among them.
static size_t places_of(const Recording& recording, PyObject* constant, bool& guarded) {
  const ExpectedValue value = expect(constant);
  guarded = true;
  const size_t places = recording.known.constants.count(value, [&](PyObject* parent) {
    // Arguments and functions that are known by what they are made of are compared in ways of their own.
    // Classes are compared by the very objects that they hold, and so is what is set apart from them.
    if (parent == nullptr || parent == reinterpret_cast<PyObject*>(recording.known.proven_function) ||
        recording.known.proven_cells.count(parent) != 0)
      guarded = false;
  });
  size_t in_function = 0;
  const auto* function = reinterpret_cast<PyFunctionObject*>(recording.frame->function);
  for (PyObject* tuple : {recording.frame->code->co_consts, function->func_defaults}) {
    for (Py_ssize_t i = 0; tuple != nullptr && i < PyTuple_GET_SIZE(tuple); i++)
      in_function += value.matches(PyTuple_GET_ITEM(tuple, i)) ? 1 : 0;
  }
  return places + in_function;
}

// Something else stands for each such argument, also where one object is given twice.
static bool is_known_by_parts(PyObject* object) { return PyTuple_Check(object) || PyMethod_Check(object); }

// An argument that is compared by equality (a device, a size), of a type in which equal objects may be two.
static const Argument* find_equal_argument(const Argument& argument, PyObject* object) {
  if (argument.kind == Argument::Kind::immutable && argument.stands.get() == object) return &argument;
  for (const auto& child : argument.children) {
    if (const Argument* found = find_equal_argument(*child, object)) return found;
  }
  return nullptr;
}

static bool are_equal_immutables(const Recording& recording, PyObject* a, PyObject* b) {
  if (Py_TYPE(a) != Py_TYPE(b) || Py_TYPE(a)->tp_richcompare == PyBaseObject_Type.tp_richcompare ||
      !recording.domain.is_immutable(a) || !recording.domain.is_immutable(b))
    return false;
  if (a == b) return true;
  if (recording.domain.is_symbolic(a) || recording.domain.is_symbolic(b)) return false;
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) drop_error();
  return equal == 1;
}

static const Argument* find_argument_by_equality(const Recording& recording, PyObject* object) {
  for (const auto& root : recording.arguments.roots) {
    if (const Argument* found = find_equal_argument(*root, object)) return found;
  }
  return nullptr;
}

// Another attempt is given the objects themselves, and compares them by address. True: there is no such one.
static bool want_arguments_by_identity(Recording& recording, PyObject* a, PyObject* b,
                                       const Argument* (*find)(const Recording&, PyObject*)) {
  bool found = false;
  for (PyObject* object : {a, b}) {
    const Argument* const argument = find(recording, object);
    if (argument == nullptr) continue;
    found = true;
    recording.arguments.repeated.insert(argument->real);
  }
  return !found || stop(recording, BreakCode::kUnguardable,
                        std::string("the identity of a ") + Py_TYPE(a)->tp_name + " among the arguments");
}

// One object stays one where it can only have come from one place, or where every place must hold the same
// object as now.
bool before_identity(Recording& recording, PyObject* a, PyObject* b) {
  if (a != b && is_known_by_parts(a) && is_known_by_parts(b) &&
      !want_arguments_by_identity(recording, a, b, [](const Recording& of, PyObject* object) {
        return static_cast<const Argument*>(find_argument(of, object));
      }))
    return false;
  if (are_equal_immutables(recording, a, b) &&
      !want_arguments_by_identity(recording, a, b, find_argument_by_equality))
    return false;
  if (a != b && PyTuple_Check(a) && PyTuple_Check(b))
    return want_tuple_by_identity(recording, a) && want_tuple_by_identity(recording, b);
  // A symbol stands for a number that may be one that CPython keeps once, or the very object of the other.
  const Domain& domain = recording.domain;
  const auto may_be_number = [&](PyObject* object) {
    return domain.is_symbolic(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object);
  };
  if (a != b && (domain.is_symbolic(a) || domain.is_symbolic(b)) && may_be_number(a) && may_be_number(b))
    return stop(recording, BreakCode::kSymbolicNumber, "whether two numbers are one object");
  if (!is_constant(a) || !is_constant(b) || !expect(a).matches(b) || is_one_of_its_kind(a)) return true;
  bool guarded = false;
  if (places_of(recording, a, guarded) < 2 && a == b) return true;
  if (guarded) {
    recording.guards.know_by_identity(a);
    return true;
  }
  return stop(recording, BreakCode::kUnguardable, "whether two equal constants are one object");
}

static constexpr const char* kOfGivenTensor = "the identity of a tensor that was there before";

// Whether the `__hash__` of its class runs.
static bool is_in_own_hash(const Recording& recording, PyObject* object) {
  static PyObject* const name = PyUnicode_InternFromString("__hash__");
  const cpython::Frame* const frame = recording.frame;
  return frame != nullptr &&
         reinterpret_cast<PyObject*>(frame->function) == _PyType_Lookup(Py_TYPE(object), name);
}

// id(): of an object made here it is another number in each run, which a program can only use to tell objects
// apart. A constant must then be the very object that it is now, wherever it was found.
bool read_identity(Recording& recording, PyObject* object) {
  if (!want_tuple_by_identity(recording, object)) return false;
  if (recording.domain.is_symbolic(object))
    return stop(recording, BreakCode::kSymbolicNumber, "the identity of a number");
  // Which tensors of the call are one is guarded always, and what stands for them is as many objects: enough
  // for sets and dictionaries, which hash them. The number itself may be compared with one that the program
  // kept from before.
  if (recording.given_tensors.contains(object)) {
    if (!is_in_own_hash(recording, object)) return stop(recording, BreakCode::kUnguardable, kOfGivenTensor);
    recording.known.identities.insert(reinterpret_cast<size_t>(object));
    return true;
  }
  if (is_of_call(recording, object) && !is_fresh(recording, object))
    return stop(recording, BreakCode::kUnguardable,
                "the identity of an argument that is known by its contents");
  if (!is_known(recording, object))
    return stop(recording, BreakCode::kUnguardable, "the identity of an object of unknown origin");
  if (!is_pinned(recording, object)) recording.known.identities.insert(reinterpret_cast<size_t>(object));
  if (!is_constant(object) || is_one_of_its_kind(object)) return true;
  bool guarded = false;
  places_of(recording, object, guarded);
  if (!guarded)
    return stop(recording, BreakCode::kUnguardable, "the identity of a constant among the arguments");
  recording.guards.know_by_identity(object);
  return true;
}

// Calls `visit` for what a container of Python's own holds; true where it is no such container.
template <class Visit>
static bool all_inside(PyObject* object, Visit&& visit) {
  if (PyTuple_Check(object) || PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++) {
      if (!visit(PySequence_Fast_GET_ITEM(object, i))) return false;
    }
    return true;
  }
  if (PyDict_Check(object)) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(object, &position, &key, &value)) {
      if (!visit(key) || !visit(value)) return false;
    }
    return true;
  }
  if (PyAnySet_Check(object)) return each_item(object, visit);
  return !PyMethod_Check(object) ||
         (visit(PyMethod_GET_FUNCTION(object)) && visit(PyMethod_GET_SELF(object)));
}

bool before_hash_call(Recording& recording, PyObject* object) {
  if (recording.given_tensors.contains(object))
    return stop(recording, BreakCode::kUnguardable, kOfGivenTensor);
  const auto each = [&](PyObject* inner) { return before_hash_call(recording, inner); };
  return PyTuple_Check(object) ? all_inside(object, each) && before_hashing(recording, object)
                               : before_hashing(recording, object);
}

bool before_hashing(Recording& recording, PyObject* object) {
  if (is_constant(object) || recording.domain.is_tensor(object)) return true;
  if (Argument* argument = find_argument(recording, object);
      argument != nullptr && !read_argument_whole(recording, *argument))
    return false;
  const PyTypeObject* type = Py_TYPE(object);
  const bool hashes_address = type->tp_hash == PyBaseObject_Type.tp_hash || PyFunction_Check(object);
  if (hashes_address && is_of_call(recording, object))
    return stop(recording, BreakCode::kUnguardable,
                std::string("the address of a ") + type->tp_name + " is hashed");
  if (PyTuple_Check(object) || PyMethod_Check(object))
    return all_inside(object, [&](PyObject* inner) { return before_hashing(recording, inner); });
  return true;
}

}  // namespace stator
