// capture/recording/walked_objects.h: objects of which everything that C code may reach was read already.
//
// A write to one of them makes all of them doubtful: what was put there was not walked through.
#ifndef STATOR_CAPTURE_RECORDING_WALKED_OBJECTS_H
#define STATOR_CAPTURE_RECORDING_WALKED_OBJECTS_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stator {

// A set of addresses in one flat table.
class WalkedObjects {
 public:
  bool contains(const void* object) const { return count_ != 0 && slots_[place_of(object)] == object; }
  // False if it was there already.
  bool insert(const void* object) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    const void*& slot = slots_[place_of(object)];
    if (slot == object) return false;
    slot = object;
    count_++;
    return true;
  }
  void clear() {
    if (count_ != 0) std::fill(slots_.begin(), slots_.end(), nullptr);
    count_ = 0;
  }
  void written(const void* object) {
    if (contains(object)) clear();
  }

 private:
  // Where the object stands, or would stand.
  size_t place_of(const void* object) const {
    const auto address = reinterpret_cast<uintptr_t>(object);
    size_t place = (address >> 4) * 0x9e3779b97f4a7c15ULL >> 32 & (slots_.size() - 1);
    while (slots_[place] != nullptr && slots_[place] != object) place = (place + 1) & (slots_.size() - 1);
    return place;
  }
  void grow() {
    std::vector<const void*> old(slots_.empty() ? 64 : slots_.size() * 2, nullptr);
    old.swap(slots_);
    for (const void* object : old) {
      if (object != nullptr) slots_[place_of(object)] = object;
    }
  }

  std::vector<const void*> slots_;  // a power of two of them
  size_t count_ = 0;
};

}  // namespace stator

#endif
