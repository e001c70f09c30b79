// capture/guards/guard_words.cpp: the words of a sealed set, and which of them every call compares.
#include "capture/cpython/dict_version.h"
#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/python_class.h"
#include "capture/guards/guard_set.h"

namespace stator {

// The words of a guard at this moment, in which it holds.
void GuardSet::note_words(size_t index, std::vector<Word>& words) const {
  const auto word = [&](const void* at) {
    uint64_t now;
    __builtin_memcpy(&now, at, sizeof now);
    words.push_back({at, now});
  };
  const Guard& guard = guards_[index];
  if (const auto* dict = std::get_if<DictGuard>(&guard)) {
    word(cpython::dict_version_address(dict->dict));
  } else if (const auto* list = std::get_if<ListGuard>(&guard)) {
    auto* object = reinterpret_cast<PyListObject*>(list->list);
    word(&object->ob_base.ob_size);
    word(&object->ob_item);
    for (size_t i = 0; i < list->items.size(); i++) {
      if (list->items[i].object != nullptr) word(&object->ob_item[i]);
    }
  } else if (const auto* type = std::get_if<TypeGuard>(&guard)) {
    word(&reinterpret_cast<PyWeakReference*>(type->alive.get())->wr_object);
    // From 3.12 on a class that changed a thousand times gets no version any more.
    if (type->version == 0) {
      words.push_back({&kAsked, ~kAsked});
    } else {
      word(&type->type->tp_version_tag);  // and what fills the word up, which nobody writes
    }
  } else if (const auto* instance = std::get_if<ObjectGuard>(&guard)) {
    word(&instance->object->ob_type);
    if (instance->dict_slot != nullptr) word(instance->dict_slot);
  } else if (const auto* function = std::get_if<FunctionGuard>(&guard)) {
    word(&function->function->func_code);
    word(&function->function->func_defaults);
    word(&function->function->func_kwdefaults);
    word(&function->function->func_closure);
    word(&function->function->func_globals);
  } else if (const auto* tuple = std::get_if<TupleGuard>(&guard)) {
    auto* object = reinterpret_cast<PyTupleObject*>(tuple->tuple);
    word(&tuple->tuple->ob_type);
    word(&object->ob_base.ob_size);
    for (size_t i = 0; i < tuple->items.size(); i++) word(&object->ob_item[i]);
  } else if (const auto* method = std::get_if<MethodGuard>(&guard)) {
    const MethodFields fields = fields_of(method->method);
    word(&method->method->ob_type);
    word(fields.function);
    word(fields.self);
  } else if (const auto* cell = std::get_if<CellGuard>(&guard)) {
    word(&reinterpret_cast<PyCellObject*>(cell->cell)->ob_ref);
  } else if (const auto* slot = std::get_if<SlotGuard>(&guard)) {
    const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(slot->descriptor)->d_member;
    word(reinterpret_cast<const char*>(slot->object) + member->offset);
  } else if (const auto* field = std::get_if<FieldGuard>(&guard)) {
    word(field->field);
  } else if (const auto* order = std::get_if<OrderGuard>(&guard)) {
    word(&cpython::ordered(order->dict)->state);
  } else if (const auto* items = std::get_if<ItemsGuard>(&guard); items && PyAnySet_Check(items->container)) {
    auto* set = reinterpret_cast<PySetObject*>(items->container);
    word(&set->used);
    word(&set->table);
    for (Py_ssize_t i = 0; i <= set->mask; i++) {
      PyObject* key = set->table[i].key;
      if (key != nullptr && set->table[i].hash != -1) word(&set->table[i].key);
    }
  }
}

void GuardSet::note_all_words() {
  words_.clear();
  owners_.clear();
  first_.assign(guards_.size(), 0);
  for (size_t i = 0; i < guards_.size(); i++) {
    if (std::holds_alternative<PinnedTensorGuard>(guards_[i])) continue;
    first_[i] = static_cast<uint32_t>(words_.size());
    note_words(i, words_);
    if (owners_.size() == words_.size()) words_.push_back({&kAsked, ~kAsked});
    owners_.resize(words_.size(), static_cast<uint32_t>(i));
  }
}

void GuardSet::ask_for_notices() {
  notices_.assign(guards_.size(), kMostNotices);
  held_.clear();
  for (uint32_t i = 0; i < guards_.size(); i++) {
    if (const auto* dict = std::get_if<DictGuard>(&guards_[i])) {
      if (dicts_.add(dict->dict)) notices_[i] = 0;
    } else if (const auto* object = std::get_if<ObjectGuard>(&guards_[i])) {
      // It lives for as long as its dictionary is as it was.
      if (object->holder == nullptr || !reads_key(object->holder, object->key) ||
          !ObjectNotices::tell_of(object->object, object->dict_slot != nullptr))
        continue;
      notices_[i] = 0;
      held_[static_cast<uint32_t>(seen_.at(object->holder))].push_back(i);
    }
  }
}

// Every guard holds. A dictionary may have died all the same, and another one with the same items stands at
// its address.
void GuardSet::settle_notices() {
  for (size_t i = 0; dicts_.lost() && i < guards_.size(); i++) {
    const auto* guard = std::get_if<DictGuard>(&guards_[i]);
    if (guard != nullptr && notices_[i] < kMostNotices && !dicts_.add(guard->dict))
      notices_[i] = kMostNotices;
  }
  if (dicts_.lost()) note_all_words();  // watching a dictionary changes its version
  dicts_.settle();
  objects_.settle();
  list_polled();
}

bool GuardSet::is_polled(uint32_t word) const { return notices_[owners_[word]] >= kMostNotices; }

void GuardSet::list_polled() {
  polled_.clear();
  places_.clear();
  for (uint32_t i = 0; i < words_.size(); i++) {
    if (!is_polled(i)) continue;
    polled_.push_back(words_[i]);
    places_.push_back(i);
  }
}

}  // namespace stator
