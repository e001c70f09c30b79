// capture/objects/weak_reference.cpp: weak references, which never refer to another object but may be without
// one.
#include "capture/objects/weak_reference.h"

#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"

namespace stator {

static void add_referent(Recording&, PyObject* reference, std::vector<PyObject*>& found) {
  found.push_back(PyWeakref_GET_OBJECT(reference));
}

bool read_reference(Recording& recording, PyObject* reference) {
  if (is_fresh(recording, reference)) return true;
  if (!is_pinned(recording, reference))
    return stop(recording, BreakCode::kUnguardable, "a weak reference of unknown origin");
  PyObject** field = &reinterpret_cast<PyWeakReference*>(reference)->wr_object;
  PyObject* object = PyWeakref_GET_OBJECT(reference);
  // The captured frame may drop what the real one holds.
  if (recording.takes_up_frame) {
    for (const auto& argument : recording.arguments.roots) {
      if (argument->real == object)
        return stop(recording, BreakCode::kUnguardable, "a weak reference to a value of the frame");
    }
  }
  // It never refers to another object, but may be without one.
  recording.guards.add(FieldGuard{field, "object", expect(object)}, reference);
  pin(recording, object, {Origin::attribute, reference, Ref<>::steal(PyUnicode_InternFromString("()"))});
  return true;
}

const ObjectKind WeakReferenceKind::row = {.read = read_reference, .add_reached = add_referent};

}  // namespace stator
