// capture/engine/overflow_stack.cpp: stretches of memory that serve as native stack.
//
// A segment is entered by a call that moves the stack pointer, and left by its return: what is below it is
// unwound and inspected (debuggers, profilers) through the frame pointer as on one stack.
#include "capture/engine/overflow_stack.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "capture/cpython/python.h"
#include "capture/engine/engine.h"
#include "capture/engine/native_stack.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

// Calls body(argument) with the stack pointer at `top`, a multiple of 16.
extern "C" __attribute__((visibility("hidden"))) void stator_call_on_stack(void* argument,
                                                                           void (*body)(void*), void* top);
#if defined(__x86_64__)
#define STATOR_HAS_SEGMENTS 1
asm(R"(
  .text
  .globl stator_call_on_stack
  .hidden stator_call_on_stack
  .type stator_call_on_stack, @function
stator_call_on_stack:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdx, %rsp
  callq *%rsi
  movq %rbp, %rsp
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size stator_call_on_stack, .-stator_call_on_stack
)");
#elif defined(__aarch64__)
#define STATOR_HAS_SEGMENTS 1
asm(R"(
  .text
  .globl stator_call_on_stack
  .hidden stator_call_on_stack
  .type stator_call_on_stack, %function
stator_call_on_stack:
  .cfi_startproc
  hint #25
  .cfi_negate_ra_state
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  .cfi_def_cfa_register x29
  mov sp, x2
  blr x1
  mov sp, x29
  ldp x29, x30, [sp], #16
  .cfi_def_cfa sp, 0
  .cfi_restore x29
  .cfi_restore x30
  hint #29
  .cfi_negate_ra_state
  ret
  .cfi_endproc
  .size stator_call_on_stack, .-stator_call_on_stack
)");
#else
#define STATOR_HAS_SEGMENTS 0
#endif

namespace stator {
namespace {

constexpr size_t kSegmentBytes = size_t{4} << 20;
constexpr size_t kGuardBytes = size_t{64} << 10;  // below a segment: running into it is a fault, not a write
// A gigabyte: a limit that asks for more is one that CPython itself would die of.
constexpr int kMostSegments = 256;

class Segment {
 public:
  Segment() {
    void* const memory = mmap(nullptr, kGuardBytes + kSegmentBytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    memory_ = static_cast<char*>(memory);
    if (mprotect(bottom(), kSegmentBytes, PROT_READ | PROT_WRITE) != 0) release();
  }
  Segment(Segment&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  Segment& operator=(Segment&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() { release(); }

  static Segment none() { return Segment(nullptr); }
  explicit operator bool() const { return memory_ != nullptr; }
  char* bottom() const { return memory_ + kGuardBytes; }
  char* top() const { return bottom() + kSegmentBytes; }

 private:
  explicit Segment(std::nullptr_t) {}
  void release() {
    if (memory_ != nullptr) munmap(memory_, kGuardBytes + kSegmentBytes);
    memory_ = nullptr;
  }

  char* memory_ = nullptr;
};

// A program that turns round at the end of a stack, call after call, is given the same segment each time.
thread_local Segment spare = Segment::none();
thread_local int in_use = 0;

// Greenlets copy what lies between two addresses of one stack.
bool stack_is_copied() { return PyDict_GetItemString(PyImport_GetModuleDict(), "greenlet") != nullptr; }

struct Visit {
  void (*body)(void*);
  void* argument;
  const void* from_bottom = nullptr;  // of the stack that is left meanwhile
  size_t from_size = 0;
};

void run_visit(void* pointer) {
  auto& visit = *static_cast<Visit*>(pointer);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &visit.from_bottom, &visit.from_size);
#endif
  visit.body(visit.argument);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(nullptr, visit.from_bottom, visit.from_size);
#endif
}

}  // namespace

bool run_on_segment(void (*body)(void*), void* argument) noexcept {
  if (STATOR_HAS_SEGMENTS == 0 || in_use == kMostSegments || stack_is_copied()) return false;
  Segment segment = spare ? std::exchange(spare, Segment::none()) : Segment();
  if (!segment) return false;
  const uintptr_t outer =
      thread_context.change_stack_reserve(reinterpret_cast<uintptr_t>(segment.bottom()) + kStackReserveBytes);
  in_use++;
  Visit visit{body, argument};
#if STATOR_HAS_SEGMENTS
#ifdef __SANITIZE_ADDRESS__
  void* own_frames = nullptr;
  __sanitizer_start_switch_fiber(&own_frames, segment.bottom(), kSegmentBytes);
#endif
  stator_call_on_stack(&visit, &run_visit, segment.top());
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(own_frames, nullptr, nullptr);
#endif
#endif
  in_use--;
  thread_context.change_stack_reserve(outer);
  spare = std::move(segment);
  return true;
}

}  // namespace stator
