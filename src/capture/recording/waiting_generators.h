// capture/recording/waiting_generators.h: generators that still wait when the captured call is over.  Each of
// them would be closed where the program drops it: GeneratorExit is raised where it waits. A program has
// nothing that does so on later calls, so no code may hear of it.
#ifndef STATOR_CAPTURE_RECORDING_WAITING_GENERATORS_H
#define STATOR_CAPTURE_RECORDING_WAITING_GENERATORS_H

#include "capture/recording/recording.h"

namespace stator {

// Whether a generator that waits would run code of its own when it dies.
bool leaves_generators(Recording& recording);

}  // namespace stator

#endif
