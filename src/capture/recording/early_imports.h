// capture/recording/early_imports.h: whether a module may be loaded before the program that imports it has
// begun, though the program writes to something first.  A module that is loaded sees the state of modules:
// their variables and classes, and what hangs on those. So it may be loaded early if nothing of the kind was
// written that it can know. What can know what: modules of Python's own know each other; parts of a package
// know the package and Python's own.
#ifndef STATOR_CAPTURE_RECORDING_EARLY_IMPORTS_H
#define STATOR_CAPTURE_RECORDING_EARLY_IMPORTS_H

#include "capture/recording/recording.h"

namespace stator {

bool may_be_loaded_early(const Recording& recording, const std::string& path);

}  // namespace stator

#endif
