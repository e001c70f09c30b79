"""A package in a package."""
