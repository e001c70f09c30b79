// capture/recording/native_table.cpp: one line per module or type: what its C functions may do.
#include "capture/recording/native_table.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/cpython/type_dict.h"
#include "capture/hook/engine.h"
#include "capture/recording/module_attribute.h"

namespace stator {
namespace {

struct Row {
  const char* where;  // module, or module.type
  const char* names;  // separated by spaces; "*": every function and method that no other row names
  NativeEffect effect;
};

constexpr Row kRows[] = {
    {"builtins",
     "abs bin chr divmod hex max min oct ord pow round sorted sum int float complex bytes set frozenset",
     NativeEffect::pure},
    {"builtins", "ascii format repr str", NativeEffect::shows},
    {"builtins", "hash", NativeEffect::hashes},
    {"builtins",
     "all any callable isinstance issubclass iter len bool tuple list dict range slice enumerate zip map "
     "filter reversed super object property classmethod staticmethod BaseException",
     NativeEffect::reads_shallow},
    {"builtins", "vars", NativeEffect::reads_dict},
    {"builtins", "type", NativeEffect::asks_type},
    {"builtins", "id", NativeEffect::asks_identity},
    {"builtins", "getattr hasattr", NativeEffect::reads_attribute},
    {"builtins", "setattr delattr", NativeEffect::writes_attribute},
    {"builtins", "next", NativeEffect::advances},
    {"builtins.dict", "get __getitem__ __contains__", NativeEffect::reads_item},
    {"builtins.dict", "keys values items copy fromkeys __len__ __iter__ __or__ __reversed__ __new__",
     NativeEffect::reads_shallow},
    {"builtins.dict", "__eq__ __ne__", NativeEffect::pure},
    {"builtins.dict", "__repr__", NativeEffect::shows},
    {"builtins.dict", "update pop popitem setdefault clear __setitem__ __delitem__ __init__ __ior__",
     NativeEffect::writes_self},
    {"collections.OrderedDict", "get __getitem__ __contains__", NativeEffect::reads_item},
    {"collections.OrderedDict", "keys values items copy fromkeys __iter__ __reversed__ __new__",
     NativeEffect::reads_shallow},
    {"collections.OrderedDict", "__eq__ __ne__", NativeEffect::pure},
    {"collections.OrderedDict", "__repr__", NativeEffect::shows},
    {"collections.OrderedDict",
     "update pop popitem setdefault clear move_to_end __setitem__ __delitem__ __init__",
     NativeEffect::writes_self},
    {"builtins.list", "copy __len__ __getitem__ __iter__ __add__ __mul__ __reversed__ __new__",
     NativeEffect::reads_shallow},
    {"builtins.list", "index count __contains__ __eq__ __ne__ __lt__", NativeEffect::pure},
    {"builtins.list", "__repr__", NativeEffect::shows},
    {"builtins.list",
     "append extend insert pop remove sort reverse clear __setitem__ __delitem__ __init__ __iadd__",
     NativeEffect::writes_self},
    {"builtins.set",
     "add update discard remove pop clear difference_update intersection_update "
     "symmetric_difference_update __init__",
     NativeEffect::writes_self},
    {"builtins.set",
     "copy union intersection difference symmetric_difference issubset issuperset isdisjoint __len__ "
     "__contains__ __iter__ __eq__ __or__ __and__ __sub__ __new__",
     NativeEffect::pure},
    {"builtins.object", "__init__", NativeEffect::writes_self},
    {"builtins.object", "__new__ __eq__ __ne__ __init_subclass__", NativeEffect::pure},
    {"builtins.object", "__repr__ __str__ __format__", NativeEffect::shows},
    {"builtins.object", "__hash__", NativeEffect::hashes},
    {"builtins.object", "__reduce_ex__", NativeEffect::reduces},
    {"builtins.type", "__instancecheck__ __subclasscheck__ mro __or__ __repr__", NativeEffect::reads_shallow},
    {"builtins.type", "__getattribute__", NativeEffect::reads_attribute},
    {"types.ModuleType", "__getattribute__", NativeEffect::reads_attribute},
    {"builtins.type", "__setattr__ __delattr__", NativeEffect::writes_attribute},
    {"builtins.complex", "*", NativeEffect::pure},
    {"builtins.slice", "*", NativeEffect::pure},
    {"builtins.property", "__new__ __get__ getter setter deleter", NativeEffect::reads_shallow},
    {"builtins.property", "__init__", NativeEffect::writes_self},
    {"builtins.classmethod", "__get__", NativeEffect::reads_shallow},
    {"builtins.staticmethod", "__get__ __call__", NativeEffect::reads_shallow},
    {"types", "MappingProxyType MethodType FunctionType SimpleNamespace GenericAlias",
     NativeEffect::reads_shallow},
    {"types.GenericAlias", "__new__", NativeEffect::reads_shallow},
    {"types.FunctionType", "__get__", NativeEffect::reads_shallow},
    {"types.MethodType", "__get__ __eq__", NativeEffect::reads_shallow},
    {"types.MethodType", "__hash__", NativeEffect::hashes},
    {"types.MappingProxyType", "get __getitem__ __contains__", NativeEffect::reads_item},
    {"types.MappingProxyType", "keys values items copy __len__ __iter__ __eq__ __or__ __reversed__",
     NativeEffect::reads_shallow},
    {"types.GeneratorType", "send throw close __next__ __iter__", NativeEffect::advances},
    {"builtins.BaseException", "with_traceback add_note __setstate__", NativeEffect::writes_self},
    {"builtins.object", "__setattr__ __delattr__", NativeEffect::writes_attribute},
    {"builtins.object", "__getattribute__", NativeEffect::reads_attribute},
    {"builtins.BaseException", "__init__", NativeEffect::writes_self},
    {"builtins.str", "format format_map __mod__", NativeEffect::shows},
    {"builtins.str", "*", NativeEffect::pure},
    {"builtins.bytes", "*", NativeEffect::pure},
    {"builtins.int", "*", NativeEffect::pure},
    {"builtins.float", "*", NativeEffect::pure},
    {"builtins.bool", "*", NativeEffect::pure},
    {"builtins.tuple", "__repr__", NativeEffect::shows},
    {"builtins.tuple", "__hash__", NativeEffect::hashes},
    {"builtins.tuple", "*", NativeEffect::pure},
    {"builtins.range", "*", NativeEffect::pure},
    {"builtins.frozenset", "*", NativeEffect::pure},
    {"sys", "getrecursionlimit intern", NativeEffect::pure},
    {"sys", "exc_info exception", NativeEffect::asks_exception},
    {"_thread.RLock", "acquire __enter__", NativeEffect::acquires},
    {"_thread.RLock", "release __exit__", NativeEffect::releases},
    {"_thread.LockType", "acquire __enter__", NativeEffect::acquires},
    {"_thread.LockType", "release __exit__", NativeEffect::releases},
    {"math", "*", NativeEffect::pure},
    {"_warnings", "warn", NativeEffect::warns},
    {"contextvars.ContextVar", "get", NativeEffect::asks_context},
    {"_random.Random", "random getrandbits seed getstate setstate", NativeEffect::draws},
    {"_operator", "is_ is_not", NativeEffect::compares_identity},
    {"_operator", "mod imod", NativeEffect::shows},
    {"_operator", "*", NativeEffect::pure},
    {"re.Pattern", "match fullmatch search findall finditer split sub subn", NativeEffect::pure},
    {"re.Match", "group groups groupdict start end span expand __getitem__", NativeEffect::pure},
    {"itertools", "*", NativeEffect::reads_shallow},
    {"_functools", "partial reduce cmp_to_key", NativeEffect::reads_shallow},
    {"itertools.chain", "from_iterable", NativeEffect::reads_shallow},
    {"_abc", "_abc_instancecheck _abc_subclasscheck", NativeEffect::asks_registry},
    {"_collections", "deque defaultdict OrderedDict", NativeEffect::reads_shallow},
    {"_collections", "_count_elements", NativeEffect::writes_self},
    {"_heapq", "heappush heappop heapify heapreplace heappushpop", NativeEffect::writes_self},
    {"_bisect", "insort_left insort_right insort", NativeEffect::writes_self},
    {"_bisect", "bisect_left bisect_right bisect", NativeEffect::pure},
    {"_collections.deque",
     "append appendleft extend extendleft pop popleft clear insert remove reverse rotate",
     NativeEffect::writes_self},
    {"_collections.deque", "copy count index __len__ __getitem__ __contains__ __iter__ __reversed__ __eq__",
     NativeEffect::pure},
    {"_collections.deque", "__setitem__ __delitem__ __init__ __iadd__", NativeEffect::writes_self},
    {"_collections.defaultdict", "__init__", NativeEffect::writes_self},
    {"_collections.defaultdict", "copy __or__", NativeEffect::reads_shallow},
    {"_collections", "_tuplegetter", NativeEffect::reads_shallow},
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
    auto holder = module_of(path.substr(0, dot).c_str());
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
  return table->find(callable);
}

}  // namespace stator
