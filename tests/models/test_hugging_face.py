"""A fixed selection of Hugging Face architectures; `make models` runs them all. Needs transformers."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("transformers")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "benchmarks")]

from models import examine, is_whole  # noqa: E402
from speed_cases import CASES  # noqa: E402

import stator  # noqa: E402
import torch  # noqa: E402
from stator.support import load_torch_extension  # noqa: E402

load_torch_extension()
import stator._torch as st  # noqa: E402


@pytest.mark.parametrize(
    "name", ["bert", "llama_cache", "t5", "vit", "mixtral", "resnet", "clip", "patchtst"]
)
def test_architecture(name: str) -> None:
    row = examine(name, "cpu")
    assert row["equal"]
    assert is_whole(row), row["breaks"]
    if "training" in row:
        # Told that it is compiled, transformers computes with other kernels, in eager code too.
        assert row["training"]["equal" if not any(row["training"]["told"]) else "as_told"]
        assert row["training"]["breaks"] == []


SPEED_CASES = "mlp bert gpt2 llama llama_cache qwen_decode vit t5 whisper mixtral guard_depth sgd1000 adam200"


@pytest.mark.parametrize("name", SPEED_CASES.split())
def test_speed_cases_need_no_dispatched_meta_kernel(name: str) -> None:
    """Nor any other Python code to learn shapes: the first such kernel costs a process 0.9 s."""
    torch.manual_seed(0)
    program = CASES[name].build()
    program()  # what torch loads when it is first used
    st.clear_memo()
    before = st.shape_counters()
    compiled = stator.compile(program.function, backend="empty")
    with torch.set_grad_enabled(program.grad):
        compiled(*program.args, **program.kwargs)
    stator.reset()
    after = st.shape_counters()
    assert after["rule_calls"] > before["rule_calls"]
    assert after["dispatched_meta_calls"] == before["dispatched_meta_calls"]


def test_gradient_checkpointing() -> None:
    """The layers are in the one graph, and backward computes them once more."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    results = []
    for compiles in (False, True):
        torch.manual_seed(0)
        model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4, attention_dropout=0.1))
        model.gradient_checkpointing_enable()
        model.train()
        run = stator.compile(model, backend="native", fullgraph=True) if compiles else model
        tokens = torch.randint(0, 64, (2, 9))
        loss = run(input_ids=tokens, labels=tokens).loss
        loss.backward()
        results.append([loss.detach(), torch.rand(2)] + [weight.grad for weight in model.parameters()])
    stator.reset()
    assert all(map(torch.equal, *results))
