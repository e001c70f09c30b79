// src/torch/tracing/binding_warnings.h: warnings that torch's Python bindings give before they call an
// operator.
//
// A binding collects them and shows them when it returns: by Python code, which a capture would follow, or
// after a break, where nobody hears them and an error about them is printed. So a capture ends where such a
// warning comes for the first time, and the native run gives it; from then on captures drop it.
#pragma once

namespace stator {

// Of the call that is under way in this thread. Returns whether one of them has not ended a capture before.
bool take_new_warnings();
void drop_warnings();

}  // namespace stator
