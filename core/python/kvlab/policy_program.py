# SPDX-License-Identifier: Apache-2.0
"""Answers the program's questions about the policies of a file: python3 -m kvlab.policy_program FILE DESCRIPTOR.

core/policy/policy_program.h has the messages."""
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

from ._policy import ADDED

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
    """The rows as _core gives them, with the policy and what is asked."""
    length, size = struct.unpack("<IQ", _read(stream, 12))
    told, values, at = json.loads(_read(stream, length)), _read(stream, size), 0
    for name, dtype, shape in told.pop("arrays"):
        count = math.prod(shape)
        told[name] = np.frombuffer(values, dtype, count, at).reshape(shape).copy()
        at += count * np.dtype(dtype).itemsize
    told["memory"] = told["memory"].tobytes()
    return told


def main(file, descriptor):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the program
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # and this one ends with it, inside a policy, too
    os.dup2(2, 1)  # what a policy prints is no part of the program's output
    stream = socket.socket(fileno=int(descriptor))
    try:
        runpy.run_path(file, run_name="policies")
    except BaseException as error:  # the program tells of it
        _write(stream, {"error": f"{type(error).__name__}: {error}"})
        raise
    _write(stream, {"policies": [one.told for one in ADDED.values()]})
    while True:
        try:
            question = _question(stream)
        except EOFError:
            return
        policy = ADDED[question.pop("policy")]
        value, why = {"score": policy.score, "observe": policy.observe}[question.pop("what")](question)
        if why is not None:
            _write(stream, {"error": why})
        else:
            _write(stream, {}, value if isinstance(value, bytes) else value.tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
