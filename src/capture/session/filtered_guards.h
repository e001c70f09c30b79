// capture/session/filtered_guards.h: the guards of a capture that the user wants checked.
#ifndef STATOR_CAPTURE_SESSION_FILTERED_GUARDS_H
#define STATOR_CAPTURE_SESSION_FILTERED_GUARDS_H

#include <memory>
#include <vector>

#include "capture/arguments/argument.h"
#include "capture/guards/guard_set.h"

namespace stator {

// Calls `filter` (nothing happens where it is None) with a list of rows (kind, source, key, has_value, value,
// subject), and leaves out each guard for which the list that it returns has something false. Of arguments
// only constants are asked about. False with an error set: the filter raised.
bool filter_guards(PyObject* filter, std::vector<std::unique_ptr<Argument>>& arguments, GuardSet& guards);

}  // namespace stator

#endif
