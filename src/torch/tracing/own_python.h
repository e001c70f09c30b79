// src/torch/tracing/own_python.h: Python code of torch's or ours that runs under the hook and is no part of
// the program.
#pragma once

#include "torch/tracing/session.h"

namespace stator {

// While it lives, what runs is such code. No session: nothing is captured, and nothing needs to be told.
class OwnPython {
 public:
  explicit OwnPython(Session* session) : session_(session) {
    if (session_ != nullptr) ++session_->own_python;
  }
  ~OwnPython() {
    if (session_ != nullptr) --session_->own_python;
  }
  OwnPython(const OwnPython&) = delete;
  OwnPython& operator=(const OwnPython&) = delete;

 private:
  Session* session_;
};

}  // namespace stator
