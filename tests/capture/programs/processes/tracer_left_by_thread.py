# only: interpreted
"""A thread that ends while it is traced or profiled leaves events set, from 3.12 on, that reach nobody."""

import sys
import threading


def down(n):
    return n and 1 + down(n - 1)


def main():
    import stator._capture as capture

    for switch_on in (sys.settrace, sys.setprofile):

        def work(switch_on=switch_on):
            switch_on(lambda *event: None)
            down(3)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        capture.reset_statistics()
        capture.interpret(down)(10)
        assert capture.statistics()["finished"] >= 11, capture.statistics()
    print("fine")
