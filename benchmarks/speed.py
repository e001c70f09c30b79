"""benchmarks/speed.py: inference or training by eager code, `native`, `fused` and Inductor, side by side.

    python benchmarks/speed.py [--threads 1 2] [--backends native fused inductor] [--json FILE] [case…]
    python benchmarks/speed.py --device cuda [--dtype bfloat16]
    python benchmarks/speed.py --training [--device cuda --autocast]

On the CPU the models are tiny, on CUDA of their full size (speed_models.py). `+graphs` behind a backend is
`mode="reduce-overhead"`. On CUDA a cell is the time of ten calls and the wait for the device, divided by ten.
A call of --training is a step without its optimizer: gradients dropped, forward in training mode, a loss,
backward; the difference is that of the gradients, from the same random numbers (Inductor draws others).
With --autocast the forward runs in bfloat16 under autocast, and AdamW's step (of a learning rate of 0, so
that parameters stay) is part of the call.

Each cell is the best of several rounds, in ms a call; rounds of all backends take turns, so a busy machine is
unfair to none. With one thread it is the thread's processor time: other work on the machine does not count.
Compile times are of the first call, capture included, caches on disk empty: seconds that passed, and
seconds of processor time of this process (Inductor's compilers are others).
"""

import argparse
import functools
import gc
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from os import environ
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
CASES = ("bert", "gpt2", "vit", "llama", "mixtral", "convnext")
BACKENDS = ("native", "fused", "inductor")
TRAINING_CASES = ("mlp", "bert", "gpt2", "resnet")
CUDA_BACKENDS = ("native", "native+graphs", "fused+graphs", "inductor+graphs")
CUDA_TRAINING_CASES = ("bert", "gpt2", "resnet50")
CUDA_TRAINING_BACKENDS = ("native", "fused", "fused+graphs", "inductor", "inductor+graphs")


def program(name: str, device: str, dtype: torch.dtype) -> Any:
    import speed_cases

    torch.manual_seed(0)
    if device != "cpu":
        import speed_models

        made = speed_models.MODELS[name]()
        made.function.to(device, dtype)
        move = functools.partial(
            torch.utils._pytree.tree_map_only, torch.Tensor, lambda x: moved(x, device, dtype)
        )
        return made._replace(args=move(made.args), kwargs=move(dict(made.kwargs)))
    if name in speed_cases.CASES:
        return speed_cases.CASES[name].build()
    if name == "resnet":
        sizes = {"embedding_size": 16, "hidden_sizes": [16, 32, 64, 128], "depths": [2, 2, 2, 2]}
        image = {"pixel_values": torch.randn(2, 3, 64, 64)}
        return speed_cases.pretrained("ResNetForImageClassification", "ResNetConfig", sizes, image)
    options = {"hidden_sizes": [16, 32, 64, 128], "depths": [2, 2, 6, 2], "num_channels": 3}
    assert name == "convnext", name
    call = {"pixel_values": torch.randn(2, 3, 64, 64)}
    return speed_cases.pretrained("ConvNextModel", "ConvNextConfig", options, call)


def moved(tensor: torch.Tensor, device: str, dtype: torch.dtype) -> torch.Tensor:
    return tensor.to(device, dtype if tensor.is_floating_point() else tensor.dtype)


def compiled(backend: str, function: Callable[..., Any]) -> Callable[..., Any]:
    import stator

    name, _, graphs = backend.partition("+")
    mode = "reduce-overhead" if graphs else None
    if name == "inductor":
        torch._dynamo.reset()
        made: Callable[..., Any] = torch.compile(function, mode=mode)
        return made
    stator.reset()
    return stator.compile(function, backend=name, mode=mode)


def tensors(result: Any) -> list[torch.Tensor]:
    values = result.to_tuple() if hasattr(result, "to_tuple") else result
    return [leaf for leaf in torch.utils._pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def worst(result: Any, wanted: Any) -> float:
    """The greatest difference, as a part of the tensor's greatest value, or of a millionth of all.

    Some gradients are zero but for rounding: of the bias of keys, for one.
    """
    pairs = list(zip(tensors(result), tensors(wanted), strict=True))
    least = 1e-6 * max(float(b.abs().max()) for _, b in pairs) + 1e-30
    return max(
        float((a.double() - b.double()).abs().max() / b.double().abs().max().clamp_min(least))
        for a, b in pairs
    )


class TrainingStep:
    """Forward and backward of a model; gives its gradients."""

    def __init__(self, case: Any, device: str, autocast: bool, function: Any = None) -> None:
        self.case, self.function = case, case.function if function is None else function
        self.device, self.autocast = device, autocast
        self.parameters = list(case.function.train().parameters())
        self.optimizer = torch.optim.AdamW(self.parameters, lr=0.0)

    def __call__(self) -> Any:
        for parameter in self.parameters:
            parameter.grad = None
        with torch.autocast(self.device, torch.bfloat16, enabled=self.autocast):
            result = self.function(*self.case.args, **self.case.kwargs)
        torch.stack([t.float().square().mean() for t in tensors(result)]).sum().backward()
        if self.autocast:
            self.optimizer.step()
        return [p.grad for p in self.parameters if p.grad is not None]


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    backends, seconds = options.backends, options.seconds
    on_cuda = options.device != "cpu"
    case = program(name, options.device, getattr(torch, options.dtype))
    wait: Callable[[], None] = torch.cuda.synchronize if on_cuda else lambda: None
    row: dict[str, Any] = {"case": name, "threads": torch.get_num_threads(), "dtype": options.dtype}
    row |= {"ms": {}, "compile_s": {}, "compile_cpu_s": {}, "difference": {}}
    by_thread = torch.get_num_threads() == 1 and not on_cuda
    clock = time.thread_time if by_thread else time.perf_counter
    step = functools.partial(TrainingStep, case, options.device, options.autocast)
    plain: Callable[[], Any] = step() if options.training else case
    calls: dict[str, Callable[[], Any]] = {"eager": plain}
    with torch.set_grad_enabled(options.training):
        torch.manual_seed(1)
        wanted = plain()
        for backend in backends:
            start, cpu = time.perf_counter(), time.process_time()
            fn = compiled(backend, case.function)

            def call(fn: Callable[..., Any] = fn) -> Any:
                return fn(*case.args, **case.kwargs)

            if options.training:
                call = step(fn)
            torch.manual_seed(1)
            result = call()
            wait()
            row["compile_s"][backend] = time.perf_counter() - start
            row["compile_cpu_s"][backend] = time.process_time() - cpu
            row["difference"][backend] = worst(result, wanted)
            calls[backend] = call
        for backend, call in calls.items():
            for _ in range(4):
                torch.manual_seed(1)
                result = call()
            if backend != "eager":
                row["difference"][backend] = max(row["difference"][backend], worst(result, wanted))
        del result
        turns = 10 if on_cuda else 1
        best = dict.fromkeys(calls, float("inf"))
        gc.collect()
        end = time.perf_counter() + seconds * len(calls)
        while time.perf_counter() < end:
            for backend, call in calls.items():
                for _ in range(5):
                    wait()
                    start = clock()
                    for _ in range(turns):
                        call()
                    wait()
                    best[backend] = min(best[backend], (clock() - start) / turns)
    row["ms"] = {backend: each * 1e3 for backend, each in best.items()}
    return row


def table(rows: list[dict[str, Any]], backends: list[str]) -> str:
    names = ["eager", *backends]
    head = ["case", "threads", *(f"{n} ms" for n in names), *(f"{n} compile s (cpu)" for n in backends)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [row["case"], str(row["threads"]), *(f"{row['ms'][n]:.2f}" for n in names)]
        cells += [f"{row['compile_s'][n]:.2f} ({row['compile_cpu_s'][n]:.2f})" for n in backends]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--backends", nargs="*")
    parser.add_argument("--seconds", type=float, default=2.0, help="a backend and case")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    on_cuda = options.device != "cpu"
    cuda_backends = CUDA_TRAINING_BACKENDS if options.training else CUDA_BACKENDS
    options.backends = options.backends or list(cuda_backends if on_cuda else BACKENDS)
    everything = TRAINING_CASES if options.training else CASES
    if on_cuda:
        import speed_models

        options.threads = [torch.get_num_threads()]
        everything = CUDA_TRAINING_CASES if options.training else tuple(speed_models.MODELS)
    options.cases = options.cases or list(everything)
    warnings.filterwarnings("ignore")
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        environ["TORCHINDUCTOR_CACHE_DIR"] = cache
        environ["STATOR_CACHE"] = "0"
        for threads in options.threads:
            torch.set_num_threads(threads)
            for name in options.cases:
                try:
                    rows.append(measure(name, options))
                except ModuleNotFoundError as error:
                    print(f"{name} is skipped: {error}", file=sys.stderr)
                    continue
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    print(table(rows, options.backends))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
