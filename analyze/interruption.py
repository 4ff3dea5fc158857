"""Ctrl-C while DuckDB works."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb


def is_interruption(error: BaseException | None) -> bool:
    """Whether this, or an error that it came of, is Ctrl-C, as Python or as DuckDB says it."""
    seen: list[BaseException] = []
    ahead = [error]
    while ahead:
        each = ahead.pop()
        if each is None or each in seen:
            continue
        if isinstance(each, KeyboardInterrupt | duckdb.InterruptException):
            return True
        if isinstance(each, RuntimeError) and str(each) == "Query interrupted":  # DuckDB saw the signal by itself
            return True
        seen.append(each)
        ahead += [each.__cause__, each.__context__]
    return False


@contextmanager
def interruptible(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """In this context Ctrl-C stops what `con` does at once and becomes KeyboardInterrupt.

    By itself DuckDB's client looks for signals only between its tasks, and a join of everything with everything is one
    task; Python's handler waits until the client returns. So another thread hears of the signal and interrupts.
    """
    if threading.current_thread() is not threading.main_thread():  # no other hears of signals
        yield
        return
    ours, handlers = socket.socketpair()
    handlers.setblocking(False)
    before = signal.set_wakeup_fd(handlers.fileno(), warn_on_full_buffer=False)
    listener = threading.Thread(target=_interrupt_on_signal, args=(con, ours), daemon=True)
    try:
        listener.start()
        yield
    except Exception as error:
        if is_interruption(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.set_wakeup_fd(before)
        handlers.close()  # which ends the listener
        listener.join()
        ours.close()


def _interrupt_on_signal(con: duckdb.DuckDBPyConnection, signals: socket.socket) -> None:
    """Once a SIGINT is read from `signals`, interrupt `con` until the other end is closed."""
    while received := signals.recv(1):
        if received[0] != signal.SIGINT:
            continue
        signals.settimeout(0.05)
        closed = False
        while not closed:  # a statement that had yet to begin was not interrupted
            with suppress(duckdb.Error):
                con.interrupt()
            with suppress(TimeoutError):
                closed = not signals.recv(1)
        return
