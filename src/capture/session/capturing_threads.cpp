// capture/session/capturing_threads.cpp: one thread captures at a time.
#include "capture/session/capturing_threads.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "capture/cpython/python.h"
#include "capture/engine/engine.h"

namespace stator {
namespace {

// Of a process that was forked while they captured, the other threads are not there.
struct Capturing {
  unsigned long thread = PyThread_get_thread_ident();
  pid_t process = getpid();
  bool operator==(const Capturing&) const = default;
};
// Guarded by the GIL. A backend may capture while it compiles: one thread may be there more than once.
std::vector<Capturing> capturing;
size_t ended = 0;

}  // namespace

CapturingScope::CapturingScope() { capturing.push_back({}); }

CapturingScope::~CapturingScope() {
  const auto own = std::find(capturing.begin(), capturing.end(), Capturing{});
  if (own != capturing.end()) capturing.erase(own);
  ended++;
}

bool another_capture_runs() {
  if (Engine::get().capturing) return true;
  const Capturing own;
  return std::any_of(capturing.begin(), capturing.end(), [&](const Capturing& other) {
    return other.process == own.process && other.thread != own.thread;
  });
}

size_t captures_ended() { return ended; }

}  // namespace stator
