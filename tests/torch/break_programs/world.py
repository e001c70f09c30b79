"""tests/torch/break_programs/world.py: what the programs of this folder use; each is run in a world of its own.

Not imported: test_break_places.py runs the text of this file and then that of the programs.
"""

import asyncio, builtins, collections, contextlib, copy, enum, functools, itertools, io, logging, math, operator, os, random, sys, time, types, uuid, warnings, weakref, gc, string, heapq, bisect, dataclasses, traceback
import numpy as np
import torch
import stator
from torch import nn

OUT = []
# Breaks on every backend.
break_here = stator.disable(lambda *a: OUT.append(("break",) + a))


@stator.disable
def fail(kind=ValueError, text="failed"):
    OUT.append("fail")
    raise kind(text)
PROGRAMS = {}
def program(f):
    PROGRAMS[f.__name__] = f
    return f


LOG = logging.getLogger("odd")
class Keep(logging.Handler):
    def emit(self, record):
        OUT.append((record.levelname, record.getMessage()))
LOG.handlers[:] = [Keep()]; LOG.propagate = False; LOG.setLevel(logging.INFO)
