// src/torch/replacements/made_parameter.h: nn.Parameter(t) in captured code.
//
// A parameter is a tensor of its own on the memory of another one, a leaf: the graph has nodes for both. That
// its Python object is of another class is no matter of the graph, so results get their class after each run.
#pragma once

#include <Python.h>

#include <memory>
#include <vector>

#include "capture/domain.h"

namespace stator {

// Called once, when the module is initialised.
void prepare_made_parameters();

// What is called in place of the class; null if `callable` is something else.
Ref<> makes_parameter(PyObject* callable);
bool is_parameter_maker(PyObject* callable);

// Whether a result of a capture is a parameter that was made in it.
bool is_made_parameter(PyObject* output);

// The program, with these of its outputs made parameters.
std::unique_ptr<TensorProgram> with_parameters(std::unique_ptr<TensorProgram> program,
                                               std::vector<size_t> outputs);

}  // namespace stator
