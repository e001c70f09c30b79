// bindings/capture/stance.h: the functions that set how calls of compiled functions are treated.
#ifndef STATOR_BINDINGS_CAPTURE_STANCE_H
#define STATOR_BINDINGS_CAPTURE_STANCE_H

#include "capture/session/call_settings.h"

namespace stator {

bool add_stance(PyObject* module);

}  // namespace stator

#endif
