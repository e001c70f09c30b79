"""f_locals writes through on 3.13 and later."""

import sys


def case_write_through(log):
    def change(**values):
        sys._getframe(1).f_locals.update(values)

    x = 1
    y = 2

    def reads():
        return y

    change(x=10, y=20, extra=30)
    log.append((x, y, reads()))
    log.append(sys._getframe().f_locals["extra"])
    proxy = sys._getframe().f_locals
    proxy["x"] = "again"
    log.append(x)
    log.append(sorted(k for k in proxy if k != "proxy"))
    try:
        del proxy["x"]
    except (ValueError, TypeError) as error:
        log.append(str(error))
    snapshot = locals()
    snapshot["x"] = "not written"
    return x


def case_write_in_loop(log):
    def bump():
        frame = sys._getframe(1)
        frame.f_locals["i"] += 1

    i = 0
    while i < 10:
        bump()
        log.append(i)


def case_write_unbound(log):
    def bind():
        sys._getframe(1).f_locals["later"] = "bound"

    if log:
        later = 1
    bind()
    return later
