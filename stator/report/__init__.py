"""The page that `explain(...).html(path)` and `python -m stator report` write."""
