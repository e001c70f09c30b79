"""tests/torch/break_programs/output.py: the order of what is printed, logged and warned."""


@program
def output_order(x):
    print("a")
    y = x * 2
    print("shape", y.shape, y.dtype)
    sys.stdout.write("w\n")
    break_here(1)
    print("b", y.sum().item())
    LOG.info("l %d", 3)
    y = y + 1
    warnings.warn("w1")
    print(y)
    LOG.warning("l %s", tuple(y.shape))
    return y


@program
def output_before_error(x):
    print("a")
    y = x * 2
    print("b", flush=True)
    LOG.info("before")
    fail()
    print("never")
    return y


@program
def output_in_handler(x):
    y = x * 2
    try:
        print("try")
        y = y + torch.ones(7)
        print("never")
    except RuntimeError as e:
        print("caught", type(e).__name__)
        LOG.info("caught")
        y = y * 3
        print(y)
    finally:
        print("fin")
        y = y + 1
    print("end")
    return y


@program
def print_written_later(x):
    y = x.clone()
    print(y)
    y.mul_(2)
    break_here(1)
    print(y)
    y.add_(1)
    print(y[0, 0])
    return y


@program
def print_sep_end_file(x):
    s = io.StringIO()
    print(1, 2, sep="-", end="!", file=s)
    y = x + 1
    print("e", y.shape, file=s, sep="|")
    break_here(s.getvalue())
    print(s.getvalue())
    return y


@program
def warnings_filters(x):
    y = x * 2
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        warnings.warn("inside", UserWarning)
        y = y + 1
        break_here(len(w))
        warnings.warn("inside2", DeprecationWarning)
        break_here([str(i.message) for i in w], [i.lineno for i in w])
    y = y * 3
    warnings.warn("outside")
    return y


@program
def warnings_as_errors(x):
    y = x * 2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y = y + 1
            warnings.warn("boom")
            y = y * 100
    except UserWarning as e:
        y = y - 1
        break_here(repr(e))
        y = y * 2
    return y


@program
def warn_stacklevel(x):
    def f(y):
        y = y * 2
        warnings.warn("lvl", stacklevel=2)
        return y + 1
    y = f(x)
    break_here(1)
    return f(y)


@program
def redirect(x):
    s = io.StringIO()
    with contextlib.redirect_stdout(s):
        print("hidden")
        y = x + 1
        break_here(1)
        print("hidden2", y.sum().item())
    print("seen", s.getvalue())
    return y
