// src/torch/tracing/thread_state.h: torch's thread-local state as it was at one moment, to be put back later.
//
// Everything is put back but the Python objects that libraries keep there (torch._C._stash_obj_in_tls):
// a module that is imported in between keeps its state so, and torch owns no reference of its own to such an
// object, so dropping one would free it under its user.
#pragma once

#include <ATen/ThreadLocalPythonObjects.h>
#include <ATen/ThreadLocalState.h>

namespace stator {

class ThreadState {
 public:
  void restore() const {
    const at::impl::ThreadLocalPythonObjects objects = at::impl::ThreadLocalPythonObjects::get_state();
    at::ThreadLocalState::setThreadLocalState(state_);
    at::impl::ThreadLocalPythonObjects::set_state(objects);
  }

 private:
  at::ThreadLocalState state_;  // of the moment when this is made
};

}  // namespace stator
