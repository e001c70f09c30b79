// capture/recording/random_numbers.cpp: generators of random numbers outside of torch: Python's and NumPy's.
//
// A number that is drawn is another one in each call, so it ends the capture before the generator moves: the
// function that is run instead draws it. A generator that captured code itself makes from a seed gives the
// same numbers each time.
#include "capture/recording/random_numbers.h"

#include <string_view>

#include "capture/cpython/interrupts.h"
#include "capture/recording/calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

// Of Python's module, if that is loaded.
bool is_generator_class(PyTypeObject* type) {
  const auto name = Ref<>::steal(PyUnicode_FromString("random"));
  const auto module = Ref<>::steal(name ? PyImport_GetModule(name.get()) : nullptr);
  const auto found = Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "Random") : nullptr);
  drop_error();
  return found.get() == reinterpret_cast<PyObject*>(type);
}

}  // namespace

bool is_seeded_generator(PyTypeObject* type, PyObject* const* arguments, Py_ssize_t count) {
  return count == 1 && PyLong_CheckExact(arguments[0]) && is_generator_class(type);
}

bool draws_random_numbers(PyObject* callable) {
  if (!std::string_view(Py_TYPE(callable)->tp_name).starts_with("_cython")) return false;
  const auto module = Ref<>::steal(PyObject_GetAttrString(callable, "__module__"));
  if (!module) drop_error();
  return module && utf8(module.get()).starts_with("numpy.random");
}

bool before_draw(Recording& recording, PyObject* method, std::string_view name,
                 const std::vector<PyObject*>& arguments) {
  if (arguments.empty()) return true;  // raises
  // Without a seed the system's own randomness is one.
  const bool is_known_seed = name != "seed" || (arguments.size() == 2 && PyLong_CheckExact(arguments[1]));
  if (is_fresh(recording, arguments[0]) && is_known_seed) return true;
  return stop(recording, BreakCode::kRandomState, text_of_call(method));
}

}  // namespace stator
