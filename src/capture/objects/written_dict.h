// capture/objects/written_dict.h: what is noted of a dictionary that a capture writes to.
#ifndef STATOR_CAPTURE_OBJECTS_WRITTEN_DICT_H
#define STATOR_CAPTURE_OBJECTS_WRITTEN_DICT_H

#include "capture/recording/recording.h"

namespace stator {

class WrittenDict : public Written {
 public:
  using Written::Written;

  Ref<> keys;   // each key that is written, with its old value or absent()
  Ref<> given;  // by key: the tuple that was given as it, symbols and all, and is known by its identity
  Ref<> order;  // the keys at entry, where one was removed
  // From the first removal on, both in order and with values that nobody asks for:
  Ref<> removed;  // keys that were removed, whether or not they came back
  Ref<> writes;   // keys that were written, and not removed after it

  // Written here, and not there before.
  bool is_new(PyObject* key) const {
    return keys && PyDict_GetItemWithError(keys.get(), key) == Journal::absent();
  }

  bool put_back() const override;
  bool is_as_before() const override;
  void collect(Effects& effects, const Recording& recording) const override;
  bool wrote_key(PyObject* key) const override { return keys && PyDict_Contains(keys.get(), key) == 1; }

 private:
  bool was_removed(PyObject* key) const { return removed && PyDict_Contains(removed.get(), key) == 1; }
  void collect_keys(Effects& effects, const Recording& recording) const;
  void collect_item(Effects& effects, PyObject* key, PyObject* value) const;
  void collect_removal(Effects& effects, PyObject* key) const;
};

// nullptr: nothing was written to it.
inline const WrittenDict* written_dict(const Recording& recording, PyObject* dict) {
  return recording.journal.find<WrittenDict>(dict);
}
// What it held at entry: itself where nothing was written to it. New reference; null with an error set.
Ref<> dict_at_entry(const Recording& recording, PyObject* dict);

// Told before the write; false with an error set. `old` is what is there, or nullptr.
// `given`: what the program gave as the key.
[[nodiscard]] bool note_dict_key(Recording& recording, PyObject* dict, PyObject* key, PyObject* old,
                                 PyObject* given);
[[nodiscard]] bool note_dict_removal(Recording& recording, PyObject* dict, PyObject* key, PyObject* old);
[[nodiscard]] bool note_whole_dict(Recording& recording, PyObject* dict);

// Of a dictionary or OrderedDict; -1 with an error set.
int set_dict_item(PyObject* dict, PyObject* key, PyObject* value);

}  // namespace stator

#endif
