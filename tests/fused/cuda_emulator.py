"""Kernels for CUDA on the CPU: compiled as C++, with a fiber for each thread of a block.

`with emulated():` makes the backend `fused` write CUDA C++ for graphs on the CPU and run it here.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import stator
import torch
from stator.backends.fused import compiler

RUNTIME = r"""
#include <ucontext.h>
#include <cstdint>
#include <cstdlib>
#include <vector>

struct Place { int x; };
thread_local Place threadIdx, blockIdx;
thread_local uint64_t exchanged[1024];
namespace {
thread_local ucontext_t scheduler, fibers[1024];
thread_local bool done[1024];
thread_local void (*work)(void*);
thread_local void* argument;
std::vector<char>& stacks() { thread_local std::vector<char> all(1024 * 65536); return all; }
void enter() { work(argument); done[threadIdx.x] = true; swapcontext(&fibers[threadIdx.x], &scheduler); }
}
void stator_wait() { int own = threadIdx.x; swapcontext(&fibers[own], &scheduler); threadIdx.x = own; }
void stator_run_block(int block, int threads, bool waits, void (*body)(void*), void* arguments) {
  blockIdx.x = block;
  work = body;
  argument = arguments;
  if (!waits) {
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) body(arguments);
    return;
  }
  for (int i = 0; i < threads; ++i) {
    done[i] = false;
    getcontext(&fibers[i]);
    fibers[i].uc_stack.ss_sp = stacks().data() + i * 65536;
    fibers[i].uc_stack.ss_size = 65536;
    fibers[i].uc_link = nullptr;
    makecontext(&fibers[i], enter, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (int i = 0; i < threads; ++i) {
      if (done[i]) continue;
      any = true;
      threadIdx.x = i;
      swapcontext(&scheduler, &fibers[i]);
    }
  }
}
"""

HEADER = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <bit>
struct Place { int x; };
extern thread_local Place threadIdx, blockIdx;
extern thread_local uint64_t exchanged[1024];
void stator_wait();
void stator_run_block(int block, int threads, bool waits, void (*body)(void*), void* arguments);
#define __global__ static
#define __device__ static
#define __forceinline__ inline
#define __launch_bounds__(count)
#define __shared__ static thread_local
#define __align__(size) alignas(size)
#define __restrict__
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline void __syncthreads() { stator_wait(); }
template <class T> T __shfl_xor_sync(unsigned, T value, int apart) {
  const int own = threadIdx.x;
  std::memcpy(&exchanged[own], &value, sizeof value);
  stator_wait();
  T other;
  std::memcpy(&other, &exchanged[own ^ apart], sizeof other);
  stator_wait();
  return other;
}
"""

OWN_HALVES = r"""
static inline float stator_from_f16(unsigned short bits) { return (float)std::bit_cast<_Float16>(bits); }
static inline unsigned short stator_to_f16(float value) {
  return std::bit_cast<unsigned short>((_Float16)value);
}
"""


def available() -> bool:
    return shutil.which("g++") is not None


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="stator-cuda-emulator-"))
    (folder / "runtime.cpp").write_text(RUNTIME)
    _compile(folder / "runtime.cpp", [])
    ctypes.CDLL(str(folder / "runtime.so"), mode=ctypes.RTLD_GLOBAL)
    return folder


def _compile(source: Path, options: list[str]) -> None:
    command = ["g++", "-std=c++20", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", *options]
    subprocess.run([*command, str(source), "-o", str(source.with_suffix(".so"))], check=True)


@functools.cache
def _address(source: str) -> int:
    path = _folder() / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.cpp"
    path.write_text(source)
    _compile(path, [])
    address = ctypes.cast(ctypes.CDLL(str(path.with_suffix(".so"))).entry, ctypes.c_void_p).value
    assert address is not None
    return address


compiled = 0
"""Kernels that graphs use since the process began."""


def _kernel(
    prelude: str, text: str, threads: int, per_block: int, rows: list[str], addresses: int, parameters: int
) -> int:
    global compiled
    compiled += 1
    halves = prelude.index("__device__ __forceinline__ float stator_from_f16")
    values = [f"*(void**)(a + {i})" for i in range(addresses)]
    types = [
        each.rsplit(" ", 1)[0] for each in text[text.index("KERNEL(") + 7 : text.index(") {")].split(", ")
    ]
    given = [f"({type_})({value})" for type_, value in zip(types, values, strict=False)]
    given += [f"a[{addresses + i}]" for i in range(parameters)]
    names = "".join(f"  const int64_t s{i} = a[{addresses + i}];\n" for i in range(parameters))
    count = " * ".join(f"(int64_t){row}" for row in rows) or "1"
    waits = "true" if "__shfl_xor_sync" in text else "false"
    entry = f"""
static void body(void* arguments) {{
  const int64_t* a = (const int64_t*)arguments;
  KERNEL({", ".join(given)});
}}
extern "C" void entry(const int64_t* a, int64_t begin, int64_t) {{
  if (begin != 0) return;
{names}  const int64_t blocks = ({count} + {per_block} - 1) / {per_block};
  for (int64_t i = 0; i < blocks; ++i) stator_run_block((int)i, {threads}, {waits}, body, (void*)a);
}}
"""
    return _address(HEADER + prelude[:halves] + OWN_HALVES + text.replace('extern "C" ', "") + entry)


@contextlib.contextmanager
def emulated() -> Iterator[None]:
    before, threads = compiler.cuda_emulator, torch.get_num_threads()
    stator.reset()
    torch.set_num_threads(1)
    compiler.cuda_emulator = _kernel
    try:
        yield
    finally:
        compiler.cuda_emulator = before
        torch.set_num_threads(threads)
        stator.reset()
