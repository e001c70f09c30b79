// src/torch/domain/torch_domain.h: the torch layer as the domain of the capture layer.
#pragma once

#include <Python.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stator {

class Session;
class TensorProgram;
struct GradientQuery;
struct TracedGradient;

// Makes a captured graph ready to run by the backend that the user asked for; `sources` as in
// DomainCapture::compile. Throws, or returns nullptr with a Python error set where the backend raised it and
// without one where it declined.
using GraphBackend = std::unique_ptr<TensorProgram> (*)(std::shared_ptr<Session>, PyObject* backend,
                                                        const std::vector<std::string>& sources);

// What gradients of values of a graph look like that is being captured. The session is paused, and the
// thread's modes are those of its caller.
using GradientTrace = std::vector<std::optional<TracedGradient>> (*)(Session& session,
                                                                     const GradientQuery& query);

// Gives the capture layer (stator._capture, which must be imported) torch's tensors. False with a Python
// error set.
bool install_torch_domain(GraphBackend backend, GradientTrace trace);

}  // namespace stator
