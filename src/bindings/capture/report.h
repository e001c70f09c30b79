// bindings/capture/report.h: captures and the reasons for which there are none, as Python objects.
#ifndef STATOR_BINDINGS_CAPTURE_REPORT_H
#define STATOR_BINDINGS_CAPTURE_REPORT_H

#include <memory>
#include <string>
#include <vector>

#include "capture/session/callee_captures.h"
#include "capture/session/stop_text.h"

namespace stator {

// All of these give a new reference, or nullptr with a Python error set.
PyObject* strings(const std::vector<std::string>& texts);
Ref<> unicode(const std::string& text);
// `line`: that the capture begins at, where that is not the beginning of the function.
PyObject* entry_row(const Entry& entry, int line = 0);
PyObject* stop_rows(const std::vector<CaptureStop>& stops);
// Where captures ended before the function did, and why others were given up.
std::vector<CaptureStop> all_stops(const CaptureCache& cache);
PyObject* callee_rows(const CalleeCaptures& callees);

}  // namespace stator

#endif
