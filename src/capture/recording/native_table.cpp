// capture/recording/native_table.cpp: one line per module or type: what its C functions may do.
#include "capture/recording/native_table.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "capture/cpython/type_dict.h"

namespace stator {
namespace {

struct Row {
  const char* where;  // module, or module.type
  const char* names;  // separated by spaces; "*": every function and method that no other row names
  NativeEffect effect;
};

constexpr Row kRows[] = {
    {"builtins",
     "abs all any ascii bin callable chr divmod format hash hex isinstance issubclass iter len max min oct "
     "ord pow repr round sorted sum",
     NativeEffect::pure},
    {"builtins",
     "bool int float complex str bytes tuple list dict set frozenset range slice enumerate zip map filter "
     "reversed super object property classmethod staticmethod BaseException",
     NativeEffect::pure},
    {"builtins", "type", NativeEffect::asks_type},
    {"builtins", "id", NativeEffect::asks_identity},
    {"builtins", "getattr hasattr", NativeEffect::reads_attribute},
    {"builtins", "setattr delattr", NativeEffect::writes_attribute},
    {"builtins", "next", NativeEffect::advances},
    {"builtins.dict", "get __getitem__ __contains__", NativeEffect::reads_item},
    {"builtins.dict", "keys values items copy fromkeys __len__ __iter__ __eq__ __or__ __reversed__ __new__",
     NativeEffect::pure},
    {"builtins.dict", "update pop popitem setdefault clear __setitem__ __delitem__ __init__ __ior__",
     NativeEffect::writes_self},
    {"collections.OrderedDict", "get __getitem__ __contains__", NativeEffect::reads_item},
    {"collections.OrderedDict", "keys values items copy __iter__ __eq__ __reversed__ __new__",
     NativeEffect::pure},
    {"collections.OrderedDict",
     "update pop popitem setdefault clear move_to_end __setitem__ __delitem__ __init__",
     NativeEffect::writes_self},
    {"builtins.list",
     "index count copy __len__ __getitem__ __contains__ __iter__ __eq__ __add__ __mul__ __reversed__ __new__",
     NativeEffect::pure},
    {"builtins.list",
     "append extend insert pop remove sort reverse clear __setitem__ __delitem__ __init__ __iadd__",
     NativeEffect::writes_self},
    {"builtins.set", "add update discard remove pop clear difference_update intersection_update __init__",
     NativeEffect::writes_self},
    {"builtins.set",
     "copy union intersection difference issubset issuperset isdisjoint __len__ __contains__ __iter__ "
     "__new__",
     NativeEffect::pure},
    {"builtins.object", "__init__", NativeEffect::writes_self},
    {"builtins.object", "__new__ __eq__ __ne__ __hash__ __repr__ __str__ __init_subclass__ __format__",
     NativeEffect::pure},
    {"builtins.object", "__setattr__ __delattr__", NativeEffect::writes_attribute},
    {"builtins.object", "__getattribute__", NativeEffect::reads_attribute},
    {"builtins.BaseException", "__init__", NativeEffect::writes_self},
    {"builtins.str", "*", NativeEffect::pure},
    {"builtins.bytes", "*", NativeEffect::pure},
    {"builtins.int", "*", NativeEffect::pure},
    {"builtins.float", "*", NativeEffect::pure},
    {"builtins.bool", "*", NativeEffect::pure},
    {"builtins.tuple", "*", NativeEffect::pure},
    {"builtins.range", "*", NativeEffect::pure},
    {"builtins.frozenset", "*", NativeEffect::pure},
    {"sys", "getrecursionlimit intern", NativeEffect::pure},
    {"math", "*", NativeEffect::pure},
    {"_operator", "*", NativeEffect::pure},
    {"itertools", "*", NativeEffect::pure},
    {"functools", "partial", NativeEffect::pure},
    {"_abc", "_abc_instancecheck _abc_subclasscheck", NativeEffect::pure},
    {"_collections", "deque defaultdict OrderedDict", NativeEffect::pure},
    {"collections.deque", "append appendleft pop popleft extend extendleft clear rotate insert remove",
     NativeEffect::writes_self},
};

bool listed(const std::string& names, const char* name) {
  const std::string padded = " " + names + " ";
  return padded.find(std::string(" ") + name + " ") != std::string::npos;
}

class Table {
 public:
  Table() {
    for (const Row& row : kRows) add(row);
  }
  const NativeCall* find(PyObject* callable) const {
    const auto found = calls_.find(callable);
    return found == calls_.end() ? nullptr : &found->second;
  }

 private:
  void add(const Row& row) {
    std::string path = row.where;
    const size_t dot = path.find('.');
    auto holder = Ref<>::steal(PyImport_ImportModule(path.substr(0, dot).c_str()));
    if (holder && dot != std::string::npos)
      holder = Ref<>::steal(PyObject_GetAttrString(holder.get(), path.c_str() + dot + 1));
    if (!holder) {
      PyErr_Clear();
      return;
    }
    const Ref<> dict = PyType_Check(holder.get())
                           ? cpython::type_dict(reinterpret_cast<PyTypeObject*>(holder.get()))
                           : Ref<>::share(PyModule_GetDict(holder.get()));
    PyObject *key, *value;
    Py_ssize_t position = 0;
    const bool all = std::string(row.names) == "*";
    while (PyDict_Next(dict.get(), &position, &key, &value)) {
      const char* name = PyUnicode_AsUTF8(key);
      if (name == nullptr || !(all || listed(row.names, name))) continue;
      if (PyCallable_Check(value) || Py_IS_TYPE(value, &PyStaticMethod_Type) ||
          Py_IS_TYPE(value, &PyClassMethodDescr_Type)) {
        calls_.emplace(value, NativeCall{row.effect});
        kept_.push_back(Ref<>::share(value));
      }
    }
  }

  std::unordered_map<PyObject*, NativeCall> calls_;
  std::vector<Ref<>> kept_;
};

}  // namespace

const NativeCall* find_native_call(PyObject* callable) {
  static const Table* const table = new Table;  // never freed: Python may be gone by then
  return table->find(callable);
}

}  // namespace stator
