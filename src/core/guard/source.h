// src/core/guard/source.h: sources, how to fetch a value again from a frame, as interned nodes of a tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/string_table.h"

namespace stator::guard {

// Equal ids are equal sources. kNone: the value cannot be fetched again.
enum class SourceId : uint32_t { kNone = 0 };

enum class SourceKind : uint8_t {
  // Roots.
  kLocal,     // L["x"]
  kGlobal,    // G["np"], of the captured function
  kBuiltin,   // B["len"]
  kFree,      // C["x"], the contents of a closure cell of the captured function
  kStack,     // S[2], a slot of the value stack where a segment starts in the middle of a frame
  kModule,    // sys.modules["torch.nn"], whose globals an inlined function uses
  kConstant,  // K[3], an object that the entry itself keeps: always at hand, needs no guard
  // Steps from a base.
  kAttribute,     // b.weight
  kItem,          // b[3], of a list or tuple
  kDictValue,     // b["key"], b[7] or b[K[3]], of a dict
  kDictKey,       // list(b)[3], the key at a position
  kSetElement,    // list(b)[3], the element at a position of iteration
  kType,          // type(b)
  kInstanceDict,  // b.__dict__
  kMroEntry,      // b.__mro__[2]
  kCellContents,  // b.cell_contents
  kTensorSize,    // b.size(0)
  kTensorStride,  // b.stride(0)
};

struct Source {
  SourceKind kind;
  SourceId base;  // kNone for roots
  StringId text;  // name, or the key's text; the empty string if none
  int64_t index;  // position; for kDictValue see KeyKind
  bool operator==(const Source&) const = default;
};

class SourceTable {
 public:
  SourceTable() { empty_ = strings_.intern(""); }

  SourceId local(std::string_view name) { return named(SourceKind::kLocal, SourceId::kNone, name); }
  SourceId global(std::string_view name) { return named(SourceKind::kGlobal, SourceId::kNone, name); }
  SourceId builtin(std::string_view name) { return named(SourceKind::kBuiltin, SourceId::kNone, name); }
  SourceId free(std::string_view name) { return named(SourceKind::kFree, SourceId::kNone, name); }
  SourceId module(std::string_view name) { return named(SourceKind::kModule, SourceId::kNone, name); }
  SourceId stack(int64_t slot) { return at(SourceKind::kStack, SourceId::kNone, slot); }
  SourceId constant(int64_t index) { return at(SourceKind::kConstant, SourceId::kNone, index); }

  SourceId attribute(SourceId base, std::string_view name) {
    return named(SourceKind::kAttribute, base, name);
  }
  SourceId item(SourceId base, int64_t index) { return at(SourceKind::kItem, base, index); }
  SourceId dict_value(SourceId base, std::string_view key) {
    return intern({SourceKind::kDictValue, base, strings_.intern(key), kStringKey});
  }
  SourceId dict_value(SourceId base, int64_t key);
  // Any other key is an object that the entry keeps.
  SourceId dict_value_of_constant(SourceId base, uint32_t constant) {
    return intern({SourceKind::kDictValue, base, empty_, constant});
  }
  SourceId dict_key(SourceId base, int64_t position) { return at(SourceKind::kDictKey, base, position); }
  SourceId set_element(SourceId base, int64_t position) {
    return at(SourceKind::kSetElement, base, position);
  }
  SourceId type(SourceId base) { return at(SourceKind::kType, base, 0); }
  SourceId instance_dict(SourceId base) { return at(SourceKind::kInstanceDict, base, 0); }
  SourceId mro_entry(SourceId base, int64_t index) { return at(SourceKind::kMroEntry, base, index); }
  SourceId cell_contents(SourceId base) { return at(SourceKind::kCellContents, base, 0); }
  SourceId tensor_size(SourceId base, int64_t dim) { return at(SourceKind::kTensorSize, base, dim); }
  SourceId tensor_stride(SourceId base, int64_t dim) { return at(SourceKind::kTensorStride, base, dim); }

  // Precondition: id is not kNone and came from this table. A base has a smaller id than what is built on it.
  const Source& operator[](SourceId id) const { return sources_[static_cast<uint32_t>(id) - 1]; }
  const std::string& text_of(StringId id) const { return strings_[id]; }
  size_t size() const { return sources_.size(); }

  // What a kDictValue is indexed by.
  enum class KeyKind : uint8_t { kString, kInt, kConstant };
  KeyKind key_kind(const Source& source) const;

  // The Python-like expression: L["x"].weight[3]. Of any depth, without recursion.
  std::string text(SourceId id) const;

 private:
  struct Hash {
    size_t operator()(const Source& source) const;
  };
  static constexpr int64_t kStringKey = -1;  // Source::index of a kDictValue; the text is the key
  static constexpr int64_t kIntKey =
      -2;  // the text is the number; otherwise the index is that of the constant

  SourceId named(SourceKind kind, SourceId base, std::string_view name) {
    return intern({kind, base, strings_.intern(name), 0});
  }
  SourceId at(SourceKind kind, SourceId base, int64_t index) { return intern({kind, base, empty_, index}); }
  SourceId intern(const Source& source);
  void append_step(const Source& source, std::string* text) const;

  StringTable strings_;
  StringId empty_;
  std::vector<Source> sources_;
  std::unordered_map<Source, SourceId, Hash> ids_;
};

}  // namespace stator::guard
