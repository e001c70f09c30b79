"""An uncaught exception ends the process with the usual traceback and status."""


def main():
    def fail(n):
        if n == 0:
            raise ValueError("uncaught")
        fail(
            n - 1
        )

    try:
        fail(2)
    except ValueError as error:
        raise KeyError("second") from error
