// capture/recording/cached_calls.h: what is remembered of calls of functions with a cache.
#ifndef STATOR_CAPTURE_RECORDING_CACHED_CALLS_H
#define STATOR_CAPTURE_RECORDING_CACHED_CALLS_H

#include <vector>

#include "capture/cpython/frame.h"
#include "capture/cpython/ref.h"

namespace stator {

struct Recording;

struct CachedCalls {
  // Of a function that is executed, not captured: under which key its result will be found, and where.
  Ref<> key;
  PyObject* results = nullptr;
  PyObject* called = nullptr;

  // Every cache that has answered, once for each answer. When the attempt is over the program asks them
  // again, by its run or natively, and finds what the attempt made them keep: so each hit is taken back. A
  // miss was counted here.
  std::vector<Ref<>> answered;
  CachedCalls() = default;
  ~CachedCalls();
  CachedCalls(const CachedCalls&) = delete;
  CachedCalls& operator=(const CachedCalls&) = delete;

  // A function that is followed in place of its cache, because a symbol is among its arguments. It is sound
  // where nobody can tell: it writes to nothing that existed before, and what it gives, which the cache would
  // give to others as well, is neither changed nor let out.
  struct Followed {
    const cpython::Frame* caller;
    PyObject* code;
    uint64_t writes;  // so many had been made when it was called
  };
  std::vector<Followed> followed;
  struct Kept {
    Ref<> container, contents;
    PyObject* code;  // of the function that gave it
  };
  std::vector<Kept> kept;
  // One of them was not: it is known by now, and another attempt will give it numbers.
  bool was_unsound = false;

  static bool may_follow(PyObject* code);
  // Before an instruction of `frame`: the function that it called is done, and has given `sp[-1]`. False: it
  // was not sound.
  bool settle(const cpython::Frame* frame, uint64_t writes, PyObject** sp);
  // Whether the containers are as the functions gave them, and none is part of what the program returns.
  bool are_as_given(PyObject* returned);

 private:
  bool give_numbers_to(PyObject* code);  // from now on; false
};

[[nodiscard]] bool follow_cached(Recording& recording, PyObject*& callable, PyObject** arguments,
                                 PyObject** end);

}  // namespace stator

#endif
