// capture/guards/guard.h: the kinds of guards.
#ifndef STATOR_CAPTURE_GUARDS_GUARD_H
#define STATOR_CAPTURE_GUARDS_GUARD_H

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "capture/domain.h"
#include "capture/guards/expected_value.h"
#include "capture/guards/held_key.h"
#include "capture/guards/type_contents.h"

namespace stator {

struct DictGuard {
  PyObject* dict;
  bool whole = false;  // iterated: keys and their order count
  struct Read {
    HeldKey key;
    ExpectedValue value;
    // What the dictionary holds under the key; nullptr: nothing, also where the key is gone.
    PyObject* found_in(PyObject* dict) const;
  };
  std::vector<Read> reads;
};
struct ListGuard {
  PyObject* list;
  bool whole = false;
  std::vector<ExpectedValue> items;  // as many as the list has; those that were not read expect nothing
};
struct TypeGuard {
  PyTypeObject* type;
  Ref<> alive;  // a weak reference, asked first: guards before this one need not prove that the class exists
  unsigned int version = 0;
  std::shared_ptr<const TypeContents> contents;  // compared where the version differs
  std::shared_ptr<const ApartNames> apart;       // attributes with guards of their own, or none
};
struct ObjectGuard {
  PyObject* object;
  PyTypeObject* type;
  Ref<> type_name;                 // the class may die before the guard is put into words
  PyObject** dict_slot = nullptr;  // where the object keeps its dictionary
  PyObject* dict = nullptr;
  // The dictionary and key that it was reached through; nullptr: it was reached in another way.
  PyObject *holder = nullptr, *key = nullptr;

  explicit ObjectGuard(PyObject* object);
};
struct FunctionGuard {
  PyFunctionObject* function;
  PyObject *code, *defaults, *keyword_defaults, *closure, *globals;
};
// What never changes is known by its address, but another object may get that address once it is gone. So a
// tuple, or what is bound together in a method, is looked at again; what holds nothing but constants is kept.
struct TupleGuard {
  PyObject* tuple;
  PyTypeObject* type;
  std::vector<ExpectedValue> items;
};
struct MethodGuard {
  PyObject* method;  // bound: of Python or of C
  PyTypeObject* type;
  PyObject *function, *self;
};
struct CellGuard {
  PyObject* cell;
  ExpectedValue content;
};
// A slot of an instance, read through the member descriptor of its class.
struct SlotGuard {
  PyObject* object;
  PyObject* descriptor;
  ExpectedValue content;
};
// The order of an OrderedDict, which its version does not tell.
struct OrderGuard {
  PyObject* dict;
  std::vector<ExpectedValue> keys;
};
// Sets and deques: the same items in the same order of iteration. A deque is compared last, when guards on
// what it held may have been checked: so those items are kept.
struct ItemsGuard {
  PyObject* container;
  std::vector<ExpectedValue> items;
  std::vector<Ref<>> kept;
  // Of a set that is looked through after a write to it: new items find their places by the size of its
  // table.
  Py_ssize_t mask = -1;
};
// A field of an object that C code keeps outside of any dictionary: a function's name, its annotations.
struct FieldGuard {
  PyObject** field;
  const char* name;
  ExpectedValue content;
};
// What a C function without arguments answers: a setting of the process, or how many classes were registered
// with abstract base classes.
struct AnswerGuard {
  Ref<> function;
  Ref<> answer;
};
// The call does not come out of an except clause.
struct NoExceptionGuard {};
// What a context variable holds in the context of the call; nothing where it is not set.
struct ContextVariableGuard {
  PyObject* variable;
  ExpectedValue content;
};
// An attribute that a getter in C gives, the same object on every read.
struct GetterGuard {
  PyObject* object;
  PyObject* descriptor;
  Ref<> name;
  ExpectedValue content;
};
// Where each call binds the value of an int or float that is a symbol of the capture.
struct NumberBinding {
  bool is_real;
  uint32_t symbol;
};
// Such a number in a dictionary or cell.
struct NumberGuard {
  PyObject* container;
  HeldKey key;
  NumberBinding number;
};
// A tensor in a dictionary or list, or in an attribute as GetterGuard's, that each call may find replaced: it
// is an input like those among the arguments.
struct TensorItemGuard {
  PyObject* container;
  HeldKey key;
  std::string name;
  std::unique_ptr<TensorGuard> guard;
  PyObject* find() const;  // borrowed, or nullptr
};
// A tuple in such a place: the tensors in it, also in tuples inside of it, may be replaced; numbers in it are
// symbols, or compared as its other constants are.
struct TupleItemGuard {
  struct Part {
    std::string name;
    std::unique_ptr<TensorGuard> tensor;
    std::vector<Part> items;  // of a tuple
    std::optional<NumberBinding> number;
    ExpectedValue constant;  // of anything else
    bool is_tuple = false;
  };
  PyObject* container;
  HeldKey key;
  Part whole;
};
// An attribute in the dictionary of a tensor that the call brings: a constant, or its absence.
struct GivenAttributeGuard {
  std::shared_ptr<const size_t> tensor;  // among those that the call brings
  std::string tensor_name;
  Ref<> name;
  ExpectedValue value;
};
struct PinnedTensorGuard {
  PyObject* tensor;
  std::unique_ptr<TensorGuard> guard;
};

using Guard = std::variant<DictGuard, ListGuard, TypeGuard, ObjectGuard, FunctionGuard, CellGuard, SlotGuard,
                           OrderGuard, ItemsGuard, FieldGuard, AnswerGuard, NoExceptionGuard, GetterGuard,
                           PinnedTensorGuard, NumberGuard, TensorItemGuard, TupleGuard, MethodGuard,
                           GivenAttributeGuard, TupleItemGuard, ContextVariableGuard>;

// Binds a symbol to an int or float of its kind; false for anything else.
bool bind_number(PyObject* value, bool is_real, uint32_t symbol, shape::Bindings& bindings);
// How Varying names an item of the container with this source.
std::string place_name(const std::string& container, PyObject* key);

// What guards find in a call.
struct FoundByGuards {
  shape::Bindings& bindings;
  std::vector<PyObject*>& tensors;  // borrowed
};

// What stands in a dictionary, list or cell (whatever the key), or an attribute for which the class has a
// getter in C that gives the same object each time; borrowed, nullptr where there is nothing.
PyObject* item_at(PyObject* container, PyObject* key);

// The function and the object that a method binds; of a method of C: its definition.
struct MethodFields {
  PyObject *const *function, *const *self;
};
MethodFields fields_of(PyObject* method);

// Runs no Python code of the user's.
bool holds(Guard& guard, FoundByGuards found);
// What is expected, in words.
std::string text_of(const Guard& guard);

}  // namespace stator

#endif
