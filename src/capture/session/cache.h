// capture/session/cache.h: the captures of one function, and when one more is made.
//
// A call is served by the first capture whose guards hold. If none does, the call is captured, until the
// limit is reached: from then on the function runs eagerly. Captures that never served a call and take for
// fixed what has turned out to vary make room first, where the others do serve. A way through the function
// that breaks is tried as often as the limit says beside those that are captured; a function whose first
// capture breaks is given up, unless a module was to be loaded: then it is tried again when that is there.
// Under modes that nothing is captured in it runs eagerly, and is captured when the caller has left them.
#ifndef STATOR_CAPTURE_SESSION_CACHE_H
#define STATOR_CAPTURE_SESSION_CACHE_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/cpython/interrupts.h"
#include "capture/guards/function_spec.h"
#include "capture/session/entry.h"

namespace stator {

// What the owner of a cache hears, and may refuse with a Python error set (false).
class CacheListener {
 public:
  virtual ~CacheListener() = default;
  // A guard raised: it holds for no call. The error is set.
  virtual bool guard_raised() {
    if (is_interrupted()) return false;
    drop_error();
    return true;
  }
  virtual bool captures_again(const std::string& /*failed guard*/) { return true; }
  virtual bool reached_limit(const std::string& /*failed guard*/) { return true; }
  virtual bool captured(const Entry&) { return true; }
};

class CaptureCache {
 public:
  enum class Answer : uint8_t {
    served,   // `result` is the value, or nullptr with an error set
    native,   // the function is to run eagerly
    stopped,  // the same, since its capture stopped just now: stops().back()
    raised,   // an error is set
    // The program of a capture failed and left nothing behind; its error is set. The function is to run
    // plainly from its start: what it then raises, or catches, is eager's.
    undone,
    undone_by_backend,  // the same, in code of the backend's own, which may be to blame
    open,               // served up to a break: the program goes on in the frames of the `end`
  };
  struct Serving {
    std::optional<FunctionSpec> function;  // for functions that are made anew on every call
    std::shared_ptr<Entry> entry;          // shared: a call in progress keeps its own while others reset
    bool outdated = false;                 // it takes for fixed what varies in the captures after it
  };

  // `may_capture`: otherwise only what is there is used.
  Answer call(const Domain& domain, PyObject* function, const Call& call, CaptureOptions options, int limit,
              bool may_capture, CacheListener& listener, PyObject** result, OpenEnd& end);

  const std::vector<Serving>& entries() const { return entries_; }
  const std::vector<CaptureStop>& stops() const { return stops_; }
  // Where captures end that do not reach the function's end.
  const std::vector<CaptureStop>& breaks() const { return breaks_; }
  // The guard that failed before each capture but the first.
  const std::vector<std::string>& misses() const { return misses_; }
  bool given_up() const { return given_up_; }
  void give_up();
  void reset();
  Varying varying;

 private:
  std::optional<Answer> find(const Domain& domain, PyObject* function, const Call& call,
                             CacheListener& listener, CallValues& values, std::string& failed,
                             PyObject** result, OpenEnd& end);
  void note_changes(const Domain& domain, PyObject* function, const Call& call);
  bool make_room(int limit);
  bool awaits_module() const;
  Answer await_modes();
  static Answer serve(const std::shared_ptr<Entry>& entry, const Call& call, CallValues& values,
                      PyObject** result, OpenEnd& end);
  Answer capture(const Domain& domain, PyObject* function, const Call& call, const CaptureOptions& options,
                 int limit, CacheListener& listener, CallValues& values, PyObject** result, OpenEnd& end);

  std::vector<Serving> entries_;
  std::vector<CaptureStop> stops_;
  std::vector<CaptureStop> breaks_;
  std::vector<std::string> misses_;
  size_t captures_ = 0;  // that were ever made
  bool given_up_ = false;
};

}  // namespace stator

#endif
