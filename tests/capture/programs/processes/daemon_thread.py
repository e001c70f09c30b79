"""A daemon thread is busy in Python code when the process ends."""

import threading


def main():
    started = threading.Event()

    def busy():
        started.set()
        n = 0
        while True:
            n += 1

    threading.Thread(target=busy, daemon=True).start()
    started.wait()
    print("leaving")
