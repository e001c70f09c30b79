// capture/recording/user_stack.h: where the captured program stands, with the calls that led there.
//
// Nodes, guards and breaks each ask for it, so a place is noted as a number for (code, instruction, caller's
// place); what file and line that is, is looked up once for each number when the capture has ended.
#ifndef STATOR_CAPTURE_RECORDING_USER_STACK_H
#define STATOR_CAPTURE_RECORDING_USER_STACK_H

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/cpython/frame.h"
#include "capture/cpython/ref.h"
#include "capture/recording/frame_owners.h"
#include "core/user_line.h"

namespace stator {

// One frame of a user's stack, as a traceback shows it.
struct UserFrame {
  std::string file, function;
  int line = 0;
};

// The stack that ends in this line, outermost frame first.
std::vector<UserFrame> frames_of(const UserLines& lines, LineId line);

class UserStack final : public UserPlace {
 public:
  // Made by the thread that captures.
  UserStack();
  ~UserStack() override;
  UserStack(const UserStack&) = delete;
  UserStack& operator=(const UserStack&) = delete;

  const std::shared_ptr<UserLines>& lines() const { return lines_; }

  // A frame of the program starts, or a generator's goes on. It is linked.
  // `owner`: the object whose method it is, where somebody wants to know; otherwise nullptr.
  void entered(cpython::Frame* frame, PyObject* owner);
  // No frame of the program is left: from now on it stands where the first one began.
  void left() { levels_.clear(); }

  // The dispatcher asks without the GIL: only memory of this thread and of code objects is read.
  LineId line() override;
  // Of what concerns the whole program: where its first frame begins.
  LineId first_line();
  // See frame_owners.h.
  std::vector<const FrameOwner*> owners(LineId line) const;
  // How an owner was reached; asked once for each.
  std::function<std::string(PyObject*)> source_of;
  // Gives every line its file and number; in functions of Stator's in place of others, those of the caller.
  void place();

 private:
  struct Level {
    cpython::Frame* frame;
    uint32_t code;  // in codes_
    LineId caller;  // known only if `called`: a frame's caller stands still while the frame lives
    bool called;
    int unit;  // the last place that was asked for
    LineId line;
  };
  struct Place {
    uint32_t code;
    int unit;
    LineId caller;
    bool operator==(const Place&) const = default;
  };
  struct Hash {
    size_t operator()(const Place& place) const {
      const uint64_t key = (uint64_t{place.code} << 32 | static_cast<uint32_t>(place.unit)) ^
                           static_cast<uint64_t>(place.caller) * 0x9e3779b97f4a7c15ULL;
      return (key * 0xff51afd7ed558ccdULL) >> 16;
    }
  };
  // The index of the nearest level to this frame, itself or one that called it; kNobody where there is none.
  static constexpr size_t kNobody = SIZE_MAX;
  size_t nearest(cpython::Frame* frame) const;
  LineId line_at(size_t level);
  LineId number(const Place& place);
  uint32_t code_number(PyCodeObject* code, PyObject* owner);

  std::shared_ptr<UserLines> lines_;
  PyThreadState* thread_;
  std::vector<Level> levels_;  // frames of the program that run, outermost first
  // A code that belongs to several objects has a number for each. The first one is that of the first frame;
  // they are looked into when all is noted.
  struct Code {
    Ref<> code;
    FrameOwner owner;
  };
  std::vector<Code> codes_;
  struct HashCode {
    size_t operator()(const std::pair<PyCodeObject*, PyObject*>& of) const {
      return std::hash<PyCodeObject*>()(of.first) * 31 + std::hash<PyObject*>()(of.second);
    }
  };
  std::unordered_map<std::pair<PyCodeObject*, PyObject*>, uint32_t, HashCode> code_numbers_;
  std::unordered_map<LineId, uint32_t> owned_lines_;  // with the numbers of their codes
  std::unordered_map<Place, LineId, Hash> numbers_;
  std::vector<std::pair<Place, LineId>> unplaced_;
  UserStack* outer_;  // of the capture that this one is made within
};

}  // namespace stator

#endif
