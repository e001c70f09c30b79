// capture/program/snapshot.h: the frames in which a segment leaves its program, made again on every run.
//
// Frames hold what the rebuild made; the free variables of a frame are the cells of its function.
#ifndef STATOR_CAPTURE_PROGRAM_SNAPSHOT_H
#define STATOR_CAPTURE_PROGRAM_SNAPSHOT_H

#include <vector>

#include "capture/program/description.h"
#include "capture/recording/frame_states.h"

namespace stator {

class Snapshot {
 public:
  // `has_first`: the outermost frame will be there. False: stopped.
  bool describe(const SegmentEnd& end, bool has_first, Description& description);

  // Whether the thread's stack of frames has room for all of them.
  bool has_room(PyThreadState* thread) const;
  // Makes the frames, of which the outermost one may be there: then it is given its new values. None of them
  // is linked; each stands on its call, the last one goes on at the break. has_room() was asked before.
  std::vector<cpython::Frame*> make(PyThreadState* thread, cpython::Frame* first,
                                    const std::vector<Ref<>>& values) const;
  size_t depth() const { return frames_.size(); }
  // The break. The program goes on there, or behind it, where another segment may begin at once.
  PyCodeObject* code() const { return frames_.back().code.get(); }
  ptrdiff_t unit() const { return behind_ ? break_unit_ : frames_.back().unit; }
  bool is_behind() const { return behind_; }

 private:
  static constexpr size_t kUnset = SIZE_MAX, kFree = SIZE_MAX - 1;
  struct FrameImage {
    size_t function;  // its step; kUnset: the frame is there
    Ref<PyCodeObject> code;
    ptrdiff_t unit;
    std::vector<size_t> slots;  // steps, kUnset or kFree
  };
  static void fill(const FrameImage& image, cpython::Frame* frame, const std::vector<Ref<>>& values);

  std::vector<FrameImage> frames_;
  bool behind_ = false;
  ptrdiff_t break_unit_ = 0;
};

}  // namespace stator

#endif
