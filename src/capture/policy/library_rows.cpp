// capture/policy/library_rows.cpp: other modules of Python's own that are written in C.
#include "capture/policy/native_row.h"

namespace stator {
namespace {

using enum NativeEffect;

constexpr NativeRow kRows[] = {
    {"sys", "intern", reads},
    {"sys", "getrecursionlimit", asks_setting},
    {"sys", "exc_info exception", asks_exception},
    {"_thread.RLock", "acquire __enter__", acquires},
    {"_thread.RLock", "release __exit__", releases},
    {"_thread.LockType", "acquire __enter__", acquires},
    {"_thread.LockType", "release __exit__", releases},
    {"_warnings", "warn", warns},
    {"contextvars.ContextVar", "get", asks_context},
    {"contextvars.ContextVar", "set", sets_context, kNothing},
    {"contextvars.ContextVar", "reset", resets_context, kNothing},
    {"_random.Random", "random getrandbits seed getstate setstate", draws},
    {"_abc", "_abc_instancecheck _abc_subclasscheck", asks_registry, kItems},
};

}  // namespace

std::span<const NativeRow> library_rows() { return kRows; }

}  // namespace stator
