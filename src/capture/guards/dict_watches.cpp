// capture/guards/dict_watches.cpp: who wants to hear of which dictionary.
#include "capture/guards/dict_watches.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "capture/cpython/dict_watcher.h"

namespace stator {

// One for the interpreter, never destroyed: dictionaries die until its very end.
struct DictWatches::Registry {
  int slot = cpython::add_dict_watcher<&Registry::hear>();
  std::unordered_map<PyObject*, std::vector<DictWatches*>> listeners;

  static Registry& get() {
    static auto* const registry = new Registry;
    return *registry;
  }

  static void hear(PyObject* dict, bool dies) {
    Registry& registry = get();
    const auto found = registry.listeners.find(dict);
    if (found == registry.listeners.end()) return;
    for (DictWatches* listener : found->second) {
      listener->changed_ = true;
      listener->lost_ = listener->lost_ || dies;
    }
    if (dies) registry.listeners.erase(found);
  }

  // A dictionary that is known here is alive.
  void forget(PyObject* dict, const DictWatches* listener) {
    const auto found = listeners.find(dict);
    if (found == listeners.end() || std::erase(found->second, listener) == 0 || !found->second.empty())
      return;
    listeners.erase(found);
    cpython::unwatch_dict(slot, dict);
  }
};

bool DictWatches::add(PyObject* dict) {
  Registry& registry = Registry::get();
  if (registry.slot < 0) return false;
  std::vector<DictWatches*>& listeners = registry.listeners[dict];
  if (listeners.empty() && !cpython::watch_dict(registry.slot, dict)) {
    registry.listeners.erase(dict);
    return false;
  }
  if (std::find(listeners.begin(), listeners.end(), this) != listeners.end()) return true;
  listeners.push_back(this);
  dicts_.insert(dict);
  return true;
}

void DictWatches::remove(PyObject* dict) {
  if (dicts_.erase(dict) != 0) Registry::get().forget(dict, this);
}

DictWatches::~DictWatches() {
  for (PyObject* dict : dicts_) Registry::get().forget(dict, this);
}

}  // namespace stator
