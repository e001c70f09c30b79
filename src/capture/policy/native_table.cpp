// capture/policy/native_table.cpp: the rows of all tables, found by the functions that they name.
#include "capture/policy/native_table.h"

#include <sstream>
#include <unordered_map>
#include <utility>

#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "capture/cpython/type_dict.h"
#include "capture/engine/engine.h"

namespace stator {
namespace {

class Table {
 public:
  Table() {
    for (const auto& rows : {builtin_rows(), number_rows(), text_rows(), container_rows(), object_rows(),
                             operator_rows(), iteration_rows(), library_rows()}) {
      for (const NativeRow& row : rows) add(row);
    }
  }
  const NativeCall* find(PyObject* callable) const {
    const auto found = calls_.find(callable);
    return found == calls_.end() ? nullptr : &found->second;
  }
  const std::vector<NamedFunction>& named() const { return named_; }

 private:
  void add(const NativeRow& row) {
    const std::string path = row.where;
    const size_t dot = path.find('.');
    auto holder = module_of(path.substr(0, dot).c_str());
    if (holder && dot != std::string::npos)
      holder = Ref<>::steal(PyObject_GetAttrString(holder.get(), path.c_str() + dot + 1));
    drop_error();
    const Ref<> dict = !holder ? Ref<>()
                       : PyType_Check(holder.get())
                           ? cpython::type_dict(reinterpret_cast<PyTypeObject*>(holder.get()))
                           : Ref<>::share(PyModule_GetDict(holder.get()));
    std::istringstream names(row.names);
    for (std::string name; names >> name;) {
      PyObject* function = dict ? PyDict_GetItemString(dict.get(), name.c_str()) : nullptr;
      const bool is_callable =
          function != nullptr && (PyCallable_Check(function) || Py_IS_TYPE(function, &PyStaticMethod_Type) ||
                                  Py_IS_TYPE(function, &PyClassMethodDescr_Type));
      const bool is_new =
          is_callable && calls_.emplace(function, NativeCall{row.effect, row.sees, row.calls}).second;
      named_.push_back({path + "." + name, is_new});
      if (!is_new) continue;
      kept_.push_back(Ref<>::share(function));
    }
  }

  std::unordered_map<PyObject*, NativeCall> calls_;
  std::vector<Ref<>> kept_;
  std::vector<NamedFunction> named_;
};

// Returns null while it is being made.
const Table* native_table() {
  static const Table* table = nullptr;  // never freed: Python may be gone by then
  static bool making = false;
  if (table == nullptr) {
    // Making it may import modules, whose frames belong to nobody's capture and ask nothing of this table.
    if (making) return nullptr;
    making = true;
    Recording* const recording = std::exchange(thread_context.recording, nullptr);
    const Mode mode = thread_context.change_mode(Mode::off);
    const bool plain = std::exchange(thread_context.plain, true);
    table = new Table;
    thread_context.recording = recording;
    thread_context.change_mode(mode);
    thread_context.plain = plain;
    making = false;
  }
  return table;
}

}  // namespace

const NativeCall* find_native_call(PyObject* callable) {
  const Table* table = native_table();
  return table != nullptr ? table->find(callable) : nullptr;
}

const std::vector<NamedFunction>& named_functions() {
  static const std::vector<NamedFunction> none;
  const Table* table = native_table();
  return table != nullptr ? table->named() : none;
}

}  // namespace stator
