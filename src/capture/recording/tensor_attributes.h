// capture/recording/tensor_attributes.h: attributes of tensors that a capture reads and writes.  A tensor has
// attributes that its class defines in C, which the domain knows, and those of a dictionary, as any object. A
// tracer that stands for a tensor of the call has a dictionary of its own: what is read there is fetched from
// the tensor and guarded, what is written is made again on the tensor of each call.
#ifndef STATOR_CAPTURE_RECORDING_TENSOR_ATTRIBUTES_H
#define STATOR_CAPTURE_RECORDING_TENSOR_ATTRIBUTES_H

#include "capture/recording/recording.h"

namespace stator {

// A tensor that the call brings, and the tracer that stands for it: in the order of the call's tensors.
void make_given_tensor(Recording& recording, PyObject* tracer, PyObject* real, const std::string& name,
                       bool is_placed);
[[nodiscard]] bool before_tensor_attribute_write(Recording& recording, PyObject* tensor, PyObject* name,
                                                 PyObject* value);
[[nodiscard]] bool read_tensor_attribute(Recording& recording, PyObject* tensor, PyObject* name);
[[nodiscard]] bool before_recorded_write(Recording& recording, PyObject* tensor, PyObject* name,
                                         PyObject* value);

}  // namespace stator

#endif
