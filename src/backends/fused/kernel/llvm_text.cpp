// src/backends/fused/kernel/llvm_text.cpp: loops of a kernel: rows, and the passes that reductions make over
// each.
//
// Full terms are computed again in every stage that needs them (stages.h), except functions that cost more
// than memory: their values are kept for the row.
#include "backends/fused/kernel/llvm_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "backends/fused/kernel/ir_writer.h"
#include "backends/fused/kernel/scalar_text.h"
#include "backends/fused/kernel/stages.h"

namespace stator::fused {
namespace {

constexpr int64_t kMaxKept = 32768;     // elements that are kept between stages, on the stack of a thread
constexpr int64_t kMaxFloatSum = 4096;  // longer sums of float32 are made in float64

// Texts are short and written once a kernel.
// NOLINTBEGIN(performance-inefficient-string-concatenation)
class KernelWriter {
 public:
  KernelWriter(const Kernel& kernel, const std::string& name)
      : k_(kernel), name_(name), stages_(kernel), full_(stages_.full), stage_(stages_.of) {}

  std::string write() {
    header();
    const size_t rows = k_.rows();
    if (rows == 0) {
      row();
    } else {
      nest(0, rows, [&] { row(); });
    }
    w_.statement("ret void");
    return w_.out + "}\n" + entry();
  }

 private:
  using Body = std::function<void()>;

  // -- Frame of the functions -----------------------------------------------------------------------------
  size_t address_count() const { return k_.loads.size() + k_.stores.size(); }

  void header() {
    std::string arguments;
    for (size_t i = 0; i < address_count(); ++i) arguments += "ptr noalias %p" + std::to_string(i) + ", ";
    for (int32_t i = 0; i < k_.parameters; ++i) arguments += "i64 %s" + std::to_string(i) + ", ";
    w_.out =
        "define internal void @" + name_ + ".loops(" + arguments + "i64 %begin, i64 %end) alwaysinline {\n";
    w_.block("entry");
    row_size_ = "1";
    int64_t size = 1;
    bool known = true;
    for (size_t d = k_.rows(); d < k_.sizes.size(); ++d) {
      known = known && k_.sizes[d].is_number();
      size *= known ? k_.sizes[d].number : 1;
      row_size_ = w_.line("mul i64 " + row_size_ + ", " + extent(k_.sizes[d]));
    }
    known_row_ = known ? size : -1;
    if (k_.reduced == 1 && known_row_ > 0) keep_functions();
  }

  // Functions whose value is wanted in more than one stage.
  void keep_functions() {
    std::vector<std::set<int>> stages(k_.terms.size());
    for (const Store& store : k_.stores) {
      if (is_whole(store)) stages[store.term].insert(stage_[store.term]);
    }
    for (TermId id = static_cast<TermId>(k_.terms.size()); id-- > 0;) {
      const Term& term = k_.terms[id];
      std::set<int> wanted = stages[id];
      if (is_reduction(term.op)) wanted = {stage_[id] - 1};
      const int64_t kept = static_cast<int64_t>(kept_.size() + 1) * known_row_;
      if (full_[id] && is_function(term.op) && wanted.size() > 1 && kept <= kMaxKept) {
        kept_[id] = w_.line("alloca [" + std::to_string(known_row_) + " x " +
                            std::string(llvm_type(term.type)) + "], align 64");
        wanted = {*wanted.begin()};
      }
      for (TermId operand : {term.a, term.b, term.c})
        if (operand != kNoTerm) stages[operand].insert(wanted.begin(), wanted.end());
    }
  }

  std::string entry() const {
    IrWriter w;
    w.out = "define void @" + name_ + "(ptr %arguments, i64 %begin, i64 %end) {\n";
    std::string arguments;
    for (size_t i = 0; i < address_count() + static_cast<size_t>(k_.parameters); ++i) {
      const std::string place = w.line("getelementptr i64, ptr %arguments, i64 " + std::to_string(i));
      const std::string type = i < address_count() ? "ptr " : "i64 ";
      arguments += type + w.line("load " + type.substr(0, 3) + ", ptr " + place) + ", ";
    }
    w.statement("call void @" + name_ + ".loops(" + arguments + "i64 %begin, i64 %end)");
    w.statement("ret void");
    return w.out + "}\n";
  }

  // -- Loops ----------------------------------------------------------------------------------------------
  static std::string extent(const Extent& e) {
    return e.is_number() ? std::to_string(e.number) : "%s" + std::to_string(e.parameter);
  }

  // Loops over dimensions first to last, around `body`. Accumulators are carried through all of them: while
  // `body` runs, accumulators_ has their registers, and it leaves the new ones there.
  void nest(size_t first, size_t last, const Body& body) {
    if (first == last) {
      body();
      return;
    }
    const bool is_range = first == 0 && k_.rows() > 0;
    const std::string from = is_range ? "%begin" : "0", to = is_range ? "%end" : extent(k_.sizes[first]);
    const std::string loop = w_.new_label(), after = w_.new_label(), before = w_.current;
    const std::string index = "%i" + loop;
    w_.statement("br label %" + loop);
    w_.block(loop);
    const size_t phis_at = w_.out.size();
    const std::vector<std::string> initial = accumulators_;
    for (size_t i = 0; i < accumulators_.size(); ++i) accumulators_[i] = "%a" + std::to_string(i) + loop;
    index_.resize(std::max(index_.size(), first + 1));
    index_[first] = index;
    nest(first + 1, last, body);
    const std::string next = w_.line("add nuw nsw i64 " + index + ", 1");
    const std::string more = w_.line("icmp slt i64 " + next + ", " + to);
    w_.statement("br i1 " + more + ", label %" + loop + ", label %" + after);
    const auto phi = [&](const std::string& name, std::string_view type, const std::string& start,
                         const std::string& again) {
      return "  " + name + " = phi " + std::string(type) + " [ " + start + ", %" + before + " ], [ " + again +
             ", %" + w_.current + " ]\n";
    };
    std::string phis = phi(index, "i64", from, next);
    for (size_t i = 0; i < initial.size(); ++i) {
      phis += phi("%a" + std::to_string(i) + loop, llvm_type(accumulator_types_[i]), initial[i],
                  accumulators_[i]);
    }
    w_.out.insert(phis_at, phis);
    w_.block(after);
  }

  // -- One row ----------------------------------------------------------------------------------------------
  void row() {
    row_values_.clear();
    if (k_.reduced == 0) {
      for (size_t i = 0; i < k_.stores.size(); ++i) store(i);
      return;
    }
    for (int stage = 0; stage <= stages_.last; ++stage) run_stage(stage);
    for (size_t i = 0; i < k_.stores.size(); ++i) {
      if (!is_whole(k_.stores[i])) store(i);
    }
  }

  // Written at every element, though its value may be the row's.
  bool is_whole(const Store& store) const { return fused::is_whole(k_, store.access); }

  void run_stage(int stage) {
    const Stages::Pass pass = stages_.pass(k_, stage);
    const auto& [reductions, stores] = pass;
    if (pass.empty()) return;
    // What the row knows is computed before the loop, which then finds it.
    std::set<TermId> seen;
    for (TermId id : reductions) prepare(k_.terms[id].a, seen);
    for (size_t i : stores) prepare(k_.stores[i].term, seen);

    accumulators_.clear();
    accumulator_types_.clear();
    for (TermId id : reductions) {
      accumulator_types_.push_back(accumulator_type(k_.terms[id]));
      accumulators_.push_back(identity(k_.terms[id].op, accumulator_types_.back()));
    }
    nest(k_.rows(), k_.sizes.size(), [&] {
      element_values_.clear();
      current_stage_ = stage;
      for (size_t i : stores) store(i);
      for (size_t i = 0; i < reductions.size(); ++i) {
        Term step = k_.terms[reductions[i]];
        std::string element = value(step.a);
        if (accumulator_types_[i] != step.type) element = w_.line("fpext float " + element + " to double");
        step.type = accumulator_types_[i];
        accumulators_[i] = scalar(w_, step, step.type, accumulators_[i], element, "");
      }
    });
    for (size_t i = 0; i < reductions.size(); ++i) {
      std::string total = accumulators_[i];
      if (accumulator_types_[i] != k_.terms[reductions[i]].type)
        total = w_.line("fptrunc double " + total + " to float");
      row_values_[reductions[i]] = total;
    }
    accumulators_.clear();
    accumulator_types_.clear();
  }

  Type accumulator_type(const Term& term) const {
    const bool is_long = known_row_ < 0 || known_row_ > kMaxFloatSum;
    return term.op == Op::reduce_sum && term.type == Type::f32 && is_long ? Type::f64 : term.type;
  }

  static std::string identity(Op op, Type type) {
    if (op == Op::reduce_sum) return constant(type, 0, 0);
    const double infinity = __builtin_inf();
    if (is_float(type)) return float_constant(type, op == Op::reduce_max ? -infinity : infinity);
    const int bits = type == Type::i64 ? 64 : type == Type::i32 ? 32 : type == Type::i16 ? 16 : 8;
    const bool largest = op == Op::reduce_max;
    if (type == Type::boolean) return largest ? "false" : "true";
    if (type == Type::u8) return largest ? "0" : "255";
    const uint64_t sign = uint64_t{1} << (bits - 1);
    return largest ? "-" + std::to_string(sign) : std::to_string(sign - 1);
  }

  void prepare(TermId id, std::set<TermId>& seen) {
    if (!seen.insert(id).second) return;
    if (!full_[id]) {
      value(id);
      return;
    }
    const Term& term = k_.terms[id];
    for (TermId operand : {term.a, term.b, term.c})
      if (operand != kNoTerm) prepare(operand, seen);
  }

  // -- Terms ------------------------------------------------------------------------------------------------
  std::string address(const std::string& base, const Access& access, bool whole) {
    std::string offset = "0";
    for (size_t d = 0; d < (whole ? k_.sizes.size() : k_.rows()); ++d) {
      const Extent& stride = access.strides[d];
      if (stride.is(0)) continue;
      const std::string at = inside(access, d);
      const std::string step = stride.is(1) ? at : w_.line("mul nsw i64 " + at + ", " + extent(stride));
      offset = offset == "0" ? step : w_.line("add nsw i64 " + offset + ", " + step);
    }
    const size_t size = element_size(access.dtype);
    return w_.line("getelementptr inbounds [" + std::to_string(size) + " x i8], ptr " + base + ", i64 " +
                   offset);
  }

  // The coordinate, or the nearest one that may be read: what is read there is not used.
  std::string inside(const Access& access, size_t d) {
    std::string at = index_[d];
    for (const Range& range : access.ranges) {
      if (range.dim != static_cast<int32_t>(d)) continue;
      at = w_.line("call i64 @llvm.smax.i64(i64 " + at + ", i64 " + std::to_string(range.low) + ")");
      at = w_.line("call i64 @llvm.smin.i64(i64 " + at + ", i64 " + std::to_string(range.high - 1) + ")");
    }
    return at;
  }

  std::string value(TermId id) {
    const bool is_row = k_.reduced > 0 && !full_[id];
    auto& values = is_row ? row_values_ : k_.reduced > 0 ? element_values_ : row_values_;
    if (const auto found = values.find(id); found != values.end()) return found->second;
    const Term& term = k_.terms[id];
    std::string made;
    const auto kept = kept_.find(id);
    if (kept != kept_.end() && kept_in_.contains(id) && kept_in_[id] != current_stage_) {
      made =
          w_.line("load " + std::string(llvm_type(term.type)) + ", ptr " + kept_address(kept->second, term));
    } else {
      made = compute(term);
      if (kept != kept_.end() && !is_row) {
        w_.statement("store " + std::string(llvm_type(term.type)) + " " + made + ", ptr " +
                     kept_address(kept->second, term));
        kept_in_[id] = current_stage_;
      }
    }
    return values[id] = made;
  }

  std::string kept_address(const std::string& base, const Term& term) {
    return w_.line("getelementptr inbounds " + std::string(llvm_type(term.type)) + ", ptr " + base +
                   ", i64 " + index_[k_.rows()]);
  }

  std::string compute(const Term& term) {
    if (term.op == Op::load) {
      const size_t number = static_cast<size_t>(term.integer);
      const Access& access = k_.loads[number];
      const bool whole = fused::is_whole(k_, access);
      return load_element(w_, access.dtype, address("%p" + std::to_string(number), access, whole));
    }
    if (term.op == Op::index) return index_[static_cast<size_t>(term.integer)];
    if (term.op == Op::row_size) {
      return w_.line("sitofp i64 " + row_size_ + " to " + std::string(llvm_type(term.type)));
    }
    const std::string a = term.a == kNoTerm ? "" : value(term.a);
    const std::string b = term.b == kNoTerm ? "" : value(term.b);
    const std::string c = term.c == kNoTerm ? "" : value(term.c);
    const Type from = term.a == kNoTerm ? term.type : k_.terms[term.a].type;
    return scalar(w_, term, from, a, b, c);
  }

  void store(size_t number) {
    const Store& store = k_.stores[number];
    const std::string element = value(store.term);
    const std::string base = "%p" + std::to_string(k_.loads.size() + number);
    const std::string place = address(base, store.access, is_whole(store));
    store_element(w_, store.access.dtype, place, element);
  }

  const Kernel& k_;
  const std::string name_;
  IrWriter w_;
  const Stages stages_;
  const std::vector<char>& full_;
  const std::vector<int>& stage_;
  int current_stage_ = 0;
  std::string row_size_;
  int64_t known_row_ = -1;
  std::vector<std::string> index_;  // by dimension: the register of the loop
  std::map<TermId, std::string> row_values_, element_values_;
  std::map<TermId, std::string> kept_;  // where values stay between stages
  std::map<TermId, int> kept_in_;       // the stage that computed them
  std::vector<std::string> accumulators_;
  std::vector<Type> accumulator_types_;
};

// NOLINTEND(performance-inefficient-string-concatenation)

}  // namespace

std::string llvm_text(const Kernel& kernel, const std::string& name) {
  return KernelWriter(kernel, name).write();
}

std::string llvm_prelude() { return math_functions(); }

}  // namespace stator::fused
