"""Heartbeats of a claimed attempt, and the end of a job that may not go on."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, List, Optional

from .errors import Problem, Stopped, Unreachable
from .model import Beaten, Claim, instant

if TYPE_CHECKING:
    from .client import Client

RETRY = 3.0  # seconds until a heartbeat that failed is repeated
SPARE = 2.0  # seconds by which a silent job ends before another worker may start it
STEP = 0.5  # seconds between two looks at the clock, which goes on while the machine is suspended


def clock() -> float:
    """Seconds that also pass while the machine is suspended, where the system can say so."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


def shared_thread() -> bool:
    """Whether ending this thread or process would end other people's work: an event loop, or Airflow's triggerer."""
    if "airflow.jobs.triggerer_job_runner" in sys.modules:
        return True
    if "asyncio" not in sys.modules:
        return False
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Heartbeats:
    """Sends heartbeats in a thread, and ends the job in the thread that made it when the attempt is lost.

    The job is ended by raising Stopped in its thread and, if it goes on, by ending the process after the grace. That is so
    if the server says that the attempt is no longer held, and if onSilence is stop and no heartbeat is acknowledged. In a
    thread that is shared with others, the heartbeats just end.
    """

    def __init__(self, client: "Client", claim: Claim, sent: float, output: Callable[[], str], grace: float) -> None:
        self._client, self._claim, self._output = client, claim, output
        limit = claim.heartbeat_seconds
        self._grace = min(grace, limit / 3) if limit > 0 else grace
        self._heard = sent  # when the last acknowledged request was sent
        self._allowed: float = limit  # seconds of silence after that
        if claim.next_by and claim.seq:  # an announced silence goes on
            self._allowed = max(limit, instant(claim.next_by) - time.time())
        self._seq = claim.seq
        self._sent = ""
        self._quit = threading.Event()
        self._sending = threading.Lock()
        self._state = threading.Lock()
        self._inside = True  # whether the job runs
        self._interrupting = False
        self._lets_go = shared_thread()
        self._job = threading.get_ident()
        self._previous: Any = None
        self._handles = self._handle()
        self.lost = ""  # why the attempt is no longer held
        self._thread = threading.Thread(target=self._run, name=f"interlock {claim.run_id}", daemon=True)
        self._thread.start()

    def announce(self, within: str) -> Beaten:
        """Announces a silence. The heartbeats go on unless they are stopped."""
        return self._beat(within)

    def left(self) -> None:
        """Says that the job has ended by itself. From now on it is not interrupted."""
        with self._state:
            self._inside = False
            if self.lost and not self._handles:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._job), None)
        if self._handles:
            signal.signal(signal.SIGINT, self._previous)
            self._handles = False

    def stop(self) -> None:
        """Ends the heartbeats."""
        self._quit.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=self._client.timeout + 1)

    def _beat(self, within: str = "", timeout: Optional[float] = None) -> Beaten:
        with self._sending:
            output = self._output()
            self._seq += 1
            asked = clock()
            beaten = self._client.heartbeat(
                self._claim, "" if output == self._sent else output, next_within=within or None, seq=self._seq, timeout=timeout
            )
            self._sent, self._heard = output, asked
            self._allowed = self._claim.heartbeat_seconds
            if within and beaten.next_by:
                self._allowed = max(self._allowed, instant(beaten.next_by) - time.time())
            return beaten

    def _run(self) -> None:
        due = clock() + self._claim.every
        while not self._quit.wait(max(0.0, min(STEP, due - clock()))):
            if self._overdue() <= 0:
                self._end(f"no heartbeat was acknowledged for {clock() - self._heard:.0f} s, and job.config.onSilence is stop")
                return
            if clock() < due:
                continue
            try:
                self._beat(timeout=min(self._client.timeout, max(0.1, self._overdue())))
                due = clock() + self._claim.every
            except Problem as problem:
                if problem.status == 409 and problem.body.get("code") in ("done", "lost"):
                    self._end(problem.detail)
                    return
                due = clock() + min(self._claim.every, RETRY)
            except Unreachable:
                due = clock() + min(self._claim.every, RETRY)

    def _overdue(self) -> float:
        """Seconds until the job must begin to end."""
        if self._claim.on_silence != "stop" or self._claim.heartbeat_seconds <= 0:
            return float("inf")
        return self._heard + self._allowed - self._grace - SPARE - clock()

    def _end(self, why: str) -> None:
        with self._state:
            self.lost = why
            if not self._inside or self._lets_go:
                return
            self._interrupt()
        end = clock() + self._grace
        while clock() < end:
            if self._quit.wait(min(STEP, max(0.0, end - clock()))) or not self._inside:
                return
        print(f"interlock: the job of {self._claim.run_id} did not end in {self._grace:.0f} s: {why}", file=sys.stderr, flush=True)
        _end_process()

    def _interrupt(self) -> None:
        if self._handles:
            self._interrupting = True
            signal.pthread_kill(self._job, signal.SIGINT)  # interrupts system calls, too
        else:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._job), ctypes.py_object(Stopped))

    def _handle(self) -> bool:
        """Handles the signal that interrupts the main thread. Only there Python runs handlers."""
        if self._lets_go or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_kill"):
            return False
        self._previous = signal.getsignal(signal.SIGINT)
        if self._previous is None:  # it was not set from Python, and could not be set back
            return False
        signal.signal(signal.SIGINT, self._interrupted)
        return True

    def _interrupted(self, number: int, frame: Optional[FrameType]) -> None:
        if self._interrupting:
            self._interrupting = False
            if self._inside:
                raise Stopped(self.lost)
        elif callable(self._previous):
            self._previous(number, frame)
        elif self._previous == signal.SIG_DFL:
            signal.default_int_handler(number, frame)


def _end_process() -> None:
    """Ends this process and the programs that it has started, at once."""
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)
    for child in reversed(_descendants(os.getpid())):
        try:
            os.kill(child, kill)
        except OSError:
            continue  # it has ended
    os.kill(os.getpid(), kill)


def _descendants(process: int) -> List[int]:
    """The processes below a process, parents first; none where the system does not list them."""
    found: List[int] = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as children:
                for child in map(int, children.read().split()):
                    found += [child, *_descendants(child)]
    except OSError:
        pass
    return found
