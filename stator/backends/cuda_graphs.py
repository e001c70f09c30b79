"""Recording of CUDA graphs (called from src/backends/cuda_graphs/recorder.cpp)."""

import gc
import logging
from collections.abc import Callable
from typing import Any

import torch

log = logging.getLogger("stator.cuda_graphs")

counts = {"recorded": 0, "failed": 0}
"""Since the process began: graphs recorded, and recordings that failed."""


class Recorder:
    """Records work of one program on one device, in a pool of memory of its own."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.pool = torch.cuda.graph_pool_handle()
        self.last: Any = None
        self._is_recorded: Callable[[], bool] = vars(torch._C)["_cuda_isCurrentStreamCapturing"]

    def record(self, work: Callable[[], None], failed: Callable[[], bool]) -> Callable[[], None]:
        """A function that does again what `work` does on the device. `failed()`: `work` threw, in C++."""
        graph = torch.cuda.CUDAGraph()
        current = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(current)
        collects = gc.isenabled()
        gc.disable()  # a tensor that dies now would be a part of the recording
        try:
            with torch.cuda.stream(self.stream):
                # Other threads may go on using the device.
                graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
                try:
                    work()
                finally:
                    self._end(graph)
        except BaseException:
            counts["failed"] += 1
            if not failed():  # else the reason is that of `work`
                raise
        finally:
            if collects:
                gc.enable()
        current.wait_stream(self.stream)
        counts["recorded"] += not failed()
        return graph.replay

    def _end(self, graph: Any) -> None:
        try:
            graph.capture_end()
        except BaseException:
            # The allocator still takes memory from the pool; what it took stays there.
            end = vars(torch._C).get("_cuda_endAllocateToPool")
            if end is not None:
                try:
                    end(self.device, self.pool)
                except RuntimeError as error:
                    log.debug("the pool was left before: %s", error)
            self.pool = torch.cuda.graph_pool_handle()
            # The generator takes itself for recorded still; its copy does not.
            generator = torch.cuda.default_generators[self.device]
            generator.graphsafe_set_state(generator.clone_state())
            raise

    def is_recorded(self) -> bool:
        return self._is_recorded()

    def follow_last_replay(self) -> None:
        current = torch.cuda.current_stream(self.device)
        if self.last is not None and self.last != current:
            current.wait_stream(self.last)
        self.last = current
