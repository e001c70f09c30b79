"""Memory errors and huge values raise; they do not end the process."""


def main():
    for make in (lambda: [0] * (1 << 62), lambda: "x" * (1 << 62), lambda: bytearray(1 << 60), lambda: range(1 << 70)[1 << 65]):
        try:
            print(type(make()))
        except (MemoryError, OverflowError) as error:
            print(type(error).__name__, error)
