"""fork in the middle of an interpreted frame."""

import os
import sys


def main():
    total = 0
    for i in range(3):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            total += sum(x * i for x in range(10))
            print("child", i, total)
            sys.stdout.flush()
            os._exit(i)
        status = os.waitpid(child, 0)[1]
        total += os.waitstatus_to_exitcode(status)
    print(total)
