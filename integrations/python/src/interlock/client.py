"""The client: one method per question or wish."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Callable, Dict, List, Mapping, Optional

from .attempt import Attempt
from .errors import GateClosed, Problem, Unavailable, Unreachable
from .model import Beaten, Claim, Gate, Run, Written

DEFAULT_SERVER = "http://127.0.0.1:8740"
MAX_HOLD = 60.0  # how long the server holds a question


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected PUT or POST would become a GET, which looks like success and writes nothing."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Client:
    """Talks to one server. It is safe to use from several threads.

    url and token default to INTERLOCK_SERVER and INTERLOCK_TOKEN. A method raises Problem where the server refused,
    and Unreachable where it could not be asked. Nothing is tried again, except by wait and attempt.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        timeout: float = 10.0,
        worker: Optional[str] = None,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        self.url = (url or os.environ.get("INTERLOCK_SERVER") or DEFAULT_SERVER).rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"{self.url!r} is not the address of a server; write one like {DEFAULT_SERVER}")
        self._token = token if token is not None else os.environ.get("INTERLOCK_TOKEN")
        self.timeout = timeout
        self.worker = worker or f"{socket.gethostname()}:{os.getpid()}"
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if context is not None:
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self._opener = urllib.request.build_opener(*handlers)

    def push(
        self,
        pipeline: str,
        key: str,
        data: Mapping[str, Any],
        *,
        date: Optional[str] = None,
        ttl: Optional[str] = None,
        source: Optional[str] = None,
    ) -> Written:
        """Writes a sensor. date is the period that the reading is for; without it, the data may say, else it is undated."""
        if date is not None:
            key = f"{key}#{date}"
        path = f"/pipelines/{_part(pipeline)}/sensors/{_part(key)}"
        got = self.request("PUT", path, dict(data), query={"ttl": ttl, "source": source})
        return Written(got["version"], got["updatedAt"], got["date"])

    def gate(self, pipeline: str, date: Optional[str] = None, *, wait: float = 0) -> Gate:
        """Asks whether a start is allowed now. The server holds its answer up to wait seconds (at most 60) until one is."""
        hold = min(wait, MAX_HOLD)
        query = {"date": date, "wait": f"{int(hold * 1000)}ms" if hold > 0 else None}
        return Gate.of(self.request("GET", f"/pipelines/{_part(pipeline)}/gate", query=query, timeout=self.timeout + hold))

    def wait(self, pipeline: str, date: Optional[str] = None, *, timeout: Optional[float] = None) -> Gate:
        """Waits until a start is allowed, for ever unless timeout says how many seconds.

        Raises GateClosed if the time is over or waiting is pointless. A server that is away meanwhile is asked again.
        """
        end = None if timeout is None else time.monotonic() + timeout
        hold = 0.0
        while True:
            began = time.monotonic()
            try:
                gate = self.gate(pipeline, date, wait=hold)
            except (Unreachable, Problem) as error:
                if not _passing(error) or _left(end) <= 0:
                    raise
                time.sleep(min(5.0, _left(end)))
                continue
            if gate.open:
                return gate
            date = gate.date
            if gate.retry_after_seconds is None:
                raise GateClosed(gate.reason, gate)
            if _left(end) <= 0:
                raise GateClosed(f"the gate of {pipeline} is closed for {date}: {gate.reason}", gate)
            # A server that answered before the time was over is not asked more often than once a
            # minute.
            time.sleep(max(0.0, min(hold - (time.monotonic() - began), _left(end))))
            hold = min(MAX_HOLD, _left(end))

    def pipeline(self, pipeline: str) -> Dict[str, Any]:
        """The pipeline as the server describes it."""
        return self.request("GET", f"/pipelines/{_part(pipeline)}")

    def run(self, pipeline: str, schedule: str, date: str) -> Dict[str, Any]:
        """A run with its attempts, as the server describes it."""
        return self.request("GET", _run(pipeline, schedule, date))

    def open(self, pipeline: str, date: Optional[str] = None, *, reason: str = "", key: Optional[str] = None) -> Run:
        """Opens the run of a period. Under the same key it is opened once, however often it is asked for."""
        body: Dict[str, Any] = {"pipeline": pipeline, "requestedBy": self.worker}
        if date is not None:
            body["date"] = date
        if reason:
            body["reason"] = reason
        return Run.of(self.request("POST", "/runs", body, key=key or uuid.uuid4().hex))

    def claim(
        self,
        pipeline: str,
        date: Optional[str] = None,
        *,
        schedule: Optional[str] = None,
        worker: Optional[str] = None,
        key: Optional[str] = None,
    ) -> Claim:
        """Claims the offered attempt of a run. Exactly one claim is granted; any other is a Problem with status 409.

        Repeated under the same key it returns the same permit.
        """
        if date is None or schedule is None:
            gate = self.gate(pipeline, date)
            if gate.run is None:
                raise Unavailable(gate.reason or f"there is no run of {pipeline} for {gate.date}", gate)
            date, schedule = gate.date, gate.run.schedule
        got = self.request(
            "POST", f"{_run(pipeline, schedule, date)}/claim", {"worker": worker or self.worker}, key=key or uuid.uuid4().hex
        )
        return Claim(
            pipeline=pipeline,
            schedule=schedule,
            date=date,
            run_id=got["runId"],
            attempt=got["attempt"],
            permit=got["permit"],
            heartbeat_seconds=got["heartbeatSeconds"],
            deadline=got["deadline"],
            env=got["env"],
            traceparent=got.get("traceparent"),
            next_by=got.get("nextBy"),
            seq=got.get("seq", 0),
            on_silence=got.get("onSilence", "continue"),
        )

    def heartbeat(
        self,
        claim: Claim,
        output: str = "",
        *,
        next_within: Optional[str] = None,
        seq: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Beaten:
        """Shows that the worker is alive, with the end of the job's output, if any.

        next_within announces a longer silence, such as "6h". seq numbers the heartbeats, so that a delayed one changes
        nothing.
        """
        body: Dict[str, Any] = {"output": self.redacted(output, claim)[-65536:]} if output else {}
        if next_within:
            body["nextWithin"] = next_within
        if seq:
            body["seq"] = seq
        path = f"{_run(claim.pipeline, claim.schedule, claim.date)}/heartbeat"
        got = self.request("POST", path, body, token=claim.permit, timeout=timeout, traceparent=claim.traceparent)
        return Beaten(got.get("nextBy"), got.get("deadline"))

    def report(
        self,
        claim: Claim,
        result: str,
        *,
        message: str = "",
        category: Optional[str] = None,
        exit_code: Optional[int] = None,
        output: str = "",
    ) -> Dict[str, Any]:
        """Reports how the job of a claimed attempt ended: success, fail or timeout."""
        body: Dict[str, Any] = {"result": result}
        if message:
            body["message"] = self.redacted(message, claim)[:4000]
        if category:
            body["category"] = category
        if exit_code is not None:
            body["exitCode"] = exit_code
        if output:
            body["output"] = self.redacted(output, claim)[-65536:]
        path = f"{_run(claim.pipeline, claim.schedule, claim.date)}/job"
        return self.request("POST", path, body, token=claim.permit, traceparent=claim.traceparent)

    def redacted(self, text: str, claim: Claim) -> str:
        """The text without this client's token and the claim's permit. The server does not know the token in clear."""
        for secret in (claim.permit, self._token):
            if secret:
                text = text.replace(secret, "***")
        return text

    def attempt(
        self,
        pipeline: str,
        date: Optional[str] = None,
        *,
        wait: float = 0,
        worker: Optional[str] = None,
        grace: float = 30.0,
        resume: Optional[Mapping[str, Any]] = None,
    ) -> Attempt:
        """The next attempt of a run, as a context: see Attempt. grace are the seconds that a job has that must end, at most a
        third of the heartbeat. resume is what Attempt.defer has returned: then it is that attempt."""
        return Attempt(self, pipeline, date, wait=wait, worker=worker or self.worker, grace=grace, resume=resume)

    def request(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        *,
        query: Optional[Mapping[str, Optional[str]]] = None,
        key: Optional[str] = None,
        token: Optional[str] = None,
        timeout: Optional[float] = None,
        traceparent: Optional[str] = None,
    ) -> Dict[str, Any]:
        """Makes a request below /api/v1 and returns its JSON answer."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self.url}/api/v1{path}" + (f"?{urllib.parse.urlencode(given)}" if given else "")
        headers = {"Accept": "application/json"}
        secret = token or self._token
        if secret:
            headers["Authorization"] = f"Bearer {secret}"
        if key:
            headers["Idempotency-Key"] = key
        if traceparent:
            headers["traceparent"] = traceparent
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        limit = timeout or self.timeout
        return _within(limit, lambda: self._send(request, limit), f"{self.url} did not answer within {limit:g} s")

    def _send(self, request: urllib.request.Request, timeout: float) -> Dict[str, Any]:
        try:
            with self._opener.open(request, timeout=timeout) as answer:
                return _decode(answer.read(), self.url)
        except urllib.error.HTTPError as error:
            with error:
                raise _problem(error, self.url) from None
        except (OSError, ValueError, http.client.HTTPException) as error:  # URLError is an OSError; an answer cut short is neither
            reason = getattr(error, "reason", error)
            raise Unreachable(f"cannot reach the server at {self.url}: {reason}") from None


def _within(seconds: float, ask: Callable[[], Dict[str, Any]], late: str) -> Dict[str, Any]:
    """Asks in a thread: the timeout of a socket only limits the time between two bytes."""
    answers: List[Any] = []

    def run() -> None:
        try:
            answers.append(ask())
        except Exception as error:
            answers.append(error)

    thread = threading.Thread(target=run, name="interlock request", daemon=True)
    thread.start()
    thread.join(seconds)
    if not answers:
        raise Unreachable(late)
    if isinstance(answers[0], Exception):
        raise answers[0]
    got: Dict[str, Any] = answers[0]
    return got


def _part(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _run(pipeline: str, schedule: str, date: str) -> str:
    return f"/runs/{_part(pipeline)}/{_part(schedule)}/{_part(date)}"


def _left(end: Optional[float]) -> float:
    return MAX_HOLD if end is None else end - time.monotonic()


def _passing(error: Exception) -> bool:
    """Whether the same question may be answered later."""
    return isinstance(error, Unreachable) or isinstance(error, Problem) and (error.status >= 500 or error.status == 429)


def _decode(text: bytes, url: str) -> Dict[str, Any]:
    try:
        got = json.loads(text)
    except ValueError:
        got = None
    if not isinstance(got, dict):
        raise Unreachable(f"{url} answered, but not as an Interlock server does")
    return got


def _problem(error: urllib.error.HTTPError, url: str) -> Exception:
    try:
        body = json.loads(error.read())
    except ValueError:
        body = None
    if not isinstance(body, dict) or body.get("status") != error.code:
        return Unreachable(f"{url} answered {error.code}, and not as an Interlock server does")
    return Problem(error.code, body)
