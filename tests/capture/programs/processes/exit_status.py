"""sys.exit from below, with exit handlers."""

import atexit
import sys


def main():
    atexit.register(print, "at exit")

    def leave():
        try:
            sys.exit(7)
        finally:
            print("finally")

    leave()
