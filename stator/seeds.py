"""What a node for `torch.manual_seed` runs; see src/torch/domain/seeds.h."""

import torch


def seed(number: int) -> tuple[()]:
    """Seed the generators of all devices, as the program does at this place."""
    torch.manual_seed(number)
    return ()
