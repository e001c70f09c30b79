"""Runs CPython's own tests plainly and interpreted by Stator, and compares them test by test."""
