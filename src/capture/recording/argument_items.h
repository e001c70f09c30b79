// capture/recording/argument_items.h: what stands for a container of the arguments, and its items.
#ifndef STATOR_CAPTURE_RECORDING_ARGUMENT_ITEMS_H
#define STATOR_CAPTURE_RECORDING_ARGUMENT_ITEMS_H

#include "capture/recording/recording.h"

namespace stator {

bool is_sequence(const Argument& argument);
bool is_container(const Argument& argument);
// Of the caller's own container.
Py_ssize_t size_of(const Argument& argument);
// Puts what is known of an item into its place: what stands for it, or its own unread value where `lazily`.
[[nodiscard]] bool reach_item(Recording& recording, Argument& argument, const ArgumentStep& step,
                              bool lazily);
// All items that the container had at entry, as far as the run has not written them. Keys, order and length
// are compared from then on.
[[nodiscard]] bool reach_items(Recording& recording, Argument& argument, bool lazily);

}  // namespace stator

#endif
