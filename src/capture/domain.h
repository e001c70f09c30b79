// capture/domain.h: what the capture layer asks of the layer that knows tensors.
#ifndef STATOR_CAPTURE_DOMAIN_H
#define STATOR_CAPTURE_DOMAIN_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/cpython/ref.h"
#include "capture/engine/engine_switch.h"
#include "core/break.h"
#include "core/shape/context.h"

namespace stator {

// What a C function may do, as far as the domain knows it.
enum class CallKind : uint8_t {
  unknown,
  pure,              // reads its arguments and nothing else
  tensor,            // operators on tensors: the dispatcher records them
  values,            // makes a tensor of the values in its arguments, those of tensors that are not recorded
                     // too
  setting,           // gives a setting of the process, which a guard asks for again
  modes,             // changes the thread's modes, which the domain records and undoes
  lasting_mode,      // the same, for one that a program may leave changed: Domain::lasting_modes
  refused,           // cannot be captured
  writes_attribute,  // of its first argument, a tensor: the second one, or True
  calls_class,       // bound to a class: calls its Python function `forward` with a new object and the
                     // arguments
  calls_as_one,      // the same, and the call is one node: DomainCapture::followed_call
  region,            // begins or ends code that backward runs once more
  output,            // writes to a standard stream, in its place among the operators: see Domain::streams
};

// What a capture shall do with a call.
struct CallPolicy {
  constexpr CallPolicy(CallKind kind) : kind(kind) {}
  // Ends the capture with this reason.
  static constexpr CallPolicy refuse(BreakCode reason) {
    CallPolicy policy(CallKind::refused);
    policy.reason = reason;
    return policy;
  }
  static constexpr CallPolicy write_attribute(const char* name) {
    CallPolicy policy(CallKind::writes_attribute);
    policy.attribute = name;
    return policy;
  }
  // `reason`: why, where it cannot be one node.
  static constexpr CallPolicy call_as_one(BreakCode reason) {
    CallPolicy policy(CallKind::calls_as_one);
    policy.reason = reason;
    return policy;
  }
  bool operator==(CallKind other) const { return kind == other; }

  CallKind kind;
  BreakCode reason = BreakCode::kUnknownFunction;
  const char* attribute = nullptr;
};

// What one input tensor looked like; checked on every later call.
class TensorGuard {
 public:
  virtual ~TensorGuard() = default;
  // Sizes that are symbols of the capture are written into `bindings`.
  virtual bool holds(PyObject* tensor, shape::Bindings& bindings) const = 0;
  virtual std::string expected() const = 0;
  // The sizes and strides in which this object, a tensor that is else like the guarded one, differs: as in
  // Varying::sizes.
  virtual uint64_t changed_sizes(PyObject* object) const = 0;
};

// Arrays of another library that captured code sees as objects of its own, which compute with tensors.
struct ArrayForms {
  // A tensor that shares the memory of an array of the caller's; null if it is no array or no tensor can.
  Ref<> (*tensor_on)(PyObject* array);
  // What stands for such an array.
  Ref<> (*array_on)(PyObject* tracer);
  // The tensor in what stands for an array; borrowed. nullptr: it does not.
  PyObject* (*tensor_in)(PyObject* value);
  // What the program sees of a dtype of such arrays once the capture is over; borrowed. nullptr: it is none.
  PyObject* (*dtype_behind)(PyObject* value);
  // Makes the array that the program sees once the capture is over, of the tensor in a tuple.
  newfunc (*maker_of)(PyObject* value);
};

// A tensor that a capture reaches by itself.
struct PinnedTensor {
  PyObject* tensor;  // borrowed
  // It stands in a dictionary: if another one takes its place, or its class changes, there is doubt().
  bool told_of;
};

// Such tensors, as they were when the capture was sealed.
class TensorWatch {
 public:
  virtual ~TensorWatch() = default;
  // Every one of them is the same in all that its guard looks at. The objects are alive: other guards prove
  // it.
  virtual bool unchanged() = 0;
  // Those that are told of may be others by now.
  virtual void doubt() = 0;
  // Every guard holds, though something changed: what is there now is what is compared from now on.
  virtual void renew() = 0;
};

// How far a run came that raised an error.
struct RunFailure {
  bool untouched = false;       // nothing that it did is left: the function may be run from its start
  bool of_backend = false;      // code of the backend's own raised it, which eager code may not do
  LineId line = LineId::kNone;  // where the program was, if that is known
};

// The tensor program of one capture, ready to run.
class TensorProgram {
 public:
  virtual ~TensorProgram() = default;
  // One tensor (borrowed) per input, in the order of DomainCapture::inputs, and the numbers that the symbols
  // have in this call. New references; false with a Python error set.
  virtual bool run(PyObject* const* inputs, const shape::Bindings& bindings, std::vector<Ref<>>& outputs,
                   RunFailure& failure) const = 0;
  // Whether it depends on how the inputs lie in memory, and whether these lie as it expects.
  virtual bool depends_on_overlap() const { return false; }
  virtual bool overlaps_as_captured(PyObject* const* /*inputs*/) const { return true; }
  virtual std::string graph_text() const = 0;
  virtual size_t node_count() const = 0;
  // For each node the line of the user's code that it comes from.
  virtual std::vector<LineId> node_lines() const = 0;
  // The graph as Python backends receive it (borrowed); nullptr where none was made.
  virtual PyObject* graph_module() const { return nullptr; }
};

// Recording of the tensor operations of one capture. While it lives, operators of this thread are recorded,
// not executed.
class DomainCapture {
 public:
  virtual ~DomainCapture() = default;
  // A tracer for a tensor of the arguments, and the guard that later ones must pass. Sizes whose bit is set
  // in `varying` become symbols. nullptr with a Python error set.
  virtual Ref<> input(PyObject* tensor, const std::string& name, uint64_t varying,
                      std::unique_ptr<TensorGuard>& guard) = 0;
  // What stands for an int or float that differs from call to call, and where its value is bound; nullopt if
  // it stays a constant.
  struct NumberSymbol {
    Ref<> stands;
    bool is_real = false;
    uint32_t index = 0;  // in Bindings::ints or Bindings::reals
  };
  virtual NumberSymbol number(PyObject* value, const std::string& name) = 0;
  // The symbols of this capture and what it relied on of them; nullptr where there are none. After finish.
  virtual std::shared_ptr<const shape::Context> symbols() const = 0;
  // Why the domain cannot go on, or nothing. Cheap: asked whenever an error is raised.
  virtual const Break* broken() const = 0;
  // Between both, operators of this thread are executed as if there were no capture.
  virtual void pause() {}
  virtual void resume() {}
  // What captured code is to see of an attribute of a tensor that existed before, which the tensor's class
  // defines in C; null for the attribute itself.
  virtual Ref<> attribute(PyObject* /*tensor*/, PyObject* /*name*/) { return {}; }
  // Such an attribute is about to be written, and the program will do that as an operator.
  enum class AttributeWrite : uint8_t {
    refused,  // it cannot be captured
    made,     // the run makes it too, for itself, and takes it back
    done,     // nothing is left to do for the run
  };
  virtual AttributeWrite write_attribute(PyObject* /*tensor*/, PyObject* /*name*/, PyObject* /*value*/) {
    return AttributeWrite::refused;
  }
  // Makes a call of a Python function one node; called while paused. Returns null, and the reason in `why`,
  // if that cannot be.
  virtual Ref<> opaque_call(PyObject* /*function*/, PyObject* /*arguments*/, PyObject* /*keywords*/,
                            std::string& why) {
    why = "there are no tensors";
    return {};
  }
  // Makes a call of CallKind::calls_as_one, whose Python function is followed meanwhile, one node. Nothing:
  // an error is set, or `why` says why it cannot be.
  virtual Ref<> followed_call(PyObject* /*function*/, PyObject* /*arguments*/, std::string& why) {
    why = "there are no tensors";
    return {};
  }
  // Whether the program has written to objects that existed before it, so far. Set by the capture.
  std::function<bool()> has_effects;
  // A break is an error to the caller: no break is worth what it would keep. Set by the capture.
  bool must_be_whole = false;
  // What the program would read there, guarded; null if the capture is stopped or an error is set. Set by the
  // capture, as the next one.
  std::function<Ref<>(PyObject* tensor, PyObject* name)> read_attribute;
  // Makes a write of the program's. False: the capture is stopped, or an error is set.
  std::function<bool(PyObject* tensor, PyObject* name, PyObject* value)> make_write;
  // Numbers may be symbols by now, also where no argument was one.
  virtual bool has_symbols() const { return false; }
  // A frame of the program is about to run; `caller` is the code that called it, or nullptr.
  virtual void entering(PyCodeObject* /*code*/, PyCodeObject* /*caller*/) {}
  // Whether captured code reads here what it is told that asks whether it is captured: a value that the
  // domain sets for the capture, and that needs no guard. `setting`: the key of the same dictionary whose
  // value is to be guarded instead, or nullptr.
  virtual bool reads_capture_flag(PyObject* /*dict*/, PyObject* /*key*/, PyObject** /*setting*/) {
    return false;
  }
  // What it was told; nothing if it did not ask.
  virtual std::optional<bool> told_captured() const { return {}; }
  // It did ask, and a capture that breaks is to be tried once more with the other answer.
  virtual bool has_other_answer() const { return false; }
  // Whether the domain itself runs Python code just now, which is no part of the program.
  virtual bool runs_own_code() const { return false; }
  // A segment may end behind an instruction whose operator gives what only a run has: from here on the next
  // such operator is the last one. False: the backend does not take it.
  virtual bool expect_last_read() { return false; }
  // There was one: nothing of the program may look at its result.
  virtual bool has_last_read() const { return false; }
  // What stands for the number of a tensor, or its truth, as the last thing that the graph gives; null if
  // that cannot be.
  enum class LastRead : uint8_t { number, truth };
  virtual Ref<> last_read(PyObject* /*tensor*/, LastRead) { return {}; }
  // Grows with every operator that is recorded.
  virtual size_t recorded() const { return 0; }
  // Ends the recording: `outputs` are the tensors (tracers or real ones) and symbolic numbers that the
  // program returns. False: see broken(). `captured` receives the real tensor behind each input that is not
  // one of the arguments, nullptr for those that are.
  virtual bool finish(const std::vector<PyObject*>& outputs, std::vector<Ref<>>& captured) = 0;
  // After finish: the line that first used an input.
  virtual LineId first_use(size_t /*input*/) const { return LineId::kNone; }
  // After finish: gives the graph to a backend (None: the native one, or what the layer above has registered
  // under a name, or a Python callable). `sources` has one text per input, empty for those that have a name
  // already. nullptr with a Python error set: the backend's own; without one: see broken().
  virtual std::unique_ptr<TensorProgram> compile(PyObject* backend,
                                                 const std::vector<std::string>& sources) = 0;
};

class Domain {
 public:
  virtual ~Domain() = default;
  // The file name, or its beginning, of the library whose C code gives up the GIL around operators.
  virtual const char* library() const { return nullptr; }
  // The Python package of the domain, whose functions load parts of it when they are first needed.
  virtual const char* package() const { return ""; }
  virtual bool is_tensor(PyObject* object) const = 0;
  // Whether this class of a tensor is one of the program's. Its methods are called by C code, and its
  // instances come out of a run as plain tensors.
  virtual bool is_class_of_program(PyTypeObject* type) const = 0;
  // nullptr: there are none.
  virtual const ArrayForms* arrays() const { return nullptr; }
  // Objects of the domain that never change: dtypes, devices, sizes.
  virtual bool is_immutable(PyObject* object) const = 0;
  // The sizes that become symbols, given those that changed: the program may have marked its tensors.
  virtual uint64_t marked_sizes(PyObject* tensor, uint64_t varying) const = 0;
  // A size of a nested tensor, or the object that torch keeps for it: which one it is differs between calls.
  virtual bool is_ragged_size(PyObject* /*object*/) const { return false; }
  // A number that is a symbol of the running capture.
  virtual bool is_symbolic(PyObject* object) const = 0;
  // What a function of Python's that asks for a number gives for tensors or symbols, where that is a symbol
  // or decided by a guard: len(x), math.sqrt(n). Null if the function is to be called. An error may be set.
  virtual Ref<> symbol_from(PyObject* /*function*/, PyObject* const* /*arguments*/,
                            Py_ssize_t /*count*/) const {
    return {};
  }
  // What captured code is to see instead of an object that the domain's C code made: nothing, or a symbolic
  // number. Asked in captures that have symbols.
  virtual Ref<> in_place_of(PyObject* object) const = 0;
  // Code of the domain's own that C code calls, which is run and not captured.
  virtual bool runs_plainly(PyCodeObject* code) const = 0;
  // The same, with all that it calls: a kernel. The domain goes on recording what it does.
  virtual bool is_kernel(PyCodeObject* /*code*/) const { return false; }
  // A capture was given up: what stood in its way, and can be done only while none runs, is done now. True:
  // it is tried again.
  virtual bool clear_the_way() const { return false; }
  // A C++ exception is handled: becomes the Python error that is set, the one that it holds where it does.
  virtual void raise_caught(const std::exception& error) const {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  // Python code that the domain's C code calls in place of an operator: with dictionaries which it made for
  // that call; what it gives is the result.
  virtual bool answers_for_operators(const PyCodeObject* /*code*/) const { return false; }
  virtual CallPolicy classify(PyObject* callable) const = 0;
  // CallKind::calls_class and calls_as_one: the function of the class whose first argument C code makes for
  // it.
  virtual const char* takes_new_object(PyObject* /*owner*/) const { return "forward"; }
  // A function without arguments that says of what kind the standard streams are; what it answers is guarded
  // where a call of CallKind::output is captured. Borrowed.
  virtual PyObject* streams() const { return nullptr; }
  // What captured code is to call in place of a function; null for the function itself.
  virtual Ref<> called_instead(PyObject* /*callable*/) const { return {}; }
  // For a compiled form of a Python function: the attribute with that function. nullptr: it is no such thing.
  virtual const char* python_form(PyObject* /*callable*/) const { return nullptr; }
  // For a wrapper that only passes its arguments on, as far as a capture is concerned: the free variable with
  // the function that it calls. nullptr: it is no such thing.
  virtual const char* passes_on_to(PyFunctionObject*) const { return nullptr; }
  // For a wrapper that keeps what it calls from every engine: neither it nor its callees are captured.
  virtual bool keeps_from_capture(PyFunctionObject*) const { return false; }
  // The domain's own engine, which takes frames too; nullptr: it has none.
  virtual const EngineSwitch* other_engine() const { return nullptr; }
  // Whether reading this attribute of a tensor gives what a guard on the tensor's metadata covers, or records
  // an operator.
  virtual bool attribute_is_captured(PyObject* tensor, PyObject* name) const = 0;
  // The attribute of tensors that is an object of its own, the same one on every read (`grad`); nullptr:
  // there is none.
  virtual PyObject* object_attribute() const { return nullptr; }
  // Whether that object may be there: a leaf that requires a gradient.
  virtual bool keeps_objects(PyObject*) const { return false; }
  virtual std::unique_ptr<TensorGuard> guard(PyObject* tensor) const = 0;
  // Answers for the guards of many tensors at once; nullptr: they are asked one by one.
  virtual std::unique_ptr<TensorWatch> watch(const std::vector<PinnedTensor>&) const { return nullptr; }
  // The modes that change what operators do, in one word; part of every capture's guards.
  virtual uint64_t modes() const = 0;
  // What they are, for a guard that failed.
  virtual const char* modes_in_words() const { return "modes"; }
  // The bits of it in which a program may leave the thread changed; others are as before when it ends.
  virtual uint64_t lasting_modes() const { return 0; }
  // Whether the backend is given graphs that read values, as numbers or at their end. One that refuses such a
  // graph is asked again without, from then on.
  virtual bool takes_values(PyObject* /*backend*/) const { return false; }
  // Whether captures can be made in the thread's present modes. They may end: a function that is called under
  // them is not given up.
  virtual bool captures_now() const { return true; }
  // `place` says where the program stands, as a line of `lines`, and outlives the capture; `backend` is the
  // one that compile will be given; `other_answer`: see DomainCapture::has_other_answer. nullptr with a
  // Python error set.
  virtual std::unique_ptr<DomainCapture> begin(std::shared_ptr<UserLines> lines, UserPlace& place,
                                               PyObject* backend, bool other_answer) const = 0;
};

}  // namespace stator

#endif
