// capture/recording/waiting_generators.cpp: generators that still wait when the captured call is over.
//
// Each of them would be closed where the program drops it: GeneratorExit is raised where it waits. A program
// has nothing that does so on later calls, so no code may hear of it. A coroutine that nobody awaits is
// warned of, on every call.
#include "capture/recording/waiting_generators.h"

#include <algorithm>

#include "capture/cpython/traits.h"
#include "capture/engine/engine.h"
#include "capture/interpreter/interpreter.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"

namespace stator {

using cpython::Frame;

// What LOAD_GLOBAL gives in the frame; nullptr where there is none, or no guard for it.
static PyObject* global_of(Recording& recording, const Frame* frame, PyObject* name) {
  if (!PyDict_CheckExact(frame->builtins)) return nullptr;
  for (PyObject* dict : {frame->globals, frame->builtins}) {
    if (!read_dict_item(recording, dict, name)) return nullptr;
    if (PyObject* found = PyDict_GetItemWithError(dict, name)) return found;
  }
  return nullptr;
}

// Whether an `except` with this class, or tuple of classes, lets GeneratorExit pass.
static bool lets_exit_pass(PyObject* caught) {
  return caught != nullptr && PyExceptionClass_Check(caught) &&
         !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit),
                           reinterpret_cast<PyTypeObject*>(caught));
}

// Walks through the handlers that GeneratorExit meets. Those that only compare it with classes it is none of,
// and raise it again, run no code of the program's.
static bool closes_unheard(Recording& recording, const Frame* waiting, const DecodedCode& code) {
  const Handler* handler = code.handler_at(cpython::raise_unit(waiting));
  const Instruction* at = handler != nullptr ? code.at_unit(code.start + handler->target) : nullptr;
  std::vector<PyObject*> classes;  // loaded and not compared yet
  while (at != nullptr) {
    switch (at->opcode) {
      case Opcode::CALL_INTRINSIC_1:  // from 3.12 on around every generator: it turns StopIteration into an
                                      // error
      case Opcode::PUSH_EXC_INFO:
      case Opcode::COPY:
      case Opcode::POP_EXCEPT:
      case Opcode::BUILD_TUPLE:
      case Opcode::CHECK_EXC_MATCH:
        at++;
        break;
      case Opcode::LOAD_GLOBAL:
        classes.push_back(
            global_of(recording, waiting, PyTuple_GET_ITEM(waiting->code->co_names, at->argument >> 1)));
        at++;
        break;
      case Opcode::POP_JUMP_IF_FALSE:
        if (classes.empty() || !std::all_of(classes.begin(), classes.end(), lets_exit_pass)) return false;
        classes.clear();
        at = code.instructions.data() + at->argument;
        break;
      case Opcode::RERAISE:
        handler = code.handler_at(at->at);
        at = handler != nullptr ? code.at_unit(code.start + handler->target) : nullptr;
        break;
      default:
        return false;
    }
  }
  return true;
}

bool leaves_generators(Recording& recording) {
  const std::vector<Ref<>> made = recording.known.kept;  // reading a global may add to it
  for (const Ref<>& object : made) {
    if (cpython::is_unawaited(object.get())) return true;
    if (!cpython::is_resumable(object.get())) continue;
    const Frame* waiting = cpython::generator_frame(object.get());
    CodeState* state = Engine::get().code_state(waiting->code);
    const DecodedCode* code = state != nullptr ? decoded(*state, waiting->code) : nullptr;
    if (code == nullptr || !closes_unheard(recording, waiting, *code)) return true;
  }
  return false;
}

}  // namespace stator
