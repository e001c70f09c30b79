// capture/recording/recording.cpp: what is known of the objects of a capture, and the decision before each
// instruction.
#include "capture/recording/recording.h"

#include "capture/cpython/finalizers.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/traits.h"
#include "capture/hook/engine.h"
#include "capture/interpreter/interpreter.h"
#include "capture/recording/break_exception.h"

namespace stator {

using cpython::Frame;

bool Recording::stop(BreakCode code, std::string detail) {
  if (!stop_.happened()) {
    const Break* why = capture_.broken();  // the domain knew it before
    stop_.code = why != nullptr ? why->code : code;
    stop_.detail = std::move(detail);
    if (why != nullptr) stop_.detail = why->detail;
    const LineId line = stack_.line();
    stack_.place();
    stop_.stack = frames_of(*stack_.lines(), line);
  }
  if (!PyErr_Occurred()) PyErr_SetString(break_exception(), reason(*stop_.code).code);
  return false;
}

void Recording::stop_after_frame(BreakCode code, std::string detail) {
  const bool raised = PyErr_Occurred() != nullptr;
  stop(code, std::move(detail));
  if (!raised) PyErr_Clear();
}

void Recording::leave() {
  frame_ = nullptr;
  at_ = nullptr;
  stack_.left();
}

void Recording::note_error() {
  if (pause_) {
    end_pause();
    stop(BreakCode::kException, "a function that is not captured raises");
    return;
  }
  if (stop_.happened()) return;
  if (const Break* why = capture_.broken()) {
    stop(why->code, why->detail);
    return;
  }
  note_raised();
}

void Recording::abandon() {
  for (const Ref<>& object : kept_) {
    if (cpython::has_finalizer(object.get())) cpython::drop_finalizer(object.get());
  }
}

void Recording::make_fresh(PyObject* object) {
  if (fresh_.insert(object).second) kept_.push_back(Ref<>::share(object));
}

void Recording::pin(PyObject* object, Origin origin) {
  if (is_constant(object)) {
    note_constant(object, origin.parent, origin.key.get());
    return;
  }
  if (reads_freely(object)) return;
  // A function and its globals may each have been reached through the other: sources must end somewhere.
  const PyObject* parent = origin.parent;
  for (int i = 0; parent != nullptr && i < 8; i++) {
    if (parent == object) {
      origin = {Origin::root, nullptr, std::move(origin.key)};
      break;
    }
    const auto above = pinned_.find(const_cast<PyObject*>(parent));
    parent = above == pinned_.end() ? nullptr : above->second.parent;
  }
  if (pinned_.emplace(object, std::move(origin)).second) hold(object);
}

static bool holds_constants_only(PyObject* object) {
  if (is_constant(object)) return true;
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
    if (!holds_constants_only(PyTuple_GET_ITEM(object, i))) return false;
  }
  return true;
}

// A compiled regular expression.
static bool is_pattern(PyObject* object) {
  return Py_TYPE(object)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE &&
         std::string_view(Py_TYPE(object)->tp_name) == "re.Pattern";
}

// What is read of an object that never changes has no guard but its address: see TupleGuard.
void Recording::hold(PyObject* object) {
  if (PyTuple_Check(object) && !holds_constants_only(object)) {
    TupleGuard guard{object, Py_TYPE(object), {}};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
      guard.items.push_back(expect(PyTuple_GET_ITEM(object, i)));
    guards_.add(std::move(guard), object);
  } else if (PyMethod_Check(object) || PyCFunction_Check(object)) {
    const MethodFields fields = fields_of(object);
    // Functions of modules and classes live with them.
    if (*fields.self == nullptr || PyModule_Check(*fields.self)) return guards_.keep(object);
    guards_.add(MethodGuard{object, Py_TYPE(object), *fields.function, *fields.self}, object);
  } else if (PyTuple_Check(object) || PyFrozenSet_Check(object) || PySlice_Check(object) ||
             PyRange_Check(object) || PyCode_Check(object) || is_pattern(object) ||
             domain_.is_immutable(object)) {
    guards_.keep(object);
  }
}

bool Recording::never_changes(PyObject* object) const {
  if (is_constant(object) || PyTuple_CheckExact(object) || PyFrozenSet_CheckExact(object) ||
      PyRange_Check(object) || PySlice_Check(object) || PyCFunction_Check(object) || PyCode_Check(object) ||
      Py_IS_TYPE(object, &PyMethodDescr_Type) || Py_IS_TYPE(object, &PyWrapperDescr_Type) ||
      Py_IS_TYPE(object, &PyMethod_Type)) {
    return true;
  }
  return domain_.is_immutable(object);
}

bool Recording::is_known(PyObject* object) const {
  return reads_freely(object) || is_pinned(object) || never_changes(object);
}

void Recording::note_result(PyObject* result, bool made) {
  if (result == nullptr) return;
  const bool alone = Py_REFCNT(result) == 1;
  if (!is_known(result) && (made || alone || domain_.is_tensor(result))) {
    make_fresh(result);
    // When it would die is not known here.
    if (cpython::is_python_class(Py_TYPE(result)) && cpython::has_finalizer(result))
      stop(BreakCode::kFinalizer, std::string("a ") + Py_TYPE(result)->tp_name + " is made");
  }
  // What only a new container holds is as new.
  if (!alone) return;
  const auto note = [&](PyObject* item) {
    if (item != nullptr && Py_REFCNT(item) == 1) note_result(item);
  };
  if (PyTuple_CheckExact(result)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); i++) note(PyTuple_GET_ITEM(result, i));
  } else if (PyList_CheckExact(result)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(result); i++) note(PyList_GET_ITEM(result, i));
  } else if (PyDict_CheckExact(result)) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(result, &position, &key, &value)) note(value);
  }
}

// Frames entered by the instruction itself come and go before its result is on the stack.
bool Recording::take_pending(PyObject** sp) {
  for (size_t i = pending_.size(); i > 0; i--) {
    if (pending_[i - 1].frame != frame_) continue;
    const Pending::Kind kind = pending_[i - 1].kind;
    PyObject*& result = sp[-pending_[i - 1].depth];
    if (pending_[i - 1].instead) Py_SETREF(result, pending_[i - 1].instead.release());
    pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i) - 1,
                   pending_.end());  // what lies above belongs to frames that were left by an error
    if ((has_symbols_ || capture_.has_symbols()) && result != nullptr) see_symbols(result);
    if (kind == Pending::cached) return note_cached_result(result);
    note_result(result, kind == Pending::made);
    return !stop_.happened();
  }
  return true;
}

// The operands of an instruction, from the top of the stack: [1] is the top.
#define TOP(n) (sp[-(n)])

bool Recording::before(const Instruction& instruction, Frame* frame, PyObject** sp) {
  frame_ = frame;
  if (first_frame_ == nullptr) first_frame_ = frame;
  at_ = &instruction;
  stored_ = nullptr;
  if (++instructions_ > kMostInstructions)
    return stop(BreakCode::kThread, "a loop that may wait for another thread takes too long");
  if (pause_) end_pause();
  if (stop_.happened()) return stop(*stop_.code);
  if (!pending_.empty() && !take_pending(sp)) return false;
  if (!cached_.followed.empty() && !cached_.settle(frame, journal_.writes(), sp))
    return stop(BreakCode::kSymbolicNumber,
                "a function with a cache writes to an object that existed before");
  if (!cached_.kept.empty() && frame == first_frame_ && instruction.opcode == Opcode::RETURN_VALUE &&
      !cached_.are_as_given(sp[-1]))
    return stop(BreakCode::kSymbolicNumber, "what a function with a cache gave is changed or returned");
  if ((has_symbols_ || capture_.has_symbols()) && !use_numbers(instruction, frame, sp)) return false;
  const int argument = instruction.argument;
  const auto name = [&](int index) { return PyTuple_GET_ITEM(frame->code->co_names, index); };
  switch (instruction.opcode) {
    case Opcode::LOAD_GLOBAL: {
      PyObject* key = name(argument >> 1);
      if (!read_dict_item(frame->globals, key)) return false;
      if (PyDict_GetItemWithError(frame->globals, key) != nullptr) return true;
      if (!PyDict_CheckExact(frame->builtins))
        return stop(BreakCode::kUnguardable, "builtins that are no dictionary");
      return read_dict_item(frame->builtins, key);
    }
    case Opcode::LOAD_DEREF:
    case Opcode::LOAD_CLASSDEREF:
    case Opcode::LOAD_FROM_DICT_OR_DEREF:
      return read_cell(frame->localsplus[argument], frame->code, argument);
    case Opcode::STORE_DEREF:
    case Opcode::DELETE_DEREF:
      return before_cell_write(frame->localsplus[argument]);
    case Opcode::MAKE_CELL:
      return true;
    case Opcode::STORE_GLOBAL:
      if (!is_known(frame->globals)) return before_write(frame->globals, "a global variable");
      return before_key_write(frame->globals, name(argument));
    case Opcode::DELETE_GLOBAL:
      return is_known(frame->globals) ? before_whole_write(frame->globals)
                                      : before_write(frame->globals, "a global variable");
    case Opcode::LOAD_NAME:
    case Opcode::STORE_NAME:
    case Opcode::DELETE_NAME:
    case Opcode::LOAD_LOCALS:
    case Opcode::LOAD_FROM_DICT_OR_GLOBALS:
    case Opcode::SETUP_ANNOTATIONS:
    case Opcode::LOAD_BUILD_CLASS:
    case Opcode::IMPORT_STAR:
    case Opcode::PRINT_EXPR:
      return stop(BreakCode::kOpcode, opcode_name(instruction.opcode));

    case Opcode::LOAD_ATTR:
    case Opcode::LOAD_METHOD:
      if (instruction.opcode == Opcode::LOAD_ATTR) expect_result();
      return read_attribute(TOP(1), name(argument));
    case Opcode::LOAD_SUPER_ATTR: {
      if (!PyType_Check(TOP(2))) return true;  // raises
      expect_result();
      auto* of = reinterpret_cast<PyTypeObject*>(TOP(1));
      const bool by_class =
          PyType_Check(TOP(1)) && PyType_IsSubtype(of, reinterpret_cast<PyTypeObject*>(TOP(2)));
      return read_attribute_behind(TOP(2), by_class ? of : Py_TYPE(TOP(1)), by_class ? nullptr : TOP(1),
                                   name(argument >> 2));
    }
    case Opcode::STORE_ATTR:
      stored_ = &TOP(2);
      return before_attribute_write(TOP(1), name(argument), TOP(2));
    case Opcode::DELETE_ATTR:
      return before_attribute_write(TOP(1), name(argument), nullptr);

    case Opcode::BINARY_SUBSCR:
      return before_subscript(TOP(2), TOP(1));
    case Opcode::BINARY_SLICE:
      expect_result();
      return read_contents(TOP(3));
    case Opcode::STORE_SUBSCR:
      return before_item_write(TOP(2), TOP(1), false);
    case Opcode::DELETE_SUBSCR:
      return before_item_write(TOP(2), TOP(1), true);
    case Opcode::STORE_SLICE:
      if (domain_.is_tensor(TOP(3))) return true;
      return PyList_CheckExact(TOP(3)) && is_writable(TOP(3)) ? before_whole_write(TOP(3))
                                                              : before_write(TOP(3), "a slice");
    case Opcode::UNARY_POSITIVE:
    case Opcode::UNARY_NEGATIVE:
    case Opcode::UNARY_INVERT:
    case Opcode::UNARY_NOT:
    case Opcode::TO_BOOL:
      expect_result();
      return read_contents(TOP(1));
    case Opcode::POP_JUMP_IF_FALSE:
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::JUMP_IF_FALSE_OR_POP:
    case Opcode::JUMP_IF_TRUE_OR_POP:
      return read_contents(TOP(1));
    case Opcode::BINARY_OP:
      expect_result();
      // In-place operators of mutable operands write to the left one.
      if (argument >= 13 && !before_in_place(TOP(2), TOP(1), argument)) return false;
      if (argument >= 13 && journal_.find(TOP(2)) != nullptr)
        return read_contents(TOP(1));  // what is relied on of the left one is guarded already
      // Concatenation only copies; % formats.
      return argument % 13 == 6 ? read_contents(TOP(2)) && before_formatting(TOP(1))
                                : read_contents(TOP(2)) && read_contents(TOP(1));
    case Opcode::COMPARE_OP:
      expect_result();
      return read_deep(TOP(2)) && read_deep(TOP(1));
    case Opcode::IS_OP:
      return before_identity(TOP(2), TOP(1));
    case Opcode::CONTAINS_OP:
      if (PyDict_Check(TOP(1))) return read_subscript(TOP(1), TOP(2));
      return read_deep(TOP(1)) && read_deep(TOP(2));
    case Opcode::GET_ITER:
    case Opcode::GET_YIELD_FROM_ITER:
      expect_result();
      return read_contents(TOP(1));
    case Opcode::FOR_ITER:
      // Advancing an iterator writes to it.
      expect_result();
      return before_advancing(TOP(1));
    case Opcode::SEND:
      return before_advancing(TOP(2));

    case Opcode::BUILD_LIST:
    case Opcode::BUILD_SET:
    case Opcode::BUILD_MAP:
    case Opcode::BUILD_CONST_KEY_MAP:
    case Opcode::MAKE_FUNCTION:
      expect_result();
      return true;
    case Opcode::LIST_EXTEND:
    case Opcode::SET_UPDATE:
    case Opcode::DICT_UPDATE:
    case Opcode::DICT_MERGE:
    case Opcode::UNPACK_SEQUENCE:
      return read_contents(TOP(1));
    case Opcode::UNPACK_EX:
      // The list lies below what comes before it.
      expect_result();
      pending_.back().depth = (argument & 0xff) + 1;
      return read_contents(TOP(1));
    case Opcode::FORMAT_VALUE:
    case Opcode::FORMAT_SIMPLE:
    case Opcode::CONVERT_VALUE:
      return before_formatting(argument & 4 && instruction.opcode == Opcode::FORMAT_VALUE ? TOP(2) : TOP(1));
    case Opcode::FORMAT_WITH_SPEC:
      return before_formatting(TOP(2));

    case Opcode::CALL:
    case Opcode::CALL_KW:
    case Opcode::CALL_FUNCTION_EX:
      return before_call(instruction, frame, sp);
    case Opcode::BEFORE_WITH:
      expect_result();
      return before_with(TOP(1));
    case Opcode::WITH_EXCEPT_START:
      return true;
    case Opcode::IMPORT_NAME:
      return before_import(frame, name(argument), TOP(2));
    case Opcode::IMPORT_FROM:
      return read_attribute(TOP(1), name(argument));

    case Opcode::CALL_INTRINSIC_1:
      return before_intrinsic(argument, TOP(1));
    case Opcode::GET_LEN:
    case Opcode::MATCH_KEYS:
      return read_contents(TOP(1));
    case Opcode::MATCH_CLASS:
      return before_match(TOP(3), TOP(2), TOP(1), argument);
    case Opcode::GET_AWAITABLE:
    case Opcode::GET_AITER:
    case Opcode::GET_ANEXT:
    case Opcode::END_ASYNC_FOR:
    case Opcode::ASYNC_GEN_WRAP:
    case Opcode::BEFORE_ASYNC_WITH:
    case Opcode::CHECK_EG_MATCH:
    case Opcode::PREP_RERAISE_STAR:
    case Opcode::CALL_INTRINSIC_2:
      return stop(BreakCode::kOpcode, opcode_name(instruction.opcode));
    default:
      return true;  // moves values, jumps, raises or returns
  }
}

bool Recording::before_intrinsic(int number, PyObject* operand) {
  constexpr int kStopIterationError = 3, kUnaryPositive = 5, kListToTuple = 6;
  if (number == kStopIterationError) return true;
  if (number != kUnaryPositive && number != kListToTuple)
    return stop(BreakCode::kOpcode, opcode_name(Opcode::CALL_INTRINSIC_1));
  expect_result();
  return read_contents(operand);
}

#undef TOP

}  // namespace stator
