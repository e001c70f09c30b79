// capture/policy/iterators.cpp: one line a kind of iterator.
#include "capture/policy/iterators.h"

#include <string>
#include <string_view>
#include <unordered_map>

namespace stator {
namespace {

struct Row {
  const char* type;  // as Python shows it
  IteratorKind kind;
};

// Their types have no names in any module, but iter() and the module's functions give them.
constexpr Row kRows[] = {
    {"list_iterator", {IteratorKind::nowhere, true}},
    {"list_reverseiterator", {IteratorKind::nowhere, true}},
    {"tuple_iterator", {IteratorKind::nowhere, true}},
    {"range_iterator", {IteratorKind::nowhere, true}},
    {"longrange_iterator", {IteratorKind::nowhere, true}},
    {"str_iterator", {IteratorKind::nowhere, true}},
    {"str_ascii_iterator", {IteratorKind::nowhere, true}},
    {"bytes_iterator", {IteratorKind::nowhere, true}},
    {"dict_keyiterator", {IteratorKind::nowhere, true}},
    {"dict_valueiterator", {IteratorKind::nowhere, true}},
    {"dict_itemiterator", {IteratorKind::nowhere, true, true}},
    {"dict_reversekeyiterator", {IteratorKind::nowhere, true}},
    {"dict_reversevalueiterator", {IteratorKind::nowhere, true}},
    {"dict_reverseitemiterator", {IteratorKind::nowhere, true, true}},
    {"odict_iterator", {IteratorKind::nowhere, true}},
    {"set_iterator", {IteratorKind::nowhere, true}},
    {"_collections._deque_iterator", {IteratorKind::nowhere, true}},
    {"_collections._deque_reverse_iterator", {IteratorKind::nowhere, true}},
    {"collections._deque_iterator", {IteratorKind::nowhere, true}},
    {"collections._deque_reverse_iterator", {IteratorKind::nowhere, true}},
    {"iterator", {IteratorKind::nowhere, true}},
    {"reversed", {IteratorKind::nowhere, true}},
    {"callable_iterator", {IteratorKind::results, false}},
    {"enumerate", {IteratorKind::nowhere, false, true}},
    {"zip", {IteratorKind::nowhere, false, true}},
    {"map", {IteratorKind::nowhere, false}},
    {"filter", {IteratorKind::either, false}},
    {"itertools.accumulate", {IteratorKind::either, false}},
    {"itertools.batched", {IteratorKind::nowhere, false, true}},
    {"itertools.chain", {IteratorKind::items, false}},
    {"itertools.combinations", {IteratorKind::nowhere, true, true}},
    {"itertools.combinations_with_replacement", {IteratorKind::nowhere, true, true}},
    {"itertools.compress", {IteratorKind::items, false}},
    {"itertools.count", {IteratorKind::nowhere, true}},
    {"itertools.cycle", {IteratorKind::nowhere, false}},
    {"itertools.dropwhile", {IteratorKind::results, false}},
    {"itertools.filterfalse", {IteratorKind::either, false}},
    {"itertools.groupby", {IteratorKind::either, false, true}},
    {"itertools._grouper", {IteratorKind::results, false}},
    {"itertools.islice", {IteratorKind::nowhere, false}},
    {"itertools.pairwise", {IteratorKind::nowhere, false, true}},
    {"itertools.permutations", {IteratorKind::nowhere, true, true}},
    {"itertools.product", {IteratorKind::nowhere, true, true}},
    {"itertools.repeat", {IteratorKind::nowhere, true}},
    {"itertools.starmap", {IteratorKind::items, false}},
    {"itertools.takewhile", {IteratorKind::results, false}},
    {"itertools._tee", {IteratorKind::nowhere, false}},
    {"itertools._tee_dataobject", {IteratorKind::nowhere, false}},
    {"itertools.zip_longest", {IteratorKind::nowhere, false, true}},
};

using Kinds = std::unordered_map<std::string_view, const IteratorKind*>;

const Kinds& kinds() {
  static const Kinds found = [] {
    Kinds named;
    for (const Row& row : kRows) named.emplace(row.type, &row.kind);
    return named;
  }();
  return found;
}

}  // namespace

const IteratorKind* iterator_kind(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  // A class of the program's may have the same name, but not the same flags.
  const bool is_python_class =
      (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
  if (is_python_class) return nullptr;
  if (type->tp_iternext == nullptr && std::string_view(type->tp_name) != "itertools._tee_dataobject")
    return nullptr;
  const auto kind = kinds().find(type->tp_name);
  return kind != kinds().end() ? kind->second : nullptr;
}

}  // namespace stator
