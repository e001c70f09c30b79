"""tests/fuzz/unused_result_programs.py: functions with breaks and results that nobody differentiates.

    python tests/fuzz/unused_result_programs.py --programs 1000 --seed 0 [--backend aot_eager]

What a function computes and does not use again is a result of a graph when the function breaks, and may have
an infinite derivative. Its gradient is nothing in eager code, not zero. Compared with eager code on each of
five calls: gradients of what some of the results depend on, and of what others do when the graph is kept.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import seeded_programs
from comparison import near

import torch
from torch import Tensor

SIZES = (4, 4, 6, 6, 5)

SAFE = (
    *("{a} * {b}", "{a} + {b}", "{a}.sin()", "{a} * {c}", "{a}.t().t()", "{a}[:, :]", "{a}.relu()", "-{a}"),
    *(
        "torch.stack([{a}, {b}]).sum(0)",
        "{a}.softmax(1)",
        "{a} * {a}.shape[0]",
        "{a}.cumsum(0)",
        "{a}.detach()",
    ),
    *(
        "{a}.sum(0, keepdim=True) + {b}",
        "torch.where({a} > 0, {a}, {b})",
        "{a}.unbind(1)[1].unsqueeze(1) + {b}",
    ),
    "torch.cat([{a}, {b}]).split({a}.shape[0])[1]",
)
STEEP = (  # infinite where the operand is 0, and it is
    *("({a} * 0).sqrt()", "({a} - {a}).norm()", "({a} * 0).abs() ** 0.5", "1 / ({a} * 0)", "({a} * 0).log()"),
    *("torch.acos({a} * 0 + 1)", "{a}[:1, :1].std()", "({a} * 0).pow(-1)", "{b} / ({a} - {a})"),
    *(
        "torch.stack([{a} * 0, {b}]).sqrt()",
        "({a} * 0).sqrt().sum() + {b}",
        "torch.linalg.vector_norm({a} * 0, 0.5)",
    ),
    *("({a} * 0).unbind(1)[0].sqrt()", "torch.cat([({a} * 0).sqrt(), {b}])"),
)
BREAKS = (
    *("torch.unique({a}.detach())", 'print(end="")', "{a}.detach().tolist()", "outside({a})"),
    *("if {a}.sum() > 0: pass", "del {v}", "locals()"),
)
WRITTEN = "modified by an inplace operation"
"""AOT autograd unpacks all that its backward may read, also what only results without a gradient need."""
WRITES = ("{a}.mul_({c})", "{a}[:, :1] = 0", "x0.mul_(1.5)")


def outside(value: Tensor) -> None:
    """Reads what its caller has in its variables."""
    torch._dynamo.graph_break()
    assert any(each is value for each in sys._getframe(1).f_locals.values())


def program(seed: int) -> str:
    draw = random.Random(seed)
    arguments = [f"x{i}" for i in range(draw.randint(1, 3))]
    lines = ["x0 = x0 * 1"] if draw.random() < 0.5 else []
    names, steep = list(arguments), []
    for i in range(draw.randint(3, 10)):
        kind = draw.choices((SAFE, STEEP, BREAKS, WRITES), (4, 2, 2, lines[:1] == ["x0 = x0 * 1"]))[0]
        statement = draw.choice(kind)
        values = {"a": draw.choice(names), "b": draw.choice(names), "c": draw.choice((2, -0.5, 3))}
        if kind in (SAFE, STEEP):
            lines.append(f"v{i} = {statement.format(**values)}")
            (names if kind is SAFE else steep).append(f"v{i}")
        elif "{v}" not in statement:
            lines.append(statement.format(**values))
        elif steep:
            lines.append(statement.format(v=steep.pop()))
    results = draw.sample(names + steep, draw.randint(1, len(names + steep)))
    lines.append(f"return [{', '.join(results)}]")
    return f"def f({', '.join(arguments)}):\n" + "".join(f"    {line}\n" for line in lines)


def gradients(function: Callable[..., list[Tensor]], size: int, seed: int) -> Any:
    """Its words where it raises."""
    draw = random.Random(seed)
    source = torch.Generator().manual_seed(seed)
    leaves = [torch.randn(size, 4, generator=source).requires_grad_() for _ in range(3)]
    found: list[Tensor | None] = []
    try:
        results = function(*leaves[: function.__code__.co_argcount])
        kept = [each for each in results if each.requires_grad]
        while kept:
            some = draw.sample(kept, draw.randint(1, len(kept)))
            kept = [each for each in kept if not any(each is one for one in some)]
            sums = torch.stack([(each * 2).sum() for each in some]).sum()
            if draw.random() < 0.3:
                found += torch.autograd.grad(sums, leaves, retain_graph=True, allow_unused=True)
            else:
                for each in leaves:  # eager code may accumulate into gradients that share memory
                    each.grad = None
                sums.backward(retain_graph=bool(kept))
                found += [None if each.grad is None else each.grad.clone() for each in leaves]
    except RuntimeError as error:
        return str(error)
    return [each.detach().clone() for each in results], found


def difference(seed: int, backend: Any) -> str | None:
    """Where the captured program differs, or None."""
    import stator

    text = program(seed)
    space: dict[str, Any] = {"torch": torch, "outside": outside}
    exec(text, space)
    compiled = stator.compile(space["f"], backend=backend)
    compiled.__code__ = space["f"].__code__
    for call, size in enumerate(SIZES):
        wanted = gradients(space["f"], size, call)
        found = gradients(compiled, size, call)
        where = f"seed {seed}, call {call}\n{text}"
        if isinstance(found, str) and WRITTEN in found:
            continue
        if isinstance(wanted, str) or isinstance(found, str):
            if type(wanted) is not type(found):
                return f"{where}one of both raises: eager {wanted}, captured {found}"
            continue
        for of in (0, 1):
            if not near(found[of], wanted[of], rtol=1e-4, atol=1e-5):
                return f"{where}{('results', 'gradients')[of]}: {wanted[of]}\n{found[of]}"
    return None


if __name__ == "__main__":
    sys.exit(seeded_programs.run(__doc__, difference))
