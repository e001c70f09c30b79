// src/backends/choose.cpp: the program of a captured graph, by the backend that the user asked for.
#include "backends/choose.h"

#include "backends/empty/empty_program.h"
#include "backends/fx/fx_program.h"
#include "backends/native/tensor_program.h"

namespace stator {

std::unique_ptr<TensorProgram> make_program(std::shared_ptr<Session> session, PyObject* backend,
                                            const std::vector<std::string>& sources) {
  if (backend == Py_None) return native::make_tensor_program(std::move(session));
  if (PyUnicode_Check(backend)) {
    if (PyUnicode_CompareWithASCIIString(backend, "native") == 0)
      return native::make_tensor_program(std::move(session));
    if (PyUnicode_CompareWithASCIIString(backend, "empty") == 0)
      return make_empty_program(native::make_tensor_program(std::move(session)));
  }
  return fx::make_fx_program(std::move(session), backend, sources);
}

}  // namespace stator
