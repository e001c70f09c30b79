// bindings/capture/report.cpp: captures and the reasons for which there are none, as Python objects.
#include "bindings/capture/report.h"

#include <algorithm>
#include <unordered_map>

#include "capture/engine/engine.h"
#include "capture/interpreter/interpreter.h"

namespace stator {

Ref<> unicode(const std::string& text) {
  return Ref<>::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

PyObject* strings(const std::vector<std::string>& texts) {
  auto list = Ref<>::steal(PyList_New(0));
  for (const std::string& text : texts) {
    const Ref<> item = unicode(text);
    if (!list || !item || PyList_Append(list.get(), item.get()) < 0) return nullptr;
  }
  return list.release();
}

namespace {

// (file, line, function)
Ref<> frame_row(const UserFrame& frame) {
  return Ref<>::steal(Py_BuildValue("(sis)", frame.file.c_str(), frame.line, frame.function.c_str()));
}

Ref<> frame_rows(const std::vector<UserFrame>& frames) {
  auto list = Ref<>::steal(PyList_New(0));
  for (const UserFrame& frame : frames) {
    const Ref<> row = frame_row(frame);
    if (!list || !row || PyList_Append(list.get(), row.get()) < 0) return {};
  }
  return list;
}

// The user's stack for each node; nodes of one place share it.
Ref<> node_stacks(const Entry& entry) {
  std::unordered_map<LineId, Ref<>> known;
  auto list = Ref<>::steal(PyList_New(0));
  for (const LineId line : entry.node_lines()) {
    Ref<>& stack = known[line];
    if (!stack) stack = frame_rows(entry.stack_of(line));
    if (!list || !stack || PyList_Append(list.get(), stack.get()) < 0) return {};
  }
  return list;
}

// Where the capture begins: None for a C function.
Ref<> beginning(const Entry& entry, int line) {
  if (entry.defined() == LineId::kNone) return Ref<>::share(Py_None);
  UserFrame frame = entry.stack_of(entry.defined()).back();
  if (line > 0) frame.line = line;
  return frame_row(frame);
}

int line_of(PyCodeObject* code, ptrdiff_t unit) {
  return PyCode_Addr2Line(code, static_cast<int>(unit) * static_cast<int>(sizeof(cpython::Unit)));
}

// The break that it ends before: None where it goes to the end of the function.
Ref<> ending(const Entry& entry) {
  if (!entry.snapshot()) return Ref<>::share(Py_None);
  PyCodeObject* code = entry.snapshot()->code();
  return Ref<>::steal(
      Py_BuildValue("(OiO)", code->co_filename, line_of(code, entry.snapshot()->unit()), code->co_name));
}

}  // namespace

PyObject* entry_row(const Entry& entry, int line) {
  auto guards = Ref<>::steal(strings(entry.guards()));
  const Ref<> places = frame_rows(entry.guard_places()), stacks = node_stacks(entry);
  const Ref<> begins = beginning(entry, line), ends = ending(entry);
  if (!guards || !places || !stacks || !begins || !ends) return nullptr;
  PyObject* module = entry.graph_module();
  PyObject* told = !entry.told_captured ? Py_None : *entry.told_captured ? Py_True : Py_False;
  return Py_BuildValue("{s:O,s:O,s:n,s:s,s:n,s:K,s:d,s:O,s:O,s:O,s:O,s:O}", "guards", guards.get(),
                       "guard_places", places.get(), "words", static_cast<Py_ssize_t>(entry.words()), "graph",
                       entry.graph_text().c_str(), "nodes", static_cast<Py_ssize_t>(entry.node_count()),
                       "hits", static_cast<unsigned long long>(entry.hits), "seconds", entry.seconds,
                       "graph_module", module != nullptr ? module : Py_None, "told_captured", told,
                       "node_stacks", stacks.get(), "begins", begins.get(), "ends", ends.get());
}

PyObject* stop_rows(const std::vector<CaptureStop>& stops) {
  auto list = Ref<>::steal(PyList_New(0));
  for (const CaptureStop& stop : stops) {
    const BreakReason& why = reason(*stop.code);
    const Ref<> stack = frame_rows(stop.stack);
    if (!stack) return nullptr;
    auto row =
        Ref<>::steal(Py_BuildValue("{s:s,s:s,s:s,s:s,s:O}", "code", why.code, "message", why.message, "hint",
                                   why.hint, "detail", stop.detail.c_str(), "stack", stack.get()));
    if (!list || !row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

std::vector<CaptureStop> all_stops(const CaptureCache& cache) {
  std::vector<CaptureStop> all = cache.breaks();
  all.insert(all.end(), cache.stops().begin(), cache.stops().end());
  return all;
}

namespace {

// The line of the instruction that a segment begins at; 0 where it is not known any more.
int line_of_segment(PyCodeObject* code, size_t instruction) {
  CodeState* state = Engine::get().code_state(code);
  const DecodedCode* found = state != nullptr ? decoded(*state, code) : nullptr;
  if (found == nullptr || instruction >= found->instructions.size()) return 0;
  return line_of(code, found->instructions[instruction].begin() - found->start);
}

// What was captured of one function and of parts of it.
struct CalleeReport {
  std::vector<CaptureStop> stops;
  std::vector<std::string> misses;
  Ref<> entries = Ref<>::steal(PyList_New(0));
  uint64_t hits = 0;

  // False with a Python error set.
  bool add(const CaptureCache& cache, int line) {
    for (CaptureStop& stop : all_stops(cache)) stops.push_back(std::move(stop));
    misses.insert(misses.end(), cache.misses().begin(), cache.misses().end());
    for (const auto& serving : cache.entries()) {
      hits += serving.entry->hits;
      auto row = Ref<>::steal(entry_row(*serving.entry, line));
      if (!entries || !row || PyList_Append(entries.get(), row.get()) < 0) return false;
    }
    return true;
  }
};

Ref<> callee_row(const CalleeCaptures::OfCode& of) {
  const Ref<> kept = Ref<>::share(PyWeakref_GET_OBJECT(of.code.get()));  // None: the code is gone
  auto* code = kept.get() != Py_None ? reinterpret_cast<PyCodeObject*>(kept.get()) : nullptr;
  CalleeReport report;
  if (!report.add(of.cache, 0)) return {};
  for (const auto& [instruction, cache] : of.segments) {
    if (!report.add(cache, code != nullptr ? line_of_segment(code, instruction) : 0)) return {};
  }
  std::vector<std::string> texts;
  for (const CaptureStop& stop : report.stops) texts.push_back(text_of(stop));
  auto breaks = Ref<>::steal(strings(texts)), stops = Ref<>::steal(stop_rows(report.stops)),
       misses = Ref<>::steal(strings(report.misses));
  if (!breaks || !stops || !misses) return {};
  return Ref<>::steal(Py_BuildValue(
      "{s:s,s:O,s:i,s:n,s:K,s:O,s:O,s:O,s:O,s:O}", "name", of.name.c_str(), "file",
      code != nullptr ? code->co_filename : Py_None, "line", code != nullptr ? code->co_firstlineno : 0,
      "captures", PyList_GET_SIZE(report.entries.get()), "hits", static_cast<unsigned long long>(report.hits),
      "breaks", breaks.get(), "entries", report.entries.get(), "stops", stops.get(), "misses", misses.get(),
      "left_to_python", of.left_to_python() ? Py_True : Py_False));
}

}  // namespace

PyObject* callee_rows(const CalleeCaptures& callees) {
  auto list = Ref<>::steal(PyList_New(0));
  if (!list) return nullptr;
  for (const auto& each : callees.codes()) {
    const Ref<> row = callee_row(*each.second);
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

}  // namespace stator
