// capture/interpreter/gadget.cpp: making and calling hidden functions of one instruction.
#include "capture/interpreter/gadget.h"

#include <map>
#include <string>
#include <tuple>

#include "capture/cpython/opcode_rows.h"
#include "capture/cpython/ref.h"
#include "capture/engine/engine.h"

namespace stator {
namespace {

class Assembler {
 public:
  // False where this Python has no such opcode.
  bool add(Opcode opcode, int argument) {
    for (int i = 0; i < stator_opcode_row_count; i++) {
      const StatorOpcodeRow& row = stator_opcode_rows[i];
      if (row.opcode != static_cast<uint16_t>(opcode)) continue;
      unit(row.number, argument);
      for (int cache = 0; cache < row.cache_entries; cache++) unit(0, 0);
      return true;
    }
    return false;
  }
  // The number of units so far.
  int size() const { return static_cast<int>(bytes_.size() / 2); }
  const std::string& bytes() const { return bytes_; }

 private:
  void unit(int opcode, int argument) {
    bytes_.push_back(static_cast<char>(opcode));
    bytes_.push_back(static_cast<char>(argument));
  }
  std::string bytes_;
};

// `def gadget(a0, a1, …): pass`, made by the compiler so that everything but its instructions is in order.
Ref<> make_function(int parameters) {
  std::string source = "def gadget(";
  for (int i = 0; i < parameters; i++) source += "a" + std::to_string(i) + ",";
  source += "): pass\n";
  auto globals = Ref<>::steal(PyDict_New());
  if (!globals || PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) < 0) return {};
  auto done = Ref<>::steal(PyRun_String(source.c_str(), Py_file_input, globals.get(), globals.get()));
  if (!done) return {};
  return Ref<>::share(PyDict_GetItemString(globals.get(), "gadget"));
}

bool hide(BorrowedRef<> function) {
  stator_hide_function(function.get());
  CodeState* state =
      Engine::get().code_state(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get())));
  if (state == nullptr) return PyErr_NoMemory() != nullptr;
  state->skip = true;
  return true;
}

// The function with other instructions, and other constants or names where they are given.
bool replace_code(BorrowedRef<> code_or_function, const Assembler& code, int stack, PyObject* names,
                  PyObject* consts, Ref<>& out) {
  auto replace = Ref<>::steal(PyObject_GetAttrString(code_or_function.get(), "replace"));
  auto arguments = Ref<>::steal(PyTuple_New(0));
  auto fields =
      Ref<>::steal(Py_BuildValue("{s:y#,s:i}", "co_code", code.bytes().data(),
                                 static_cast<Py_ssize_t>(code.bytes().size()), "co_stacksize", stack));
  if (!replace || !arguments || !fields) return false;
  if (names != nullptr && PyDict_SetItemString(fields.get(), "co_names", names) < 0) return false;
  if (consts != nullptr && PyDict_SetItemString(fields.get(), "co_consts", consts) < 0) return false;
  out = Ref<>::steal(PyObject_Call(replace.get(), arguments.get(), fields.get()));
  return static_cast<bool>(out);
}

// No RESUME: CPython 3.12 cannot bring hidden code up to date with tools and would try at RESUME for ever.
Ref<> make_gadget(Opcode opcode, int argument, int count, int results, PyObject* names = nullptr) {
  Assembler code;
  bool known = true;
  for (int i = 0; i < count; i++) known = known && code.add(Opcode::LOAD_FAST, i);
  known = known && code.add(opcode, argument);
  if (results != 1) known = known && code.add(Opcode::BUILD_TUPLE, results);
  known = known && code.add(Opcode::RETURN_VALUE, 0);
  if (!known || argument > 255) {
    PyErr_Format(PyExc_SystemError, "stator: no gadget for %s %d", opcode_name(opcode), argument);
    return {};
  }
  auto function = make_function(count);
  Ref<> replaced;
  if (!function ||
      !replace_code(BorrowedRef<>(PyFunction_GET_CODE(function.get())), code, count + results + 4, names,
                    nullptr, replaced) ||
      PyObject_SetAttrString(function.get(), "__code__", replaced.get()) < 0 || !hide(function)) {
    return {};
  }
  return function;
}

// The instruction must not count as a call of the program's.
PyObject* call_hidden(PyThreadState* thread, PyObject* function, PyObject* const* values, int count) {
  cpython::python_recursion(thread)++;
  PyObject* result = PyObject_Vectorcall(function, values, static_cast<size_t>(count), nullptr);
  cpython::python_recursion(thread)--;
  return result;
}

}  // namespace

namespace {

using GadgetKey = std::tuple<Opcode, int, int>;
std::map<GadgetKey, PyObject*> gadgets;  // functions, kept for the life of the process
PyObject* attention = nullptr;           // does nothing but attend to what is pending

PyObject* gadget(Opcode opcode, int argument, int count, int results) {
  const GadgetKey key{opcode, argument, count};
  const auto found = gadgets.find(key);
  if (found != gadgets.end()) return found->second;
  PyObject* made = make_gadget(opcode, argument, count, results).release();
  if (made != nullptr) gadgets.emplace(key, made);
  return made;
}

// Those that programs meet. Made before any program runs: making one compiles code, which audit hooks would
// see.
struct Known {
  Opcode opcode;
  int first_argument, last_argument, count, results;
};
constexpr Known kKnown[] = {
    {Opcode::GET_AWAITABLE, 0, 2, 1, 1},     {Opcode::GET_AITER, 0, 0, 1, 1},
    {Opcode::GET_ANEXT, 0, 0, 1, 2},         {Opcode::BEFORE_ASYNC_WITH, 0, 0, 1, 2},
    {Opcode::CHECK_EG_MATCH, 0, 0, 2, 2},    {Opcode::PREP_RERAISE_STAR, 0, 0, 2, 1},
    {Opcode::PRINT_EXPR, 0, 0, 1, 0},        {Opcode::MATCH_KEYS, 0, 0, 2, 3},
    {Opcode::MATCH_CLASS, 0, 4, 3, 1},       {Opcode::CALL_INTRINSIC_1, 1, 1, 1, 1},
    {Opcode::CALL_INTRINSIC_1, 4, 11, 1, 1}, {Opcode::CALL_INTRINSIC_2, 1, 4, 2, 1},
};

bool exists(Opcode opcode) {
  for (int i = 0; i < stator_opcode_row_count; i++) {
    if (stator_opcode_rows[i].opcode == static_cast<uint16_t>(opcode)) return true;
  }
  return false;
}

}  // namespace

// A jump back to a return of None: CPython attends to what is pending on the way.
static Ref<> make_attention() {
  Assembler jump;
  jump.add(Opcode::JUMP_BACKWARD, 0);
  Assembler code;
  code.add(Opcode::JUMP_FORWARD, 2);
  code.add(Opcode::LOAD_CONST, 0);
  code.add(Opcode::RETURN_VALUE, 0);
  code.add(Opcode::JUMP_BACKWARD, 2 + jump.size());
  auto function = make_function(0);
  Ref<> replaced;
  if (!function ||
      !replace_code(BorrowedRef<>(PyFunction_GET_CODE(function.get())), code, 1, nullptr, nullptr,
                    replaced) ||
      PyObject_SetAttrString(function.get(), "__code__", replaced.get()) < 0 || !hide(function)) {
    return {};
  }
  return function;
}

bool make_gadgets() {
  attention = make_attention().release();
  if (attention == nullptr) return false;
  for (const Known& known : kKnown) {
    for (int argument = known.first_argument; exists(known.opcode) && argument <= known.last_argument;
         argument++) {
      if (gadget(known.opcode, argument, known.count, known.results) == nullptr) return false;
    }
  }
  return true;
}

PyObject* execute_in_cpython(PyThreadState* thread, Opcode opcode, int argument, PyObject* const* values,
                             int count, int results, PyObject* on_behalf_of) {
  PyObject* function = gadget(opcode, argument, count, results);
  if (function == nullptr) return nullptr;
  if (on_behalf_of != nullptr && PyFunction_Check(on_behalf_of)) {
    PyObject* module = reinterpret_cast<PyFunctionObject*>(on_behalf_of)->func_module;
    PyObject* old =
        std::exchange(reinterpret_cast<PyFunctionObject*>(function)->func_module, Py_XNewRef(module));
    Py_XDECREF(old);
  }
  return call_hidden(thread, function, values, count);
}

PyObject* execute_with_name(PyThreadState* thread, Opcode opcode, PyObject* name, PyObject* value) {
  auto names = Ref<>::steal(PyTuple_Pack(1, name));
  auto function = names ? make_gadget(opcode, 0, 1, 2, names.get()) : Ref<>();
  auto left = Ref<>::steal(function ? call_hidden(thread, function.get(), &value, 1) : nullptr);
  return left ? Py_NewRef(PyTuple_GET_ITEM(left.get(), 1)) : nullptr;
}

bool execute_import_star(PyThreadState* thread, cpython::Frame* frame, PyObject* module) {
  Assembler code;
  code.add(Opcode::LOAD_CONST, 0);
  if (!code.add(Opcode::IMPORT_STAR, 0)) {
    code.add(Opcode::CALL_INTRINSIC_1, 2);
    code.add(Opcode::POP_TOP, 0);
  }
  code.add(Opcode::LOAD_CONST, 1);
  code.add(Opcode::RETURN_VALUE, 0);
  auto consts = Ref<>::steal(PyTuple_Pack(2, module, Py_None));
  auto empty = Ref<>::steal(Py_CompileString("pass", "stator", Py_file_input));
  Ref<> replaced;
  if (!consts || !empty || !replace_code(empty, code, 8, nullptr, consts.get(), replaced)) return false;
  auto* made = reinterpret_cast<PyCodeObject*>(replaced.get());
  made->_co_firsttraceable = static_cast<int>(Py_SIZE(made)) + 1;
  if (CodeState* state = Engine::get().code_state(made)) state->skip = true;
  cpython::python_recursion(thread)++;
  auto done = Ref<>::steal(PyEval_EvalCode(replaced.get(), frame->globals, frame->locals));
  cpython::python_recursion(thread)--;
  return static_cast<bool>(done);
}

bool give_attention(PyThreadState* thread) {
  PyObject* result = call_hidden(thread, attention, nullptr, 0);
  Py_XDECREF(result);
  return result != nullptr;
}

}  // namespace stator
