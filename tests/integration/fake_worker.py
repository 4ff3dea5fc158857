"""A worker that measures nothing and is there at once: `python -m tests.integration.fake_worker <pass> <socket>`.

It speaks the protocol of capture.launched_worker, so that the launchers are tested without loading a model.
"""

import json
import os
import socket
import sys
import time


def main(name: str, address: str) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    request = json.loads(connection.makefile("rb").readline())
    prompt = request["spec"]["prompt"] or ""
    if prompt == "hang":
        time.sleep(600)
    print(os.environ.get("PHASESCOPE_FAKE_PRINTS", ""), file=sys.stderr)
    clock = {"unix_ns": 1, "monotonic_ns": 2, "raw_ns": 3}
    done = {
        "event": "done",
        "status": "refused" if prompt == "refuse" else "measured",
        "reason": "asked to" if prompt == "refuse" else None,
        "clock": {"start": clock, "end": clock},
        "detail": {"seen": sorted(os.environ), "warmup": request["spec"]["warmup"]},
    }
    events = [{"event": "pid", "pid": os.getpid()}] + ([done] if prompt != "die" else [])
    for event in events:
        connection.sendall(json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
