"""The worker of a pass that was launched by another program: `python -m capture.launched_worker <pass> <socket>`.

It puts the socket where a worker expects stdin and stdout, and ends through libc's exit: that runs the destructors
in which PyTorch prints its MPS tables, without tearing down Python, which hangs on the thread that watches stdin.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys


def main(name: str, address: str) -> int:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    connection.sendall(json.dumps({"event": "pid", "pid": os.getpid()}).encode() + b"\n")
    os.dup2(connection.fileno(), 0)
    os.dup2(connection.fileno(), 1)
    connection.close()
    from capture import worker

    return worker.main(name)


if __name__ == "__main__":
    code = main(*sys.argv[1:3])
    sys.stderr.flush()
    ctypes.CDLL(None).exit(code)
