// src/torch/domain/compiling_flag.h: what captured code is told that asks whether it is captured.
//
// Everybody who asks (torch.compiler.is_compiling, is_dynamo_compiling, torch._dynamo.is_compiling,
// torch._utils.is_compiling, stator.is_compiling) reads one of the flags below, which stand in the dictionary
// of torch.compiler. Flags are known by that dictionary and their key, never by the key alone.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include "torch/tracing/imported_module.h"

namespace stator {

// config.is_compiling
enum class Tells : uint8_t {
  no,         // as eager code is told
  yes,        // as code that torch.compile traces is told
  automatic,  // no; and yes where the capture breaks with the answer no and does not with the answer yes
};

// Sets it for all captures from now on: True, False or "auto". Throws ValueError.
void tell_programs(const py::object& setting);
Tells telling();

class CompilingFlag {
 public:
  explicit CompilingFlag(bool told);
  ~CompilingFlag();
  CompilingFlag(const CompilingFlag&) = delete;
  CompilingFlag& operator=(const CompilingFlag&) = delete;

  // `captured`: flags say what this capture says; otherwise what they said before it.
  void set(bool captured);
  // torch.compiler.is_compiling is about to be run: what the one who asks is told, where others are told yes.
  bool is_asked_by(PyCodeObject* code) const { return told_ && code == asking_code_; }
  void answer_next(bool captured);
  // The same of torch.compiler.is_dynamo_compiling.
  bool is_dynamo_asked_by(PyCodeObject* code) const { return code == dynamo_code_; }
  void answer_dynamo_next(bool compiles);

  // Whether a read of the key is a read of a flag. `setting`: the key of the same dictionary that decided
  // what the flag says, or nullptr.
  bool is_read(PyObject* dict, PyObject* key, PyObject** setting);
  bool told() const { return told_; }
  bool was_asked() const { return was_asked_; }

 private:
  void write(PyObject* key, PyObject* value);

  PyObject* const dict_;
  py::object old_;  // of torch's flag
  const bool told_;
  bool was_asked_ = false;
  bool says_;                     // torch's flag says that it is captured
  bool is_wrapper_told_ = false;  // the answer stands for one who is told yes under every setting
  PyCodeObject* const asking_code_;
  PyCodeObject* const dynamo_code_;
};

// Functions that are told what eager code is told, whatever the setting is (stator/api/compiling.py says
// why).
void never_tell(const py::set& codes);
bool is_never_told(PyCodeObject* code);

}  // namespace stator
