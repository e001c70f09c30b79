// src/torch/tracing/session.h: one capture: its graph, the real tensors lifted into it, the modes it is in,
// its counters.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "capture/cpython/ref.h"
#include "core/break.h"
#include "core/ir/graph.h"
#include "torch/inference/known_values.h"
#include "torch/inference/tensor_meta.h"
#include "torch/operators/lasting_effects.h"
#include "torch/symbols/sym_number.h"
#include "torch/tracing/mode_state.h"

namespace stator {

class Tracer;
class WrapperTensors;

// Where the shapes of an operator's outputs came from.
struct ShapeCounters {
  uint64_t memo_hits = 0;
  uint64_t rule_calls = 0;
  uint64_t meta_calls = 0;
  uint64_t composite_calls = 0;
  uint64_t dispatched_meta_calls = 0;
};

class Session {
 public:
  // Without `place` nothing that is recorded has a line.
  explicit Session(std::shared_ptr<UserLines> lines = nullptr, UserPlace* place = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Of all sessions that have ended. Guarded by the GIL.
  static ShapeCounters& totals();

  // Of this thread; nullptr outside a capture.
  static Session* current();

  // Between enter and leave every operator of this thread arrives at the dispatcher fallback.
  void enter();
  void leave();

  // Between both, operators of this thread are executed, and the modes' changes are not the program's.
  void pause();
  void resume();

  uint64_t id() const { return id_; }

  // A graph input for `real`, and the tracer that stands for it. The same tensor gives the same tracer. Sizes
  // whose bit is set in `varying` become symbols, except 0 and 1.
  at::Tensor input(const at::Tensor& real, const std::string& name, const std::string& source,
                   uint64_t varying = 0);
  // A float that differs from call to call becomes an input of the graph. Precondition: its symbol was just
  // made.
  void add_real_input(shape::RealId symbol, const std::string& name);
  // The graph's value of a float expression: nodes for its arithmetic are appended where they are first
  // needed.
  ir::ValueId value_of(shape::RealId real);
  // A node that reads the one number of a floating-point tensor. Precondition: reads_numbers.
  SymNumber read_number(ir::OpId op, const at::Tensor& tensor);
  // The number that a node gives, as the program sees it.
  SymNumber number_of(ir::ValueId value);
  // After a write was recorded. A backend that compiles runs a graph whole or not at all, as far as anybody
  // knows: a write behind an operator that may refuse its values inside of a handler ends the capture.
  void after_write();
  // Before an operator that may refuse what its arguments hold. Ends the capture where the program could not
  // see the error, as in record_number.
  void before_refusal(const std::string& operator_name);
  // Arithmetic on numbers that are read off tensors. What Python may raise for is computed where the program
  // does it, used or not, so that the run raises there. Ends the capture where the program could not see the
  // error: the run has changed something by then that running the function once more would change twice.
  void record_number(shape::RealId real);
  shape::Context& shapes() { return graph.shapes(); }

  // The value of any tensor that reaches the fallback; real ones become inputs of the graph.
  ir::ValueId value_of(const at::Tensor& tensor);
  // A graph input for a tensor whose class has a `__torch_dispatch__`, and what stands for it.
  at::Tensor wrapper_input(const at::Tensor& real, const std::string& name, const std::string& source);
  // After an in-place operator: later uses of the tensor mean this value.
  void move_value(const at::Tensor& tensor, ir::ValueId value);
  // Records `.data`: the same memory without the history.
  uint32_t record_data(uint32_t value, const TensorMeta& meta);
  // What `.data` of a tensor that existed before is to captured code.
  at::Tensor data_of(const at::Tensor& real);
  // Records `a.data = b` for tensors of one layout; `a` existed before.
  void record_set_data(const at::Tensor& a, const at::Tensor& b);
  // Records that a leaf requires a gradient from here on, or does not.
  void record_requires_grad(const at::Tensor& leaf, bool requires_grad);
  // The same for a tensor that C code was asked to make so (`torch.zeros(2, requires_grad=True)`), before its
  // first use. False: something else changed about it.
  bool record_drift(const at::Tensor& tensor, const Tracer& tracer);
  // Appends mode nodes for what changed since the last operator.
  void record_modes();
  // Code begins and ends that backward runs once more (domain/checkpoint_region.h).
  void enter_region(bool preserves_random_state, bool stops_early, const std::vector<at::Tensor>& given);
  void leave_region();
  // Ends the recording: a last look at the modes, and the graph's outputs.
  void finish(const std::vector<at::Tensor>& outputs);
  // One output of finish: a tensor, or a number that is a symbol.
  ir::ValueId output_value(const at::Tensor& tensor);
  ir::ValueId output_value(const SymNumber& number);
  void finish(std::span<const ir::ValueId> outputs);

  void note_break(BreakCode code, const std::string& message);

  // Real tensors that became inputs, in input order. Kept alive until the session ends.
  struct Lifted {
    at::Tensor tensor;
    ir::ValueId input;
    ir::ValueId value;  // now, after in-place operators
    uint64_t memory;
    at::Tensor tracer;  // defined for arguments, not for lifted parameters
    TensorMeta meta;    // with symbols; filled for arguments that have some
    LineId line;        // that used it first
  };
  Lifted& lift(const at::Tensor& real, const std::string& name = {}, const std::string& source = {},
               uint64_t varying = 0);

  ir::Graph graph;
  std::vector<Lifted> inputs;
  // Tensors that were made to require a gradient, with the values that they had then.
  struct MadeLeaf {
    ir::ValueId value;
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;
  };
  std::vector<MadeLeaf> made_leaves;
  // The DistributedDataParallel in whose forward the first parameter was used; null outside of one.
  Ref<> data_parallel;
  ShapeCounters counters;
  KnownValues known;
  std::optional<Break> broken;
  // Says where a real tensor can be fetched again; set by the engine.
  std::function<std::optional<std::string>(const at::Tensor&)> source_of;
  // Whether numbers may be read off tensors by nodes, and backward() be one; what the backend cannot do ends
  // the capture.
  bool reads_numbers = false;
  // Whether ints may be, too: the program gives their symbols a value while it runs.
  bool reads_integers = false;
  // Whether each node runs in its place in every run, those with effects outside included: a program of ours.
  bool runs_python = false;
  bool has_read = false;  // one was
  // Whether the capture ends behind the running instruction, and an operator there may be the last one of the
  // graph, whose result only a run has (last_read.h); whether there was one.
  bool takes_last_read = false;
  bool has_last_read = false;
  // Whether a place of the program passes errors on as they are, whatever the run has done: no handler of the
  // program's stands around it. Set by the engine; unset: none does.
  std::function<bool(LineId)> passes_errors_on;
  // Whether a handler of the program's stands around the place where it is now, and the capture may end
  // there. Set by the engine.
  std::function<bool(LineId)> ends_before_refusal;
  // What the program would read of a tensor, and a write of the program's: see DomainCapture. Set by the
  // engine.
  std::function<Ref<>(PyObject* tensor, PyObject* name)> read_attribute;
  std::function<bool(PyObject* tensor, PyObject* name, PyObject* value)> make_write;
  // Operators arrive behind autocast: what it made of them is what runs.
  bool below_autocast = false;
  // Tensors whose class has a `__torch_dispatch__`; null where the backend takes none.
  std::unique_ptr<WrapperTensors> wrappers;
  // Whether nodes may change what tensors that existed before are (requires_grad, data).
  bool changes_tensors = false;
  // Above zero while a composite kernel is re-run only to learn shapes: nothing is recorded.
  int unrecorded = 0;
  // Above zero in a forward that every run makes by itself (domain/custom_gradient.h); what has a greater
  // memory than this was made there.
  int following = 0;
  uint64_t followed_memory = 0;
  // Above zero while a kernel that is written in Python runs only to learn shapes.
  int own_python = 0;
  // Where the program stands; kNone once the session was left.
  LineId line() const { return place_ != nullptr ? place_->line() : LineId::kNone; }

 private:
  Lifted& add_input(const at::Tensor& real, const std::string& name, const std::string& source,
                    uint64_t varying);

  LastingEffects lasting_{graph};
  bool may_refuse_ = false;  // an operator that a handler of the program's stands around
  uint64_t id_;
  UserPlace* place_;
  bool entered_ = false;
  Session* outer_ = nullptr;
  std::unordered_map<c10::TensorImpl*, size_t> lifted_;     // index into inputs
  std::unordered_map<c10::StorageImpl*, size_t> storages_;  // the first input on each
  std::unordered_map<shape::RealId, ir::ValueId> reals_;
  ModeState caller_modes_;
  ModeState modes_;
  std::optional<ModeState> region_modes_;  // where the open region began
  size_t region_start_ = 0;
};

// A tensor that belongs to a transform of torch.func, also to one that has ended.
bool is_wrapper(const at::Tensor& tensor);

// Dimensions from the innermost in memory to the outermost; one of size 1 comes before others of its stride.
std::vector<size_t> stride_order(const at::Tensor& tensor);

// What a value is, as the graph stores it. The spans of the result point into `dims`.
ir::ValueSpec value_spec(const TensorMeta& meta, bool requires_grad, std::vector<shape::Dim>& dims);

}  // namespace stator
