// capture/guards/dynamism.h: which numbers and objects that a function is given differ from call to call.
#ifndef STATOR_CAPTURE_GUARDS_DYNAMISM_H
#define STATOR_CAPTURE_GUARDS_DYNAMISM_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace stator {

enum class DynamicSizes : uint8_t { changed, always, never };

// Kept with a compiled function: a capture is static first, and what a later call changes is a symbol in the
// captures after that.
class Varying {
 public:
  DynamicSizes policy = DynamicSizes::changed;

  // The sizes of the tensor with this source text that are symbols, a bit for each dimension; above them its
  // strides, as far as they do not follow from sizes.
  static constexpr size_t kStrides = 32;
  uint64_t sizes(const std::string& source) const {
    const auto found = sizes_.find(source);
    const uint64_t noted = found == sizes_.end() ? 0 : found->second;
    return policy == DynamicSizes::always ? noted | ((uint64_t{1} << kStrides) - 1) : noted;
  }
  // Numbers become symbols; tensors in containers are read from their place on each call.
  bool has_places() const { return !places_.empty(); }
  bool is_place(const std::string& source) const { return places_.count(source) != 0; }

  void note_sizes(const std::string& source, uint64_t changed) {
    if (changed == 0 || policy == DynamicSizes::never) return;
    sizes_[source] |= changed;
    notes_++;
  }
  void note_number(const std::string& source) {
    if (policy != DynamicSizes::never) note_tensor(source);
  }
  void note_tensor(const std::string& source) {
    places_.insert(source);
    notes_++;
  }
  // An instance is known by its attributes from now on, not as this one object.
  bool object(const std::string& source) const { return objects_.count(source) != 0; }
  void note_object(const std::string& source) {
    objects_.insert(source);
    notes_++;
  }
  // A text of which there was a third one: it is made in each run.
  bool text(const std::string& source) const {
    const auto found = texts_.find(source);
    return found != texts_.end() && found->second.size() > 2;
  }
  void note_text(const std::string& source, std::string before, std::string now) {
    std::unordered_set<std::string>& seen = texts_[source];
    if (seen.size() > 2) return;
    seen.insert(std::move(before));
    seen.insert(std::move(now));
  }
  // How often something was noted.
  size_t notes() const { return notes_; }
  void clear() {
    sizes_.clear();
    places_.clear();
    objects_.clear();
    texts_.clear();
  }

 private:
  std::unordered_map<std::string, uint64_t> sizes_;
  std::unordered_set<std::string> places_;
  std::unordered_set<std::string> objects_;
  std::unordered_map<std::string, std::unordered_set<std::string>> texts_;
  size_t notes_ = 0;
};

}  // namespace stator

#endif
