// src/core/guard/source.cpp: interning of sources and their text.
#include "core/guard/source.h"

#include <algorithm>

#include "core/quoted_text.h"

namespace stator::guard {
namespace {

bool is_python_name(std::string_view name) {
  auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80) != 0;
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, plain);
}

std::string subscript(const std::string& text) { return "[" + text + "]"; }

}  // namespace

size_t SourceTable::Hash::operator()(const Source& source) const {
  uint64_t hash = static_cast<uint64_t>(source.kind) * 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ static_cast<uint64_t>(source.base)) * 0xff51afd7ed558ccdULL;
  hash = (hash ^ static_cast<uint64_t>(source.text)) * 0xc4ceb9fe1a85ec53ULL;
  hash = (hash ^ static_cast<uint64_t>(source.index)) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 32);
}

SourceId SourceTable::intern(const Source& source) {
  auto [entry, is_new] = ids_.try_emplace(source, static_cast<SourceId>(sources_.size() + 1));
  if (is_new) sources_.push_back(source);
  return entry->second;
}

SourceId SourceTable::dict_value(SourceId base, int64_t key) {
  return intern({SourceKind::kDictValue, base, strings_.intern(std::to_string(key)), kIntKey});
}

SourceTable::KeyKind SourceTable::key_kind(const Source& source) const {
  if (source.index == kStringKey) return KeyKind::kString;
  return source.index == kIntKey ? KeyKind::kInt : KeyKind::kConstant;
}

std::string SourceTable::text(SourceId id) const {
  std::vector<SourceId> path;
  for (; id != SourceId::kNone; id = (*this)[id].base) path.push_back(id);
  std::string result;
  for (auto step = path.rbegin(); step != path.rend(); ++step) append_step((*this)[*step], &result);
  return result;
}

// `text` is the expression of the base.
void SourceTable::append_step(const Source& source, std::string* text) const {
  const std::string& name = strings_[source.text];
  const std::string number = std::to_string(source.index);
  switch (source.kind) {
    case SourceKind::kLocal:
      *text = "L" + subscript(quoted(name));
      break;
    case SourceKind::kGlobal:
      *text = "G" + subscript(quoted(name));
      break;
    case SourceKind::kBuiltin:
      *text = "B" + subscript(quoted(name));
      break;
    case SourceKind::kFree:
      *text = "C" + subscript(quoted(name));
      break;
    case SourceKind::kStack:
      *text = "S" + subscript(number);
      break;
    case SourceKind::kModule:
      *text = "sys.modules" + subscript(quoted(name));
      break;
    case SourceKind::kConstant:
      *text = "K" + subscript(number);
      break;
    case SourceKind::kAttribute:
      *text = is_python_name(name) ? std::move(*text) + "." + name
                                   : "getattr(" + *text + ", " + quoted(name) + ")";
      break;
    case SourceKind::kItem:
      *text += subscript(number);
      break;
    case SourceKind::kDictValue:
      switch (key_kind(source)) {
        case KeyKind::kString:
          *text += subscript(quoted(name));
          break;
        case KeyKind::kInt:
          *text += subscript(name);
          break;
        case KeyKind::kConstant:
          *text += subscript("K" + subscript(number));
          break;
      }
      break;
    case SourceKind::kDictKey:
    case SourceKind::kSetElement:
      *text = "list(" + *text + ")" + subscript(number);
      break;
    case SourceKind::kType:
      *text = "type(" + *text + ")";
      break;
    case SourceKind::kInstanceDict:
      *text += ".__dict__";
      break;
    case SourceKind::kMroEntry:
      *text += ".__mro__" + subscript(number);
      break;
    case SourceKind::kCellContents:
      *text += ".cell_contents";
      break;
    case SourceKind::kTensorSize:
      *text += ".size(" + number + ")";
      break;
    case SourceKind::kTensorStride:
      *text += ".stride(" + number + ")";
      break;
  }
}

}  // namespace stator::guard
