// capture/recording/user_stack.cpp: numbers for places in the user's code, and what they mean.
#include "capture/recording/user_stack.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/line_table.h"
#include "capture/recording/frame_owners.h"

namespace stator {

using cpython::Frame;

namespace {

// Where the Python code lies that captures call in place of torch's; empty as long as none was loaded.
const std::string& own_functions() {
  static std::string folder;
  if (!folder.empty()) return folder;
  const ErrorScope outer;
  const auto name = Ref<>::steal(PyUnicode_FromString("stator.runtime"));
  const auto package = Ref<>::steal(name ? PyImport_GetModule(name.get()) : nullptr);
  const auto file = Ref<>::steal(package ? PyObject_GetAttrString(package.get(), "__file__") : nullptr);
  const char* const path = file && PyUnicode_Check(file.get()) ? PyUnicode_AsUTF8(file.get()) : nullptr;
  const std::string_view text(path != nullptr ? path : "");
  if (const size_t slash = text.rfind('/'); slash != std::string_view::npos)
    folder = text.substr(0, slash + 1);
  return folder;
}

// Of all captures; kept for as long as the process lives.
std::vector<PyObject*> owned_codes;
UserStack* current_stack = nullptr;

}  // namespace

void note_owned_code(PyObject* code) { owned_codes.push_back(Py_NewRef(code)); }

bool is_owned_code(const PyCodeObject* code) {
  return std::find(owned_codes.begin(), owned_codes.end(), reinterpret_cast<const PyObject*>(code)) !=
         owned_codes.end();
}

std::vector<const FrameOwner*> frame_owners(LineId line) {
  return current_stack != nullptr ? current_stack->owners(line) : std::vector<const FrameOwner*>();
}

UserStack::UserStack()
    : lines_(std::make_shared<UserLines>()),
      thread_(PyThreadState_Get()),
      outer_(std::exchange(current_stack, this)) {}

UserStack::~UserStack() { current_stack = outer_; }

void UserStack::entered(Frame* frame, PyObject* owner) {
  const size_t caller = nearest(frame->previous);
  levels_.resize(caller == kNobody ? 0 : caller + 1);
  const uint32_t code = code_number(frame->code, owner);
  levels_.push_back({frame, code, LineId::kNone, false, -1, LineId::kNone});
}

uint32_t UserStack::code_number(PyCodeObject* code, PyObject* owner) {
  const auto next = static_cast<uint32_t>(codes_.size());
  const auto [known, is_new] = code_numbers_.try_emplace({code, owner}, next);
  if (is_new) {
    codes_.push_back({Ref<>::share(reinterpret_cast<PyObject*>(code)), {}});
    if (owner != nullptr && source_of)
      codes_.back().owner = {owner, Ref<>::share(reinterpret_cast<PyObject*>(Py_TYPE(owner))),
                             source_of(owner)};
  }
  return known->second;
}

std::vector<const FrameOwner*> UserStack::owners(LineId line) const {
  std::vector<const FrameOwner*> found;
  for (; line != LineId::kNone && lines_->contains(line); line = (*lines_)[line].caller) {
    const auto owned = owned_lines_.find(line);
    if (owned == owned_lines_.end()) continue;
    const FrameOwner& owner = codes_[owned->second].owner;
    if (found.empty() || found.back()->object != owner.object) found.push_back(&owner);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

size_t UserStack::nearest(Frame* frame) const {
  if (levels_.empty()) return kNobody;
  for (; frame != nullptr; frame = frame->previous) {
    for (size_t i = levels_.size(); i > 0; i--) {
      if (levels_[i - 1].frame == frame) return i - 1;
    }
  }
  return kNobody;
}

LineId UserStack::line() {
  const size_t level = nearest(cpython::current_frame(thread_));
  return level == kNobody ? first_line() : line_at(level);
}

LineId UserStack::first_line() { return codes_.empty() ? LineId::kNone : number({0, -1, LineId::kNone}); }

LineId UserStack::line_at(size_t index) {
  Level& level = levels_[index];
  const auto unit = static_cast<int>(level.frame->instruction - cpython::code_start(level.frame->code));
  if (level.called && unit == level.unit) return level.line;
  if (!level.called) {
    level.caller = index > 0 ? line_at(index - 1) : LineId::kNone;
    level.called = true;
  }
  level.unit = unit;
  return level.line = number({level.code, unit, level.caller});
}

LineId UserStack::number(const Place& place) {
  const auto [known, is_new] = numbers_.try_emplace(place, LineId::kNone);
  if (is_new) {
    known->second = lines_->add_later(place.caller);
    if (codes_[place.code].owner.object != nullptr) owned_lines_.emplace(known->second, place.code);
    unplaced_.emplace_back(place, known->second);
  }
  return known->second;
}

void UserStack::place() {
  const auto text = [&](PyObject* string) {
    const char* utf8 = PyUnicode_AsUTF8(string);
    if (utf8 == nullptr) drop_error();
    return lines_->intern(utf8 != nullptr ? utf8 : "?");
  };
  struct Found {
    cpython::LineTable table;
    StringId file, function;
    bool is_own;
  };
  const std::string& own = own_functions();
  std::unordered_map<PyCodeObject*, std::optional<Found>> found;
  for (const auto& [place, line] : unplaced_) {
    auto* code = reinterpret_cast<PyCodeObject*>(codes_[place.code].code.get());
    std::optional<Found>& of = found[code];
    if (!of) {
      const StringId file = text(code->co_filename);
      const bool is_own = !own.empty() && lines_->text(file).starts_with(own);
      of.emplace(cpython::LineTable(code), file, text(code->co_name), is_own);
    }
    if (of->is_own && place.caller != LineId::kNone) {
      lines_->place_as(line, place.caller);
      continue;
    }
    const int number = place.unit < 0 ? code->co_firstlineno : of->table.line(place.unit);
    lines_->place(line, of->file, number, of->function);
  }
  unplaced_.clear();
}

std::vector<UserFrame> frames_of(const UserLines& lines, LineId line) {
  std::vector<UserFrame> frames;
  for (; line != LineId::kNone; line = lines[line].caller) {
    const UserLine& each = lines[line];
    frames.push_back({lines.text(each.file), lines.text(each.function), each.line});
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace stator
