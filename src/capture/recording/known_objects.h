// capture/recording/known_objects.h: which objects a capture may read and write.
//
// Every object of the run is *fresh* (made in it: free to read and write), *given* (a tracer, or what stands
// for a container of the arguments: see argument_reads.h), *pinned* (reached from the function through reads
// that are guarded), constant, or unknown. Reading an unknown object's contents ends the capture, and so does
// writing to an object that is neither fresh nor one whose writes the journal can undo.
#ifndef STATOR_CAPTURE_RECORDING_KNOWN_OBJECTS_H
#define STATOR_CAPTURE_RECORDING_KNOWN_OBJECTS_H

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/recording/constant_places.h"
#include "capture/recording/origin.h"

namespace stator {

struct Recording;

struct KnownObjects {
  std::unordered_set<PyObject*> fresh;
  std::unordered_set<PyObject*> given;  // tracers, their dictionaries, functions
  std::unordered_map<PyObject*, Origin> pinned;
  // Of classes that are not pinned themselves: such a parent may be gone when guards are put into words.
  std::unordered_map<const PyObject*, Ref<>> class_names;
  std::vector<Ref<>> kept;      // keeps addresses of fresh objects from being used again
  std::vector<size_t> made_by;  // of each in `kept`: the number of the instruction, as of ProgramPlace
  std::vector<Ref<>> replaced;  // by writes, and may have died then
  ConstantPlaces constants;
  std::unordered_set<size_t> identities;          // numbers that id() gave for objects made here
  std::unordered_set<PyTypeObject*> constructed;  // classes of the program's that were called
  // The captured function is proven on every call by what it is made of: its cells need no guard.
  PyFunctionObject* proven_function = nullptr;
  bool proven_entered = false;
  std::unordered_set<PyObject*> proven_cells;
  // Of the frame that the capture has taken up: others stand there, and nobody may reach these.
  std::unordered_set<PyObject*> frame_cells;
};

void make_fresh(Recording& recording, PyObject* object);
// The number of the instruction that made a fresh object; 0: it is not known.
size_t maker_of(const Recording& recording, PyObject* object);
void pin(Recording& recording, PyObject* object, Origin origin);
// Keeps what is compared by its address alive, or guards its contents.
void hold(Recording& recording, PyObject* object);
void make_given(Recording& recording, PyObject* object);
// A constant that the capture found somewhere: among the arguments, in a container, on an object.
void note_constant(Recording& recording, PyObject* constant, PyObject* parent, PyObject* key);

bool is_fresh(const Recording& recording, PyObject* object);
bool is_pinned(const Recording& recording, PyObject* object);
// Reads of it need no guard. No container of the arguments is of this kind.
bool reads_freely(const Recording& recording, PyObject* object);
// Fresh, or it stands for something that the call brings: another object in the next call.
bool is_of_call(const Recording& recording, PyObject* object);
bool is_writable(const Recording& recording, PyObject* object);
bool never_changes(const Recording& recording, PyObject* object);
// Its contents may be looked at: fresh, given, pinned, or of a kind that never changes.
bool is_known(const Recording& recording, PyObject* object);
// A number that tells objects of this run apart and means nothing in another.
bool is_identity(const Recording& recording, PyObject* number);

// Objects of a capture that is given up die without a word: generators that wait are not resumed by their
// end.
void abandon(Recording& recording);

}  // namespace stator

#endif
