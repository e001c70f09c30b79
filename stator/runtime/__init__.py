"""Python functions that captured programs call while they run."""
