// capture/guards/function_spec.cpp: describing and matching functions.
#include "capture/guards/function_spec.h"

#include "capture/guards/function_parts.h"

namespace stator {

FunctionSpec::FunctionSpec(PyFunctionObject* function)
    : code_(function->func_code),
      globals_(function->func_globals),
      keywords_(keyword_names(reinterpret_cast<PyObject*>(function))) {
  each_part(reinterpret_cast<PyObject*>(function), [&](PyObject* part) {
    parts_.push_back(expect(part));
    return true;
  });
}

bool FunctionSpec::matches(PyFunctionObject* function) const {
  auto* object = reinterpret_cast<PyObject*>(function);
  if (function->func_code != code_ || function->func_globals != globals_ ||
      !has_keyword_names(object, keywords_))
    return false;
  size_t next = 0;
  const bool same =
      each_part(object, [&](PyObject* part) { return next < parts_.size() && parts_[next++].matches(part); });
  return same && next == parts_.size();
}

}  // namespace stator
