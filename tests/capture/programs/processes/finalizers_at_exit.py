"""Objects, generators and threads that are still there when the process ends."""

import threading


class Late:
    def __del__(self):
        print("late", [x for x in range(2)])


def generate():
    try:
        yield 1
    finally:
        print("generator closed")


def main():
    global kept, running, cycle
    kept = Late()
    running = generate()
    next(running)
    cycle = [Late()]
    cycle.append(cycle)
    thread = threading.Thread(target=lambda: print("thread"))
    thread.start()
