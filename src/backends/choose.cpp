// src/backends/choose.cpp: the program of a captured graph, by the backend that the user asked for.
#include "backends/choose.h"

#include <cstdlib>
#include <stdexcept>

#include "backends/cuda_graphs/graphed_program.h"
#include "backends/empty/empty_program.h"
#include "backends/fused/program/fused_program.h"
#include "backends/fx/fx_program.h"
#include "backends/native/tensor_program.h"
#include "backends/openxla/direct_program.h"
#include "core/ir/verify.h"

namespace stator {

// Debug builds check every captured graph, and so do the tests (STATOR_VERIFY, tests/conftest.py).
static bool verifies_graphs() {
#ifdef NDEBUG
  static const bool asked = std::getenv("STATOR_VERIFY") != nullptr;
  return asked;
#else
  return true;
#endif
}

std::unique_ptr<TensorProgram> make_program(std::shared_ptr<Session> session, PyObject* backend,
                                            const std::vector<std::string>& sources) {
  if (verifies_graphs()) {
    if (const auto error = ir::verify(session->graph))
      throw std::logic_error("the captured graph breaks an invariant, a bug of Stator's: " + *error);
  }
  // Without operators there is nothing for a backend to compile: it is not told of the capture.
  if (backend == Py_None || session->graph.nodes().empty())
    return native::make_tensor_program(std::move(session));
  if (PyUnicode_Check(backend)) {
    const auto is = [&](const char* name) { return PyUnicode_CompareWithASCIIString(backend, name) == 0; };
    if (is("native")) return native::make_tensor_program(std::move(session));
    if (is("native+cuda_graphs")) {
      native::Program program = cuda_graphs::make_program(*session, native::in_order(session->graph));
      return native::make_tensor_program(std::move(session), std::move(program));
    }
    if (is("fused")) return fused::make_tensor_program(std::move(session), false);
    if (is("fused+cuda_graphs")) return fused::make_tensor_program(std::move(session), true);
    if (is("empty")) return make_empty_program(native::make_tensor_program(std::move(session)));
  }
  if (auto program = openxla::make_direct_program(session, backend)) return program;
  return fx::make_fx_program(std::move(session), backend, sources);
}

}  // namespace stator
