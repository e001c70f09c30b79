"""torch.distributions in captured code: one graph, the same numbers, and validation that does not break."""

from collections.abc import Callable

import pytest

import stator
import torch
from torch import distributions as D

PROGRAMS: dict[str, Callable[[torch.Tensor], object]] = {
    "normal": lambda x: D.Independent(D.Normal(x, 1.0), 1).log_prob(x),
    "bernoulli": lambda x: D.Bernoulli(logits=x).sample(),
    "uniform": lambda x: D.Uniform(0.0, 1.0).sample((3,)) + x.sum(),
    "dirichlet": lambda x: D.Dirichlet(x.exp()).log_prob(x.softmax(-1)),
    "categorical": lambda x: D.Categorical(logits=x).sample(),
    "entropy": lambda x: D.Categorical(probs=x.softmax(-1)).entropy(),
    "divergence": lambda x: D.kl_divergence(D.Normal(x, 1.0), D.Normal(0.0, 1.0)),
    "gamma": lambda x: D.Gamma(x.exp(), x.exp()).rsample(),
    "transformed": lambda x: D.TransformedDistribution(D.Normal(x, 1.0), [D.TanhTransform()]).rsample(),
    "beta": lambda x: D.Beta(x.exp(), x.exp()).log_prob(x.sigmoid()),
    "one_hot": lambda x: D.OneHotCategorical(logits=x).sample(),
    "mixture": lambda x: D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x, x.exp())).log_prob(x[:, 0]),
    "log_normal": lambda x: D.LogNormal(x, 1.0).rsample(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_distribution(name: str) -> None:
    program = PROGRAMS[name]
    stator.compile(program, backend="native")(torch.randn(4, 3))  # what torch keeps of its first use
    compiled, x = stator.compile(program, backend="native", fullgraph=True), torch.randn(4, 3)
    for seed in range(3):
        torch.manual_seed(seed)
        wanted, state = program(x), torch.get_rng_state()
        torch.manual_seed(seed)
        assert torch.equal(compiled(x), wanted)
        assert torch.equal(torch.get_rng_state(), state)
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]


def test_validation_of_the_users_own_still_breaks() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        if not (x > 0).all():
            raise ValueError("not positive")
        return D.Exponential(x).log_prob(x)

    compiled = stator.compile(program, backend="native")
    assert torch.equal(compiled(torch.ones(3)), program(torch.ones(3)))
    with pytest.raises(ValueError, match="not positive"):
        compiled(-torch.ones(3))


class LayerDrop(torch.nn.Module):
    def __init__(self, probability: float) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
        self.probability = probability

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            if self.training and torch.rand([]) < self.probability:
                continue
            x = layer(x)
        return x


@pytest.mark.parametrize("probability", [0.0, 1.0, 0.5])
def test_a_random_number_compared_with_what_it_never_passes(probability: float) -> None:
    model, x = LayerDrop(probability), torch.randn(2, 4)
    compiled = stator.compile(model, backend="native")
    for seed in range(4):
        torch.manual_seed(seed)
        wanted, state = model(x), torch.get_rng_state()
        torch.manual_seed(seed)
        assert torch.equal(compiled(x), wanted)
        assert torch.equal(torch.get_rng_state(), state)
    broken = stator.explain(model)(x).graph_break_count > 0
    assert broken == (probability == 0.5)


@pytest.mark.parametrize("compare", [torch.lt, torch.le, torch.gt, torch.ge])
@pytest.mark.parametrize("bound", [-0.5, 0.0, 1.0, 2.0])
def test_every_comparison_of_a_random_number(
    compare: Callable[[torch.Tensor, float], torch.Tensor], bound: float
) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if compare(torch.rand(1), bound) else x - 1

    compiled, x = stator.compile(program, backend="native"), torch.zeros(2)
    for _ in range(2):
        assert torch.equal(compiled(x), program(x))


def test_a_random_number_that_was_written_to_is_not_known() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        number = torch.rand([])
        number.view(1).add_(-5)
        return x + 1 if number < 0 else x - 1

    compiled, x = stator.compile(program, backend="native"), torch.zeros(2)
    for _ in range(2):
        assert torch.equal(compiled(x), program(x))
