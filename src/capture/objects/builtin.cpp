// capture/objects/builtin.cpp: functions in C, and methods bound to an object, such as `items.append`.
#include "capture/objects/builtin.h"

#include "capture/program/description.h"

namespace stator {

// Functions of modules are bound to their module, and live with it.
static bool describe_builtin(Description& description, size_t step, PyObject* builtin) {
  auto* const like = reinterpret_cast<PyCFunctionObject*>(builtin);
  if (like->m_self == nullptr || PyModule_Check(like->m_self) || PyType_Check(like->m_self)) {
    description.stay(step, builtin);
    return true;
  }
  const size_t self = description.add(like->m_self);
  if (self == Description::kStopped) return false;
  // The same C function, bound to the object of this call.
  description.make_whole(step, [self, kept = Ref<>::share(builtin)](const Description::Values& values) {
    auto* const function = reinterpret_cast<PyCFunctionObject*>(kept.get());
    return Ref<>::steal(PyCMethod_New(function->m_ml, values[self].get(), function->m_module,
                                      PyCFunction_GET_CLASS(kept.get())));
  });
  return true;
}

const ObjectKind BuiltinKind::row = {.describe = describe_builtin};

}  // namespace stator
