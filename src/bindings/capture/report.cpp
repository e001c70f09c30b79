// bindings/capture/report.cpp: captures and the reasons for which there are none, as Python objects.
#include "bindings/capture/report.h"

#include <algorithm>

namespace stator {

PyObject* strings(const std::vector<std::string>& texts) {
  auto list = Ref<>::steal(PyList_New(0));
  for (const std::string& text : texts) {
    auto item =
        Ref<>::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    if (!list || !item || PyList_Append(list.get(), item.get()) < 0) return nullptr;
  }
  return list.release();
}

std::string text_of(const CaptureStop& stop) {
  std::string text = reason(*stop.code).code;
  if (!stop.detail.empty()) text += ": " + stop.detail;
  if (!stop.not_kept.empty()) text += "; before it: " + stop.not_kept;
  if (!stop.stack.empty())
    text += " (" + stop.stack.back().file + ":" + std::to_string(stop.stack.back().line) + ")";
  return text;
}

namespace {

// As it stands in the file; empty where it cannot be read.
std::string source_line(const UserFrame& frame) {
  auto linecache = Ref<>::steal(PyImport_ImportModule("linecache"));
  auto line = Ref<>::steal(
      linecache ? PyObject_CallMethod(linecache.get(), "getline", "si", frame.file.c_str(), frame.line)
                : nullptr);
  const char* text = line ? PyUnicode_AsUTF8(line.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return {};
  }
  std::string trimmed = text;
  trimmed.erase(0, trimmed.find_first_not_of(" \t"));
  trimmed.erase(trimmed.find_last_not_of(" \t\n") + 1);
  return trimmed;
}

}  // namespace

const UserFrame* own_frame(const CaptureStop& stop) {
  const auto is_own = [](const UserFrame& frame) {
    return frame.file.find("/lib/python3") == std::string::npos;
  };
  const auto found = std::find_if(stop.stack.rbegin(), stop.stack.rend(), is_own);
  return found != stop.stack.rend() ? &*found : nullptr;
}

std::string stack_text(const CaptureStop& stop) {
  std::string text;
  for (const UserFrame& frame : stop.stack) {
    text += "\n  File \"" + frame.file + "\", line " + std::to_string(frame.line) + ", in " + frame.function;
    if (const std::string line = source_line(frame); !line.empty()) text += "\n    " + line;
  }
  return text;
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

}  // namespace

PyObject* entry_row(const Entry& entry) {
  auto guards = Ref<>::steal(strings(entry.guards()));
  const Ref<> places = frame_rows(entry.guard_places());
  if (!guards || !places) return nullptr;
  PyObject* module = entry.graph_module();
  PyObject* told = !entry.told_captured ? Py_None : *entry.told_captured ? Py_True : Py_False;
  return Py_BuildValue("{s:O,s:O,s:n,s:s,s:n,s:K,s:d,s:O,s:O}", "guards", guards.get(), "guard_places",
                       places.get(), "words", static_cast<Py_ssize_t>(entry.words()), "graph",
                       entry.graph_text().c_str(), "nodes", static_cast<Py_ssize_t>(entry.node_count()),
                       "hits", static_cast<unsigned long long>(entry.hits), "seconds", entry.seconds,
                       "graph_module", module != nullptr ? module : Py_None, "told_captured", told);
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

PyObject* callee_rows(const CalleeCaptures& callees) {
  auto list = Ref<>::steal(PyList_New(0));
  if (!list) return nullptr;
  for (const auto& [code, of] : callees.codes()) {
    std::vector<const CaptureCache*> caches{&of->cache};
    for (const auto& [instruction, cache] : of->segments) caches.push_back(&cache);
    std::vector<std::string> texts;
    std::vector<CaptureStop> all;
    uint64_t hits = 0;
    auto entries = Ref<>::steal(PyList_New(0));
    if (!entries) return nullptr;
    for (const CaptureCache* cache : caches) {
      for (CaptureStop& stop : all_stops(*cache)) {
        texts.push_back(text_of(stop));
        all.push_back(std::move(stop));
      }
      for (const auto& serving : cache->entries()) {
        hits += serving.entry->hits;
        auto row = Ref<>::steal(entry_row(*serving.entry));
        if (!row || PyList_Append(entries.get(), row.get()) < 0) return nullptr;
      }
    }
    auto breaks = Ref<>::steal(strings(texts));
    auto stops = Ref<>::steal(stop_rows(all));
    if (!breaks || !stops) return nullptr;
    auto row = Ref<>::steal(Py_BuildValue(
        "{s:s,s:n,s:K,s:O,s:O,s:O,s:O}", "name", of->name.c_str(), "captures", PyList_GET_SIZE(entries.get()),
        "hits", static_cast<unsigned long long>(hits), "breaks", breaks.get(), "entries", entries.get(),
        "stops", stops.get(), "left_to_python", of->left_to_python ? Py_True : Py_False));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

}  // namespace stator
