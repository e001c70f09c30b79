"""Captured graphs as torch.fx graph modules."""
