"""The first call of stator.compile in a process, in places where torch is in the middle of something."""

import subprocess
import sys

import pytest

PROGRAMS = {
    "under a dispatch mode that compiles": """
from torch.utils._python_dispatch import TorchDispatchMode

class Compiles(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return stator.compile(lambda *args: function(*args, **(kwargs or {})), backend="eager")(*args)

with Compiles():
    compiled = stator.compile(lambda x: x + 1, backend="eager")
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
""",
    "modules that TorchDynamo tags when they are made": """
import torch._dynamo
torch._dynamo.mutation_guard.install_generation_tagging_init()

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))

    def forward(self, x):
        return self.layers[:-1](x)

model, x = Model(), torch.ones(1, 2)
compiled = stator.compile(model, backend="eager", fullgraph=True)
assert torch.equal(compiled(x), model(x)) and torch.equal(compiled(x), model(x))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    program = "import stator\nimport torch\n" + PROGRAMS[name]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
