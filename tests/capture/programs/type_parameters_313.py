"""Syntax that came with 3.13: defaults of type parameters."""


def case_defaults(log):
    class Box[T = int, **P = [bytes]]:
        pass

    class Many[*Ts = *tuple[str, ...]]:
        pass

    log.append([repr(p.__default__) for p in Many.__type_params__])

    log.append([repr(p.__default__) for p in Box.__type_params__])

    def f[T = undefined](x: T):
        return x

    log.append(f(1))
    log.append(f.__type_params__[0].has_default())
    return f.__type_params__[0].__default__


def case_static_attributes(log):
    class A:
        def f(self):
            self.x = 1
            self.y = 2

    log.append(sorted(A.__static_attributes__))
    return A.__firstlineno__
