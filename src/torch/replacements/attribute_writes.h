// src/torch/replacements/attribute_writes.h: attributes of tensors that are changed by nodes of the graph.
#pragma once

#include "capture/domain.h"
#include "torch/tracing/session.h"

namespace stator {

// `requires_grad` and `data`. What torch refuses is left to it.
DomainCapture::AttributeWrite record_attribute_write(Session& session, PyObject* tensor, PyObject* name,
                                                     PyObject* value);

}  // namespace stator
