"""Generators that CPython's evaluator began: their frames carry what it last left in them."""


def identity(value):
    return value


def produce():
    for i in range(6):
        yield abs(i) + identity(i)


def delegate():
    yield from produce()


begun = [produce(), delegate()]
for generator in begun:
    next(generator)
    next(generator)


def main():
    for generator in begun:
        print(next(generator), list(generator))
