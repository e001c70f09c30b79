"""tests/fuzz/argument_programs.py: functions that read, write and return tensor arguments; their gradients.

    python tests/fuzz/argument_programs.py --programs 1000 --seed 0 [--backend aot_eager]

What an argument is (a leaf, computed by the caller, a view, expanded) decides where a compiling backend may
write and where gradients go. Compared with eager code after each of five calls with changing sizes: results
and arguments, which of them share memory, strides, gradients of what the caller has computed them from.
Where eager code raises, an error is all that is asked for.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import seeded_programs

import torch
from torch import Tensor

SIZES = (4, 4, 6, 6, 5)

ARGUMENTS: dict[str, Callable[[Tensor], Tensor]] = {
    "leaf": lambda leaf: leaf,
    "without gradient": lambda leaf: leaf.detach(),
    "part without gradient": lambda leaf: leaf.detach()[:, :],
    "computed": lambda leaf: leaf * 2,
    "view": lambda leaf: (leaf * 2)[:, :],
    "turned": lambda leaf: (leaf * 1.5).t().contiguous().t(),
    "expanded": lambda leaf: (leaf[:1] * 2).expand(leaf.shape[0], 4),
}
STATEMENTS = (
    *("{a}.mul_({c})", "{a}.add_({b})", "{a}.relu_()", "{a}.clamp_(-1, 1)", "{a}.zero_()", "{a}.copy_({b})"),
    *("{a}[:, 1:].mul_(2)", "{a}[0] = {b}[1]", "{a}.data.mul_(2)", "with torch.no_grad(): {a}.add_(1)"),
    *("{v} = {a} * {b}", "{v} = {a} + 1", "{v} = {a}.sin()", "{v} = torch.relu({a})", "{v} = {a}.softmax(1)"),
    *("{v} = {a}[:, :]", "{v} = {a}.view(-1, 4)", "{v} = {a}.t().t()", "{v} = {a}.unsqueeze(0).squeeze(0)"),
    *("{v} = {a}.expand_as({b})", "{v} = {a}.clone()", "{v} = {a}.detach()", "{v} = {a}.cumsum(0)"),
    *("{v} = {a} @ torch.ones(4, 4)", "{v} = {a} * {a}.shape[0]", "{v} = torch.where({a} > 0, {a}, {b})"),
    *("{v} = torch.cat([{a}, {b}])[:{a}.shape[0]]", "{v} = {a}.sum(0, keepdim=True) + {b}"),
    "with torch.no_grad(): {v} = {a} * 2",
)


def program(seed: int) -> tuple[str, list[str]]:
    """Its text, and what its arguments are."""
    draw = random.Random(seed)
    count = draw.randint(1, 3)
    names = [f"x{i}" for i in range(count)]
    lines = []
    for i in range(draw.randint(1, 6)):
        statement = draw.choice(STATEMENTS)
        number = round(draw.uniform(-2, 2), 2)
        lines.append(statement.format(a=draw.choice(names), b=draw.choice(names), c=number, v=f"v{i}"))
        if "{v} =" in statement:
            names.append(f"v{i}")
    returned = draw.sample(names, min(len(names), draw.randint(1, 3)))
    body = "".join(f"    {line}\n" for line in [*lines, f"return [{', '.join(returned)}]"])
    kinds = [draw.choice(list(ARGUMENTS)) for _ in range(count)]
    return f"def f({', '.join(names[:count])}):\n{body}", kinds


def outcome(function: Callable[..., list[Tensor]], kinds: list[str], size: int, seed: int) -> Any:
    """None where it raises; otherwise what can be told apart exactly, and tensors to compare."""
    source = torch.Generator().manual_seed(seed)
    leaves = [torch.randn(size, 4, generator=source).requires_grad_() for _ in kinds]
    arguments = [ARGUMENTS[kind](leaf) for kind, leaf in zip(kinds, leaves, strict=True)]
    try:
        results = function(*arguments)
        sums = [each.square().sum() for each in results] + [(each * 3).sum() for each in arguments]
        with_history = [each for each in sums if each.requires_grad]
        if with_history:
            torch.stack(with_history).sum().backward()
    except RuntimeError:
        return None
    shared = [
        (one is other, one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr())
        for one in results
        for other in arguments
    ]
    looks = [(each.requires_grad, each.is_leaf, each.stride(), each.dtype) for each in results]
    tensors = [each.detach().clone() for each in [*results, *arguments]]
    return (shared, looks), tensors, [leaf.grad for leaf in leaves]


def is_close(left: Tensor | None, right: Tensor | None) -> bool:
    if left is None or right is None:
        return left is right
    return torch.allclose(left, right, rtol=1e-4, atol=1e-5, equal_nan=True)


def difference(seed: int, backend: Any) -> str | None:
    """Where the captured program differs, or None."""
    import stator

    text, kinds = program(seed)
    space: dict[str, Any] = {"torch": torch}
    exec(text, space)
    compiled = stator.compile(space["f"], backend=backend)
    for call, size in enumerate(SIZES):
        wanted = outcome(space["f"], kinds, size, call)
        found = outcome(compiled, kinds, size, call)
        if wanted is None and found is None:
            continue
        where = f"seed {seed}, call {call}, arguments {kinds}\n{text}"
        if wanted is None or found is None:
            return f"{where}one of both raises: eager {wanted is None}, captured {found is None}"
        if wanted[0] != found[0]:
            return f"{where}{wanted[0]}\n{found[0]}"
        for of in (1, 2):
            if not all(map(is_close, wanted[of], found[of])):
                return f"{where}{('', 'tensors', 'gradients')[of]}: {wanted[of]}\n{found[of]}"
    return None


if __name__ == "__main__":
    sys.exit(seeded_programs.run(__doc__, difference))
