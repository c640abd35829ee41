"""Running a job as the attempt that Interlock offers."""

from __future__ import annotations

import threading
import time
import traceback
import uuid
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Type

from .errors import Completed, GateClosed, Held, Lost, Problem, Stopped, Unavailable, Unreachable
from .heartbeat import Heartbeats, clock
from .model import Claim, Gate, instant

if TYPE_CHECKING:
    from .client import Client

MAX_OUTPUT = 64 * 1024
OFFER_GRACE = 10.0  # how long an attempt that is about to be offered is waited for in any case
MAX_HOLD = 60.0
NO_SUCH_PERIOD = "urn:interlock:problem:unknown-period"


class Attempt:
    """Waits for the gate, claims the attempt, sends heartbeats, and reports the result::

        with client.attempt("orders", wait=3600) as attempt:
            attempt.log("loading")
            load(attempt.date)

    The run is opened if the pipeline's schedule leaves that to people. Entering raises Completed, GateClosed, Held or
    Unavailable where there is nothing to run. An exception inside is reported as a failure and raised again; its
    category is its attribute interlock_category, if it has one, as PermanentError and TransientError do.

    If the attempt is cancelled or given up meanwhile, or job.config.onSilence is stop and the server cannot be reached,
    Stopped is raised inside, which is no Exception. A job that goes on is ended after the grace, with its process. Around
    the context, Lost is raised. In an event loop and in Airflow's triggerer nothing is raised or ended; check says so.

    A job that goes on in another process, such as a deferred task, lets go with defer and resumes with what it returned.
    """

    def __init__(
        self,
        client: "Client",
        pipeline: str,
        date: Optional[str],
        *,
        wait: float,
        worker: str,
        grace: float = 30.0,
        resume: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._client = client
        self.pipeline = pipeline
        self.worker = worker
        self._asked_date = date
        self._wait = wait
        self._grace = grace
        self._resume = resume
        self._key = uuid.uuid4().hex  # of this execution, kept while it is deferred
        self._unsure: Optional[Gate] = None  # the gate of a claim without an answer, which may have been granted
        self._schedule: Optional[str] = None
        self._claim: Optional[Claim] = None
        self._claimed = 0.0  # when the claim was sent
        self._beats: Optional[Heartbeats] = None
        self._deferred = False
        self._output: List[str] = []
        self._lock = threading.Lock()

    @property
    def claim(self) -> Claim:
        """The claim; there is one inside the context."""
        if self._claim is None:
            raise RuntimeError("the attempt is not claimed yet; use it as a context: with client.attempt(…) as attempt")
        return self._claim

    @property
    def date(self) -> str:
        """The period to work on."""
        return self.claim.date

    @property
    def number(self) -> int:
        """The attempt's number, from 1."""
        return self.claim.attempt

    @property
    def run_id(self) -> str:
        """PIPELINE/SCHEDULE/DATE/ATTEMPT: an idempotency key for what the job does elsewhere."""
        return self.claim.run_id

    @property
    def lost(self) -> bool:
        """Whether the attempt is no longer this worker's."""
        return self._beats is not None and self._beats.lost != ""

    def check(self) -> None:
        """Raises Lost if the attempt is no longer this worker's. A job in a shared thread calls it now and then."""
        if self._beats is not None and self._beats.lost:
            raise Lost(self._beats.lost)

    def announce(self, within: str) -> Optional[str]:
        """Announces that there may be no heartbeat for so long, such as "6h". Returns until when that is granted."""
        end = time.monotonic() + OFFER_GRACE
        while True:
            try:
                return self._running().announce(within).next_by
            except Problem as problem:
                if problem.status == 409:
                    raise Lost(problem.detail) from None
                if problem.status < 500 and problem.status != 429 or time.monotonic() >= end:
                    raise
            except Unreachable:
                if time.monotonic() >= end:
                    raise
            time.sleep(1.0)

    def defer(self, within: str) -> Dict[str, str]:
        """Announces a silence and lets go of the attempt without a result: the job goes on elsewhere.

        What it returns is given to Client.attempt as resume there. It is no secret, and can be written as JSON.
        """
        beats = self._running()
        _leave(beats)
        beats.stop()
        self.announce(within)
        self._deferred = True
        return {"pipeline": self.claim.pipeline, "schedule": self.claim.schedule, "date": self.claim.date, "key": self._key}

    def _running(self) -> Heartbeats:
        if self._beats is None:
            raise RuntimeError("the attempt is not claimed; use it as a context: with client.attempt(…) as attempt")
        return self._beats

    def log(self, text: str) -> None:
        """Adds a line to the output, the end of which the server keeps (64 KiB)."""
        with self._lock:
            self._output.append((self._client.redacted(text, self._claim) if self._claim else text) + "\n")
            while len(self._output) > 1 and sum(map(len, self._output)) > 2 * MAX_OUTPUT:
                self._output = ["".join(self._output)[-MAX_OUTPUT:]]

    def __enter__(self) -> "Attempt":
        self._claim = self._acquire() if self._resume is None else self._resumed(self._resume)
        self._beats = Heartbeats(self._client, self._claim, self._claimed, self._tail, self._grace)
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]
    ) -> None:
        if self._deferred:
            return
        beats = self._running()
        try:
            _leave(beats)
            if beats.lost:
                raise Lost(beats.lost) from (None if isinstance(error, Stopped) else error)
            self._finish(kind, error, where)
        except Exception:
            if error is None or isinstance(error, Stopped):
                raise
            # The job's own error says more than that it could not be reported.
        finally:
            beats.stop()

    def _finish(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]
    ) -> None:
        if error is None or isinstance(error, SystemExit) and error.code in (None, 0):
            self._report("success", "", None)
            return
        if where is not None:
            self.log("".join(traceback.format_exception(kind, error, where)).rstrip("\n"))
        category = getattr(error, "interlock_category", None)
        if category is None and not isinstance(error, Exception):
            category = "TRANSIENT"  # the worker was stopped
        self._report("fail", f"{type(error).__name__}: {error}", category)

    def _tail(self) -> str:
        with self._lock:
            return "".join(self._output)[-MAX_OUTPUT:]

    def _report(self, result: str, message: str, category: Optional[str]) -> None:
        """Reports until the server answers or the attempt's deadline has passed."""
        end, wait = instant(self.claim.deadline), 0.25
        while True:
            try:
                done = self._client.report(self.claim, result, message=message, category=category, output=self._tail())
                self._settle(done["run"])
                return
            except Problem as problem:
                if problem.status == 409:
                    raise Lost(problem.detail) from None
                if problem.status < 500 and problem.status != 429 or time.time() >= end:
                    raise
            except Unreachable:
                if time.time() >= end:
                    raise
            time.sleep(wait)
            wait = min(2 * wait, 10.0)

    def _settle(self, run: Dict[str, Any]) -> None:
        """Waits a moment until the run shows the result, so that what is asked next is answered accordingly."""
        wait = 0.01
        while run["status"] == "RUNNING" and run["attempt"] == self.number and wait < 2:
            time.sleep(wait)
            wait *= 2
            try:
                run = self._client.run(self.claim.pipeline, self.claim.schedule, self.claim.date)
            except (Problem, Unreachable):
                return  # the result is stored

    def _resumed(self, state: Mapping[str, Any]) -> Claim:
        """Claims the attempt again that another process has deferred."""
        self._key = state["key"]
        end = time.monotonic() + max(self._wait, OFFER_GRACE)
        while True:
            try:
                return self._claim_once(state["date"], state["schedule"])
            except Problem as problem:
                if problem.status == 409:
                    raise Lost(problem.detail) from None
                if problem.status < 500 and problem.status != 429 or time.monotonic() >= end:
                    raise
            except Unreachable:
                if time.monotonic() >= end:
                    raise
            time.sleep(1.0)

    def _claim_once(self, date: str, schedule: str) -> Claim:
        self._claimed = clock()
        return self._client.claim(self.pipeline, date, schedule=schedule, worker=self.worker, key=self._key)

    def _claim_offered(self, gate: Gate) -> Claim:
        """Claims the attempt of an open gate. As long as there is no answer, it may have been granted."""
        assert gate.run is not None
        self._unsure = gate
        try:
            return self._claim_once(gate.date, gate.run.schedule)
        except Problem as problem:
            if problem.status < 500 and problem.status != 429:
                self._unsure = None
            if problem.body.get("code") in ("done", "lost"):
                self._key = uuid.uuid4().hex  # it was granted, and has ended before this worker knew
            raise

    def _acquire(self) -> Claim:
        """Waits for the gate and claims the attempt."""
        date, began = self._asked_date, time.monotonic()
        gate: Optional[Gate] = None
        acted = False  # the run has been opened or claimed, here or by another, since the last question
        unopened = ""  # why the run was not opened, if it was not
        early = 0  # answers that came before the end of their wait and did not help
        while True:
            spent = time.monotonic() - began
            hold = 0.0
            if gate is not None and not acted:  # a question is held while another worker has the run
                hold = max(0.0, min(MAX_HOLD, max(self._wait - spent, _grace(gate) - spent)))
            asked, acted = time.monotonic(), False
            try:
                if self._unsure is not None:
                    return self._claim_offered(self._unsure)
                gate = self._client.gate(self.pipeline, date, wait=hold)
                date = gate.date
                if gate.open and gate.run is not None:
                    return self._claim_offered(gate)
                if self._schedule is None:
                    self._check_job()
                if gate.run is None and self._schedule == "manual" and not gate.blocked("excluded", "paused", "dry-run"):
                    if unopened and spent >= self._wait + OFFER_GRACE:
                        raise Unavailable(f"the run of {self.pipeline} for {date} was not opened: {unopened}", gate)
                    unopened = self._open(date)
                    acted = True
                    time.sleep(0.1 if unopened else 0)
                    continue
            except Problem as problem:
                if problem.status == 404 or problem.type == NO_SUCH_PERIOD:
                    raise Unavailable(problem.detail, gate) from None
                if problem.status < 500 and problem.status not in (409, 429) or spent >= self._wait + OFFER_GRACE:
                    raise
                acted = problem.status == 409  # the gate, asked again, says what has become of the run
                time.sleep(0.1 if acted else 2.0)
                continue
            except Unreachable:
                patience = max(self._wait, OFFER_GRACE) if self._unsure is not None else self._wait
                if spent >= patience:
                    raise
                time.sleep(min(2.0, max(0.0, patience - spent)))
                continue
            if _settling(gate) and spent < self._wait + OFFER_GRACE:
                time.sleep(0.05)
                continue
            self._refuse(gate, time.monotonic() - began)
            rest = hold - (time.monotonic() - asked)
            early = early + 1 if rest > 0 else max(0, early - 1)
            if early > 5:
                time.sleep(rest)

    def _check_job(self) -> None:
        about = self._client.pipeline(self.pipeline)
        self._schedule = about["schedule"]
        if about["jobType"] != "external":
            kind = about["jobType"] or "none"
            raise Unavailable(
                f"workers cannot run the job of pipeline {self.pipeline} (its type: {kind}); "
                "write job: {type: external} in its file"
            )

    def _open(self, date: str) -> str:
        """Opens the run. If the server refuses, which it also does where another worker has opened it, the answer says why."""
        try:
            self._client.open(self.pipeline, date, reason="a worker asked for it", key=f"{self._key}/open")
        except Problem as problem:
            if problem.status != 409:
                raise
            return problem.detail
        return ""

    def _refuse(self, gate: Gate, spent: float) -> None:
        """Raises why nothing more is waited for, if that is so."""
        if gate.blocked("completed"):
            raise Completed(gate.reason, gate)
        if gate.blocked("excluded", "dry-run"):
            raise Unavailable(gate.reason, gate)
        if gate.blocked("running", "held") and gate.run is not None and gate.run.status in ("RUNNING", "TRIGGERING"):
            raise Held(gate.reason, gate)
        if gate.blocked("ended", "start-deadline"):
            raise GateClosed(gate.reason, gate)
        if spent < max(self._wait, _grace(gate)):
            return
        if gate.blocked("paused", "not-opened"):
            raise Unavailable(gate.reason, gate)
        raise GateClosed(f"the gate of {gate.pipeline} is closed for {gate.date}: {gate.reason}", gate)


def _leave(beats: Heartbeats) -> None:
    """Says that the job has ended, which it may just have been told to do."""
    try:
        beats.left()
    except Stopped:
        beats.left()


def _settling(gate: Gate) -> bool:
    """Whether the run's job has ended, and what follows from its result is about to be decided."""
    run = gate.run
    return run is not None and (run.status == "FAILED" or run.status == "RUNNING" and run.raw["result"] is not None)


def _grace(gate: Gate) -> float:
    """Seconds that are waited in any case: a run is opened and offered a moment after its time."""
    return OFFER_GRACE if all(b.code in ("not-opened", "not-offered") for b in gate.blocked_by) else 0.0
