// capture/objects/weak_reference.cpp: weak references, which never refer to another object but may be without
// one.
#include "capture/objects/weak_reference.h"

#include <utility>
#include <vector>

#include "capture/cpython/finalizers.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"

namespace stator {

static void add_referent(Recording&, PyObject* reference, std::vector<PyObject*>& found) {
  found.push_back(PyWeakref_GET_OBJECT(reference));
}

// With what was looked at inside of it, which the capture holds.
static void add_with_parts(const Argument& argument, std::vector<PyObject*>& dropped) {
  dropped.push_back(argument.real);
  for (const auto& part : argument.children) add_with_parts(*part, dropped);
}

// What the captured frame drops, the real one still holds; what a write replaces, the journal keeps.
static bool may_have_died(const Recording& recording, PyObject* object) {
  std::vector<PyObject*> dropped;
  for (const Ref<>& replaced : recording.known.replaced) dropped.push_back(replaced.get());
  if (recording.takes_up_frame) {
    for (const auto& argument : recording.arguments.roots) add_with_parts(*argument, dropped);
  }
  return cpython::any_that_dies(std::move(dropped), [&](PyObject* dead) { return dead == object; });
}

bool read_reference(Recording& recording, PyObject* reference) {
  if (is_fresh(recording, reference)) return true;
  if (!is_pinned(recording, reference))
    return stop(recording, BreakCode::kUnguardable, "a weak reference of unknown origin");
  PyObject** field = &reinterpret_cast<PyWeakReference*>(reference)->wr_object;
  PyObject* object = PyWeakref_GET_OBJECT(reference);
  if (may_have_died(recording, object))
    return stop(recording, BreakCode::kUnguardable, "a weak reference to what the function may have dropped");
  // It never refers to another object, but may be without one.
  recording.guards.add(FieldGuard{field, "object", expect(object)}, reference);
  pin(recording, object, {Origin::attribute, reference, Ref<>::steal(PyUnicode_InternFromString("()"))});
  return true;
}

const ObjectKind WeakReferenceKind::row = {.read = read_reference, .add_reached = add_referent};

}  // namespace stator
