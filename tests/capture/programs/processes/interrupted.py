"""KeyboardInterrupt out of a busy loop: status, traceback."""

import os
import signal
import threading


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        while True:
            pass
    except KeyboardInterrupt:
        print("interrupted")
    signal.raise_signal(signal.SIGINT)
