"""Exception groups and except*."""


def case_star(log):
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), KeyError(3)])
    except* ValueError as group:
        log.append(repr(group))
    except* (TypeError, KeyError) as group:
        log.append(repr(group))
    else:
        log.append("never")
    finally:
        log.append("finally")


def case_rest_is_raised(log):
    try:
        raise ExceptionGroup("g", [ValueError(1), ExceptionGroup("inner", [TypeError(2), ValueError(3)])])
    except* ValueError as group:
        log.append((repr(group), [repr(e) for e in group.exceptions]))


def case_naked_exception(log):
    try:
        raise ValueError("naked")
    except* ValueError as group:
        log.append((type(group).__name__, group.exceptions[0].args, str(group)))
    try:
        1 / 0
    except* (ArithmeticError, OSError):
        log.append("bare form")
    raise KeyError("k")


def case_no_match(log):
    try:
        raise ValueError("x")
    except* TypeError:
        log.append("never")


def case_raise_inside(log):
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), OSError(3)])
    except* ValueError:
        raise KeyError("new")
    except* TypeError as group:
        raise RuntimeError("second") from group


def case_reraise_inside(log):
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), OSError(3)])
    except* ValueError:
        log.append("value")
        raise
    except* TypeError as group:
        raise group


def case_else_and_finally(log):
    for fail in (False, True):
        try:
            if fail:
                raise ExceptionGroup("g", [ValueError(1)])
        except* ValueError:
            log.append("handled")
        else:
            log.append("else")
        finally:
            log.append("finally")


def case_bad_types(log):
    def run(kind):
        try:
            raise ValueError(1)
        except* kind:
            return_value.append("caught")

    return_value = []
    for kind in (ExceptionGroup, BaseExceptionGroup, 5, (ValueError, ExceptionGroup), (), int):
        try:
            run(kind)
            log.append("fine")
        except BaseException as error:
            log.append((type(error).__name__, str(error)))
    return return_value


def case_empty_group(log):
    try:
        ExceptionGroup("g", [])
    except ValueError as error:
        log.append(str(error))
    try:
        ExceptionGroup("g", [KeyboardInterrupt()])
    except TypeError as error:
        log.append(str(error))
    raise BaseExceptionGroup("b", [KeyboardInterrupt(), ValueError()])


def case_nested_stars(log):
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError:
            log.append("inner")
    except* TypeError as group:
        log.append(repr(group))
        try:
            raise OSError("again")
        except* OSError as inner:
            log.append(repr(inner.__context__))


def case_in_loop_with_break(log):
    for i in range(3):
        try:
            try:
                raise ExceptionGroup("g", [ValueError(i)])
            except* ValueError as group:
                log.append(group.exceptions[0].args)
        finally:
            if i == 1:
                break


def case_name_is_deleted(log):
    try:
        raise ExceptionGroup("g", [ValueError(1)])
    except* ValueError as group:
        pass
    return group


def case_subclass_derive(log):
    class Mine(ExceptionGroup):
        def derive(self, errors):
            log.append("derive")
            return Mine(self.message, errors)

    try:
        raise Mine("m", [ValueError(1), TypeError(2)])
    except* ValueError as group:
        log.append(type(group).__name__)


def case_group_from_c_and_context(log):
    def fail():
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])

    try:
        1 / 0
    except ZeroDivisionError:
        try:
            fail()
        except* ValueError:
            [].pop()
