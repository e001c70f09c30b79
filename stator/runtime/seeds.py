"""What nodes for `torch.manual_seed` and the state of random numbers run; see torch/replacements/seeds.h."""

import torch


def seed(number: int) -> tuple[()]:
    """Seed the generators of all devices, as the program does at this place."""
    torch.manual_seed(number)
    return ()


def state() -> torch.Tensor:
    """The state of torch's own generator."""
    return torch.default_generator.get_state()


def set_state(given: torch.Tensor) -> tuple[()]:
    """Put torch's own generator in this state."""
    torch.default_generator.set_state(given)
    return ()
