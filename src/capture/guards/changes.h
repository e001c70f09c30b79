// capture/guards/changes.h: in what a call that no capture serves differs from the captured one.
#ifndef STATOR_CAPTURE_GUARDS_CHANGES_H
#define STATOR_CAPTURE_GUARDS_CHANGES_H

#include <string>
#include <unordered_set>

#include "capture/domain.h"
#include "capture/guards/dynamism.h"
#include "capture/guards/expected_value.h"
#include "capture/guards/source_text.h"

namespace stator {

// Whether a tuple holds nothing but tensors, constants and such tuples: the next one is read from its place.
bool may_be_replaced(const Domain& domain, PyObject* tuple);
// Whether it is an int or float where another one of its type was.
bool is_another_number(const ExpectedValue& expected, PyObject* found);

// Guards stand in the order in which each proves that the objects behind it are alive: past one that fails
// for another reason than a number or a tensor nothing is asked, and nothing of a tensor that may be gone.
class Changes {
 public:
  Changes(const Domain& domain, Varying& varying, const SourceTexts& texts)
      : domain(domain), varying(varying), texts_(texts) {}

  const Domain& domain;
  Varying& varying;
  const PyObject* replaced_getter = nullptr;  // the descriptor of something that was replaced

  // The guard that is looked at from now on.
  void look_at(uint32_t source) { source_ = source; }
  // What was expected under a key of the guarded object, and what is there now. `way` leads from that object
  // to what has the key. False: something else was there, or is there now.
  bool note(const ExpectedValue& expected, PyObject* key, PyObject* found, const char* way = "");
  // Replaced tensors may be gone, and what only they held.
  bool is_gone(const PyObject* object) const { return gone_.count(object) != 0; }
  void note_gone(const PyObject* object) { gone_.insert(object); }

 private:
  const SourceTexts& texts_;
  uint32_t source_ = 0;
  std::unordered_set<const PyObject*> gone_;
};

}  // namespace stator

#endif
