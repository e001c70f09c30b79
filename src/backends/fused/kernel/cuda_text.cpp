// src/backends/fused/kernel/cuda_text.cpp: threads for elements, warps or blocks for rows.
//
// A thread takes `width` neighbours along the last dimension at once (cuda_vectors.h), its lanes. Without
// reductions it computes one such vector, or a few elements that lie a block apart. With reductions, a row is
// the work of a warp or of a block: each pass (stages.h) gives every thread the vectors that lie `threads`
// apart, and ends in a reduction among the threads, whose result all of them have. Where registers suffice,
// what a row reads is read once, before the first pass.
#include "backends/fused/kernel/cuda_text.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include "backends/fused/kernel/cuda_terms.h"
#include "backends/fused/kernel/cuda_vectors.h"
#include "backends/fused/kernel/scalar_text.h"
#include "backends/fused/kernel/stages.h"

namespace stator::fused {
namespace {

constexpr int kThreads = 256;      // of a block that computes elements
constexpr int kElements = 4;       // of a thread there; of elements of two bytes, twice as many
constexpr int64_t kWarpRow = 256;  // the longest row that is a warp's, or:
constexpr int64_t kWarpTurns = 4;  // the most vectors of a thread there
constexpr int kWarps = 4;          // of a block whose rows are warps'
constexpr int64_t kUnrolled = 16;  // the most turns of a loop that is unrolled
constexpr int64_t kHeld = 320;     // bytes of a thread's registers for what it reads of a row

// Texts are short and written once a kernel.
// NOLINTBEGIN(performance-inefficient-string-concatenation)
class Writer {
 public:
  Writer(const Kernel& kernel, const std::string& name)
      : k_(kernel), name_(name), stages_(kernel), vectors_(kernel), width_(vectors_.width) {
    for (size_t d = k_.rows(); d < k_.sizes.size(); ++d)
      row_ = row_ < 0 || !k_.sizes[d].is_number() ? -1 : row_ * k_.sizes[d].number;
  }

  CudaText write() {
    CudaText made;
    if (k_.reduced == 0) {
      made.threads = kThreads;
      made.per_block = kThreads * (width_ > 1 ? width_ : elements_of_thread());
      width_ > 1 ? vectors() : elements();
    } else {
      threads_ = threads_of_row();
      const bool is_warp = threads_ == 32;
      made.threads = is_warp ? 32 * kWarps : threads_;
      made.per_block = is_warp ? kWarps : 1;
      rows(is_warp);
    }
    made.text = header(made.threads) + body_ + "}\n";
    for (char is_vector : vectors_.loads) made.reads_vectors.push_back(is_vector);
    return made;
  }

 private:
  // -- Frame ----------------------------------------------------------------------------------------------
  std::string header(int threads) const {
    std::string arguments;
    const auto add = [&](const std::string& argument) {
      arguments += (arguments.empty() ? "" : ", ") + argument;
    };
    for (size_t i = 0; i < k_.loads.size(); ++i)
      add("const " + memory_type(k_.loads[i].dtype) + "* __restrict__ p" + std::to_string(i));
    for (size_t i = 0; i < k_.stores.size(); ++i)
      add(memory_type(k_.stores[i].access.dtype) + "* __restrict__ p" + std::to_string(k_.loads.size() + i));
    for (int32_t i = 0; i < k_.parameters; ++i) add("long long s" + std::to_string(i));
    return "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ") " + name_ + "(" +
           arguments + ") {\n  typedef " + (is_wide() ? "long long" : "int") + " index;\n";
  }

  // Whether an index may go beyond 31 bits.
  bool is_wide() const {
    if (k_.parameters > 0) return true;
    const auto reaches = [&](const std::vector<Extent>* strides) {
      double last = 1;
      for (size_t d = 0; d < k_.sizes.size(); ++d) {
        const double size = static_cast<double>(k_.sizes[d].number);
        last = strides ? last + size * static_cast<double>((*strides)[d].number) : last * size;
      }
      return last > 2e9;
    };
    bool wide = reaches(nullptr);
    for (const Access& load : k_.loads) wide = wide || reaches(&load.strides);
    for (const Store& store : k_.stores) wide = wide || reaches(&store.access.strides);
    return wide;
  }

  void line(const std::string& text) { body_ += indent_ + text + "\n"; }
  void open(const std::string& text) {
    line(text + " {");
    indent_ += "  ";
  }
  void close() {
    indent_.resize(indent_.size() - 2);
    line("}");
  }

  static std::string extent(const Extent& e) {
    return e.is_number() ? std::to_string(e.number) : "s" + std::to_string(e.parameter);
  }
  std::string product(size_t first, size_t last) const {
    std::string text;
    for (size_t d = first; d < last; ++d)
      text += (text.empty() ? "" : " * ") + ("(index)" + extent(k_.sizes[d]));
    return text.empty() ? "(index)1" : text;
  }

  // i0, i1, … from one number that counts all of them.
  void indices(size_t first, size_t last, const std::string& from) {
    std::string rest = from;
    for (size_t d = last; d-- > first;) {
      const std::string own = "i" + std::to_string(d);
      if (d == first) {
        line("const index " + own + " = " + rest + ";");
        break;
      }
      line("const index " + own + " = " + rest + " % (index)" + extent(k_.sizes[d]) + ";");
      const std::string next = "n" + std::to_string(d);
      line("const index " + next + " = " + rest + " / (index)" + extent(k_.sizes[d]) + ";");
      rest = next;
    }
  }

  // -- Without reductions -----------------------------------------------------------------------------------
  // Enough to keep the memory busy.
  int elements_of_thread() const {
    const bool is_small = std::ranges::all_of(
        k_.stores, [](const Store& store) { return element_size(store.access.dtype) <= 2; });
    return is_small ? 2 * kElements : kElements;
  }

  void elements() {
    line("const index total = " + product(0, k_.sizes.size()) + ";");
    const std::string block = std::to_string(kThreads);
    const int count = elements_of_thread();
    line("const index first = (index)blockIdx.x * " + std::to_string(kThreads * count) + " + threadIdx.x;");
    line("#pragma unroll");
    open("for (int u = 0; u < " + std::to_string(count) + "; ++u)");
    line("const index e = first + u * " + block + ";");
    open("if (e < total)");
    indices(0, k_.sizes.size(), "e");
    for (size_t i = 0; i < k_.stores.size(); ++i) store(i);
    close();
    close();
  }

  void vectors() {
    line("const index total = " + product(0, k_.sizes.size()) + ";");
    line("const index e = ((index)blockIdx.x * " + std::to_string(kThreads) + " + threadIdx.x) * " +
         std::to_string(width_) + ";");
    line("if (e >= total) return;");
    indices(0, k_.sizes.size(), "e");
    std::vector<size_t> all(k_.stores.size());
    std::iota(all.begin(), all.end(), size_t{0});
    lanes(all, {});
  }

  // -- With reductions --------------------------------------------------------------------------------------
  int threads_of_row() const {
    if (row_ < 0) return 256;
    const int64_t vectors = row_ / width_;
    if (row_ <= kWarpRow || vectors <= 32 * kWarpTurns) return 32;
    const auto wanted = std::bit_ceil(static_cast<uint64_t>((vectors + 3) / 4));
    return static_cast<int>(std::clamp<uint64_t>(wanted, 64, 1024));
  }

  void rows(bool is_warp) {
    const std::string count = product(0, k_.rows());
    line("const index length = " + product(k_.rows(), k_.sizes.size()) + ";");
    if (is_warp) {
      line("const int lane = threadIdx.x & 31;");
      line("const index row = (index)blockIdx.x * " + std::to_string(kWarps) + " + (threadIdx.x >> 5);");
      line("if (row >= " + count + ") return;");  // whole warps leave
    } else {
      line("__shared__ double scratch[32];");
      line("const int lane = threadIdx.x;");
      line("const index row = blockIdx.x;");
    }
    if (k_.rows() > 0) indices(0, k_.rows(), "row");
    const int64_t turns = row_ < 0 ? -1 : (row_ + threads_ * width_ - 1) / (threads_ * width_);
    turns_ = turns > 0 && turns <= kUnrolled ? turns : -1;
    hold();
    for (int stage = 0; stage <= stages_.last; ++stage) run_pass(stage, is_warp);
    bool any = false;
    for (const Store& each : k_.stores) any = any || !is_whole(k_, each.access);
    if (!any) return;
    for (size_t i = 0; i < k_.stores.size(); ++i) {
      if (!is_whole(k_, k_.stores[i].access)) value(k_.stores[i].term);
    }
    open("if (lane == 0)");
    for (size_t i = 0; i < k_.stores.size(); ++i) {
      if (!is_whole(k_, k_.stores[i].access)) store(i);
    }
    close();
  }

  void run_pass(int stage, bool is_warp) {
    const Stages::Pass pass = stages_.pass(k_, stage);
    if (pass.empty()) return;
    std::set<TermId> seen;
    for (TermId id : pass.reductions) prepare(k_.terms[id].a, seen);
    for (size_t i : pass.stores) prepare(k_.stores[i].term, seen);
    for (TermId id : pass.reductions) {
      const Term& term = k_.terms[id];
      line(type_text(term.type) + " a" + std::to_string(id) + " = " + identity_text(term.op, term.type) +
           ";");
    }
    open_turns();
    lanes(pass.stores, pass.reductions);
    close();
    close();
    for (TermId id : pass.reductions) {
      const Term& term = k_.terms[id];
      const std::string own = "a" + std::to_string(id), made = "r" + std::to_string(id);
      const std::string type = type_text(term.type);
      line(type + " " + made + " = " + own + ";");
      open("for (int apart = 16; apart > 0; apart /= 2)");
      line("const " + type + " other = (" + type + ")__shfl_xor_sync(0xffffffffu, " +
           shuffled(term.type, made) + ", apart);");
      line(made + " = " + term_text(term, term.type, made, "other", "") + ";");
      close();
      if (!is_warp) among_warps(term, made, type);
      row_values_[id] = made;
    }
  }

  // A loop over the vectors of a thread: u counts them, j is where one begins in the row.
  void open_turns() {
    const std::string step = std::to_string(threads_), width = std::to_string(width_);
    if (turns_ > 0) {
      line("#pragma unroll");
      open("for (int u = 0; u < " + std::to_string(turns_) + "; ++u)");
      line("const index j = (index)(lane + u * " + step + ") * " + width + ";");
      open("if (j < length)");
    } else {
      line("#pragma unroll 4");
      open("for (index j = (index)lane * " + width + "; j < length; j += " + step + " * " + width + ")");
      open("");
    }
    indices(k_.rows(), k_.sizes.size(), "j");
  }

  // Reads all that the row needs, if the registers suffice.
  void hold() {
    int64_t bytes = 0;
    std::vector<size_t> whole;
    for (size_t i = 0; i < k_.loads.size(); ++i) {
      if (!is_whole(k_, k_.loads[i])) continue;
      whole.push_back(i);
      bytes += turns_ * width_ * static_cast<int64_t>(element_size(k_.loads[i].dtype));
    }
    if (turns_ < 0 || bytes > kHeld || stages_.last == 0) return;
    for (size_t i : whole)
      line(vector_type(k_.loads[i]) + " v" + std::to_string(i) + "[" + std::to_string(turns_) + "];");
    open_turns();
    for (size_t i : whole) read_vector(i, "v" + std::to_string(i) + "[u]");
    close();
    close();
    for (size_t i : whole) held_.insert(i);
  }

  // -- Lanes ------------------------------------------------------------------------------------------------
  std::string vector_type(const Access& access) const {
    return "stator_vector<" + memory_type(access.dtype) + ", " + std::to_string(width_) + ">";
  }

  // The coordinates are of the first lane.
  void read_vector(size_t number, const std::string& to) {
    const Access& access = k_.loads[number];
    const std::string from = "p" + std::to_string(number);
    if (vectors_.loads[number] != 0) {
      const std::string guard = condition(access);
      if (!guard.empty()) line(to + " = {};");
      line((guard.empty() ? "" : "if (" + guard + ") ") + to + " = *(const " + vector_type(access) + "*)(" +
           from + " + " + offset(access) + ");");
      return;
    }
    line("#pragma unroll");
    open("for (int v = 0; v < " + std::to_string(width_) + "; ++v)");
    in_lanes_ = true;
    line(to + ".at[v] = " + element(access, from) + ";");
    in_lanes_ = false;
    close();
  }

  std::string element(const Access& access, const std::string& from) const {
    const std::string place = from + "[" + offset(access) + "]", guard = condition(access);
    return guard.empty() ? place : guard + " ? " + place + " : (" + memory_type(access.dtype) + ")0";
  }

  // Whether the coordinates may be read; empty: they may.
  std::string condition(const Access& access) const {
    std::string text;
    const auto add = [&](const std::string& comparison) {
      text += (text.empty() ? "" : " && ") + comparison;
    };
    for (const Range& range : access.ranges) {
      const std::string at = coordinate(static_cast<size_t>(range.dim));
      if (range.low > 0) add(at + " >= " + std::to_string(range.low));
      if (!k_.sizes[static_cast<size_t>(range.dim)].is(range.high))
        add(at + " < " + std::to_string(range.high));
    }
    return text.empty() ? "" : "(" + text + ")";
  }

  // One vector of each store, and a step of each reduction.
  void lanes(const std::vector<size_t>& stores, const std::vector<TermId>& reductions) {
    const std::string before = std::exchange(body_, {});
    used_.clear();
    element_values_.clear();
    in_lanes_ = true;
    if (width_ > 1) line("#pragma unroll");
    open(width_ > 1 ? "for (int v = 0; v < " + std::to_string(width_) + "; ++v)" : "");
    if (width_ == 1) line("const int v = 0;");
    for (size_t i : stores) store(i);
    for (TermId id : reductions) {
      const Term& term = k_.terms[id];
      const std::string own = "a" + std::to_string(id);
      line(own + " = " + term_text(term, term.type, own, value(term.a), "") + ";");
    }
    close();
    in_lanes_ = false;
    const std::string inner = std::exchange(body_, before);
    for (size_t i : used_) {
      line(vector_type(k_.loads[i]) + " v" + std::to_string(i) + ";");
      read_vector(i, "v" + std::to_string(i));
    }
    for (size_t i : stores) {
      if (vectors_.stores[i] != 0) line(vector_type(k_.stores[i].access) + " w" + std::to_string(i) + ";");
    }
    body_ += inner;
    for (size_t i : stores) {
      if (vectors_.stores[i] == 0) continue;
      const Access& access = k_.stores[i].access;
      line("*(" + vector_type(access) + "*)(p" + std::to_string(k_.loads.size() + i) + " + " +
           offset(access) + ") = w" + std::to_string(i) + ";");
    }
    element_values_.clear();
  }

  // Small integers travel as ints.
  static std::string shuffled(Type type, const std::string& name) {
    const bool small = type == Type::boolean || type == Type::u8 || type == Type::i8 || type == Type::i16;
    return small ? "(int)" + name : name;
  }

  void among_warps(const Term& term, const std::string& made, const std::string& type) {
    const std::string place = "((" + type + "*)scratch)";
    line("if ((lane & 31) == 0) " + place + "[lane >> 5] = " + made + ";");
    line("__syncthreads();");
    line(made + " = " + place + "[0];");
    open("for (int w = 1; w < " + std::to_string(threads_ / 32) + "; ++w)");
    line("const " + type + " other = " + place + "[w];");
    line(made + " = " + term_text(term, term.type, made, "other", "") + ";");
    close();
    line("__syncthreads();");
  }

  // What the row knows is computed before the loop, which then finds it.
  void prepare(TermId id, std::set<TermId>& seen) {
    if (!seen.insert(id).second) return;
    if (!stages_.full[id]) {
      value(id);
      return;
    }
    const Term& term = k_.terms[id];
    for (TermId operand : {term.a, term.b, term.c})
      if (operand != kNoTerm) prepare(operand, seen);
  }

  // -- Terms ------------------------------------------------------------------------------------------------
  std::string coordinate(size_t d) const {
    const std::string first = "i" + std::to_string(d);
    return in_lanes_ && width_ > 1 && d + 1 == k_.sizes.size() ? "(" + first + " + v)" : first;
  }

  std::string offset(const Access& access) const {
    std::string text;
    const size_t last = is_whole(k_, access) ? k_.sizes.size() : k_.rows();
    for (size_t d = 0; d < last; ++d) {
      const Extent& stride = access.strides[d];
      if (stride.is(0)) continue;
      const std::string own = coordinate(d);
      text += (text.empty() ? "" : " + ") + (stride.is(1) ? own : own + " * (index)" + extent(stride));
    }
    return text.empty() ? "0" : text;
  }

  std::string value(TermId id) {
    const bool is_row = k_.reduced > 0 && !stages_.full[id];
    auto& values = is_row ? row_values_ : element_values_;
    if (const auto found = values.find(id); found != values.end()) return found->second;
    const Term& term = k_.terms[id];
    std::string text;
    if (term.op == Op::load) {
      const auto number = static_cast<size_t>(term.integer);
      const Access& access = k_.loads[number];
      const std::string own = std::to_string(number);
      std::string place;
      if (is_row || !is_whole(k_, access) || !in_lanes_) {
        place = element(access, "p" + own);
      } else if (held_.contains(number)) {
        place = "v" + own + "[u].at[v]";
      } else if (vectors_.loads[number] != 0) {
        used_.insert(number);
        place = "v" + own + ".at[v]";
      } else {
        place = element(access, "p" + own);
      }
      text = loaded_text(access.dtype, place);
    } else if (term.op == Op::index) {
      text = "(long long)" + coordinate(static_cast<size_t>(term.integer));
    } else if (term.op == Op::row_size) {
      text = "(" + type_text(term.type) + ")length";
    } else {
      const std::string a = term.a == kNoTerm ? "" : value(term.a);
      const std::string b = term.b == kNoTerm ? "" : value(term.b);
      const std::string c = term.c == kNoTerm ? "" : value(term.c);
      text = term_text(term, term.a == kNoTerm ? term.type : k_.terms[term.a].type, a, b, c);
    }
    const std::string name = (is_row ? "r" : "t") + std::to_string(id);
    line("const " + type_text(term.type) + " " + name + " = " + text + ";");
    return values[id] = name;
  }

  void store(size_t number) {
    const Store& store = k_.stores[number];
    const std::string result = value(store.term);
    const bool is_vector = in_lanes_ && vectors_.stores[number] != 0;
    const std::string place =
        is_vector ? "w" + std::to_string(number) + ".at[v]"
                  : "p" + std::to_string(k_.loads.size() + number) + "[" + offset(store.access) + "]";
    line(place + " = " + stored_text(store.access.dtype, result) + ";");
  }

  const Kernel& k_;
  const std::string name_;
  const Stages stages_;
  const Vectors vectors_;
  const int width_;
  int64_t row_ = 1;     // elements; -1: known in the run
  int threads_ = 0;     // of a row
  int64_t turns_ = -1;  // vectors of a thread; -1: its loop is not unrolled
  bool in_lanes_ = false;
  std::set<size_t> held_,
      used_;  // loads: read before the first pass; those of the loop that is being written
  std::string body_, indent_ = "  ";
  std::map<TermId, std::string> row_values_, element_values_;
};
// NOLINTEND(performance-inefficient-string-concatenation)

}  // namespace

CudaText cuda_text(const Kernel& kernel, const std::string& name) { return Writer(kernel, name).write(); }

}  // namespace stator::fused
