# SPDX-License-Identifier: Apache-2.0
"""Answers the program's questions about the rules of a file: python3 -m kvlab.outside_program FILE DESCRIPTOR.

core/policy/outside_program.h has the messages."""
import ctypes
import json
import math
import os
import runpy
import signal
import socket
import struct
import sys

import numpy as np

from . import _added

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def _read(stream, size):
    out = bytearray()
    while len(out) < size:
        part = stream.recv(size - len(out))
        if not part:
            raise EOFError
        out += part
    return bytes(out)


def _write(stream, told, values=b""):
    text = json.dumps(told).encode()
    stream.sendall(struct.pack("<IQ", len(text), len(values)) + text + values)


def _question(stream):
    """A question as _core gives it."""
    length, size = struct.unpack("<IQ", _read(stream, 12))
    told, values, at = json.loads(_read(stream, length)), _read(stream, size), 0
    for name, dtype, shape in told.pop("arrays"):
        count = math.prod(shape)
        array = np.frombuffer(values, dtype, count, at)
        told[name] = array.tobytes() if dtype == "u1" else array.reshape(shape).copy()
        at += count * np.dtype(dtype).itemsize
    return told


def main(file, descriptor):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the program
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # and this one ends with it, inside a rule, too
    os.dup2(2, 1)  # what a rule prints is no part of the program's output
    stream = socket.socket(fileno=int(descriptor))
    try:
        runpy.run_path(file, run_name="rules")
    except BaseException as error:  # the program tells of it
        _write(stream, {"error": f"{type(error).__name__}: {error}"})
        raise
    _write(stream, {"rules": [one.told for one in _added.ADDED.values()]})
    while True:
        try:
            question = _question(stream)
        except EOFError:
            return
        value, why = _added.ADDED[question["kind"], question["name"]].answer(question)
        if why is not None:
            _write(stream, {"error": why})
        else:
            _write(stream, {}, value if isinstance(value, bytes) else value.tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
