"""The Airflow package against small stand-ins of Airflow's base classes: Airflow itself is not part of these tests."""

from __future__ import annotations

import asyncio
import datetime
import inspect
import json
import pathlib
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Dict, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "standins"))

from airflow.exceptions import AirflowException, AirflowSkipException  # noqa: E402
from airflow.sdk import BaseHook, Connection, TaskDeferred  # noqa: E402
from interlock_airflow import InterlockAttempt, InterlockGateSensor  # noqa: E402

OPEN = {"open": True, "outcome": "pass", "blockedBy": [], "retryAfterSeconds": None}
CLOSED = {
    "open": False,
    "outcome": "fail",
    "blockedBy": [{"code": "rules", "reason": "landed: no reading", "until": None}],
    "retryAfterSeconds": 30,
}
DONE = {
    "open": False,
    "outcome": "pass",
    "blockedBy": [{"code": "completed", "reason": "the run is COMPLETED", "until": None}],
    "retryAfterSeconds": None,
}
RUN = {"pipeline": "orders", "schedule": "manual", "date": "2026-03-03", "status": "TRIGGERING", "attempt": 1, "result": None}


class Answers(BaseHTTPRequestHandler):
    """A server that answers as Interlock does, with the gates that a test lists."""

    gates: List[Dict[str, Any]] = []
    seen: List[Any] = []
    keys: List[Any] = []
    over = False  # whether the attempt has ended

    def seq(self) -> int:
        return max([body.get("seq", 0) for _, body, _ in self.seen])

    def do_GET(self) -> None:
        if "/gate" not in self.path:
            return self.send({"schedule": "cron", "jobType": "external"})
        gate = self.gates.pop(0) if len(self.gates) > 1 else self.gates[0]
        self.send({"pipeline": "orders", "date": "2026-03-03", "rules": [], "startCondition": None, "run": RUN, **gate})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = self.path.rsplit("/", 1)[1]
        self.seen.append((asked, body, self.headers["Authorization"]))
        self.keys.append(self.headers["Idempotency-Key"])
        if asked == "claim" and self.over:
            self.send({"status": 409, "detail": "attempt 1 has ended: cancelled by ada", "code": "done"}, 409)
        elif asked == "claim":
            claim = {"runId": "orders/manual/2026-03-03/1", "attempt": 1, "permit": "p", "heartbeatSeconds": 120, "deadline": None}
            self.send({**claim, "env": {}, "worker": body["worker"], "run": RUN, "seq": self.seq()})
        elif asked == "heartbeat":
            self.send({"nextBy": "2026-03-04T00:00:00Z", "deadline": None})
        else:
            self.send({"run": {**RUN, "status": "COMPLETED"}, "late": False})

    def send(self, body: Dict[str, Any], status: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


class Load:
    """An operator that somebody has."""

    template_fields = ("script",)

    def __init__(self, *, task_id: str, script: str = "") -> None:
        self.task_id, self.script = task_id, script

    def execute(self, context: Any, **kwargs: Any) -> str:
        self.passed = kwargs
        if self.script == "fail":
            raise ValueError("no such table")
        return "loaded"


class GatedLoad(InterlockAttempt, Load):
    pass


class Submit:
    """An operator that is deferred twice."""

    def __init__(self, *, task_id: str, timeout: Any = None) -> None:
        self.timeout = timeout

    def execute(self, context: Any) -> None:
        raise TaskDeferred(trigger="first", method_name="again", kwargs={"job": 7}, timeout=self.timeout)

    def again(self, context: Any, job: int, event: Any = None) -> None:
        raise TaskDeferred(trigger="second", method_name="done", kwargs={"job": job + 1})

    def done(self, context: Any, job: int, event: Any = None) -> Any:
        return job, event


class GatedSubmit(InterlockAttempt, Submit):
    pass


class AirflowTest(unittest.TestCase):
    def setUp(self) -> None:
        server = HTTPServer(("127.0.0.1", 0), Answers)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        BaseHook.connections = {"interlock_default": Connection("127.0.0.1", server.server_port, "http", "token")}
        Answers.seen, Answers.keys, Answers.over = [], [], False

    def gates(self, *gates: Dict[str, Any]) -> None:
        Answers.gates = list(gates)

    def sensor(self, **given: Any) -> InterlockGateSensor:
        return InterlockGateSensor(task_id="gate", pipeline="orders", date="2026-03-03", timeout=60, **given)

    def test_open_gate_needs_no_trigger(self) -> None:
        self.gates(OPEN)
        self.assertEqual(self.sensor().execute({}), "2026-03-03")

    def test_closed_gate_is_deferred_until_it_opens(self) -> None:
        self.gates(CLOSED, OPEN)
        with self.assertRaises(TaskDeferred) as deferred:
            self.sensor().execute({})
        trigger = deferred.exception.trigger
        path, given = trigger.serialize()
        self.assertEqual(path, f"{type(trigger).__module__}.{type(trigger).__qualname__}")
        again = type(trigger)(**given)

        async def first() -> Any:
            async for event in again.run():
                return event

        event = asyncio.run(first())
        self.assertEqual(deferred.exception.method_name, "execute_complete")
        self.assertEqual(self.sensor().execute_complete({}, event.payload), "2026-03-03")

    def test_gate_that_stays_closed_fails(self) -> None:
        self.gates(CLOSED)
        with self.assertRaisesRegex(AirflowException, "landed: no reading"):
            self.sensor().execute_complete({}, {"open": False, "date": "d", "reason": "landed: no reading", "completed": False})

    def test_completed_run_skips(self) -> None:
        self.gates(DONE)
        with self.assertRaises(AirflowSkipException):
            self.sensor().execute({})
        self.assertEqual(self.sensor(skip_completed=False).execute({}), "2026-03-03")

    def test_poking_sensor(self) -> None:
        self.gates(CLOSED)
        self.assertFalse(self.sensor(deferrable=False).poke({}))
        self.gates(OPEN)
        self.assertTrue(self.sensor(deferrable=False).poke({}))

    def test_attempt_claims_runs_and_reports(self) -> None:
        self.gates(OPEN)
        task = GatedLoad(task_id="load", interlock_pipeline="orders", interlock_date="2026-03-03")
        self.assertEqual(task.template_fields, ("script", "interlock_pipeline", "interlock_date"))
        self.assertEqual(task.execute({}), "loaded")
        (claim, _, token), (report, body, permit) = Answers.seen
        self.assertEqual((claim, token, report, body["result"], permit), ("claim", "Bearer token", "job", "success", "Bearer p"))

    def test_each_class_has_a_constructor_of_its_own(self) -> None:
        # Airflow 2.10 prepares it by its signature, and cannot make an operator without one.
        given = inspect.signature(vars(GatedLoad)["__init__"]).parameters
        self.assertIn("interlock_pipeline", given)

    def test_keyword_of_the_task_runner_reaches_the_operator(self) -> None:
        self.gates(OPEN)
        task = GatedLoad(task_id="load", interlock_pipeline="orders")
        marker = {"GatedLoad__sentinel": object()}  # as Airflow 2.10 calls execute
        task.execute(context={}, **marker)
        self.assertEqual(task.passed, marker)

    def test_failed_attempt_is_reported_and_raised(self) -> None:
        self.gates(OPEN)
        with self.assertRaises(ValueError):
            GatedLoad(task_id="load", script="fail", interlock_pipeline="orders").execute({})
        self.assertEqual((Answers.seen[1][1]["result"], Answers.seen[1][1]["message"]), ("fail", "ValueError: no such table"))

    def test_completed_attempt_skips(self) -> None:
        self.gates(DONE)
        with self.assertRaises(AirflowSkipException):
            GatedLoad(task_id="load", interlock_pipeline="orders").execute({})

    def test_deferred_task_resumes_its_attempt(self) -> None:
        self.gates(OPEN)

        def task() -> GatedSubmit:  # each part runs in another process
            return GatedSubmit(task_id="submit", interlock_pipeline="orders", timeout=datetime.timedelta(hours=6))

        with self.assertRaises(TaskDeferred) as first:
            task().execute({})
        self.assertEqual((first.exception.trigger, first.exception.timeout), ("first", datetime.timedelta(hours=6)))
        kwargs = json.loads(json.dumps(first.exception.kwargs))  # Airflow stores them
        with self.assertRaises(TaskDeferred) as second:
            getattr(task(), first.exception.method_name)({}, **kwargs, event="fired")
        kwargs = json.loads(json.dumps(second.exception.kwargs))
        self.assertEqual(getattr(task(), second.exception.method_name)({}, **kwargs, event="fired"), (8, "fired"))
        self.assertEqual([asked for asked, _, _ in Answers.seen], ["claim", "heartbeat", "claim", "heartbeat", "claim", "job"])
        self.assertEqual([body for asked, body, _ in Answers.seen if asked == "heartbeat"], [
            {"nextWithin": "22200s", "seq": 1}, {"nextWithin": "7d", "seq": 2},
        ])
        claims = {key for key, (asked, _, _) in zip(Answers.keys, Answers.seen) if asked == "claim"}
        self.assertEqual(len(claims), 1)
        self.assertNotIn("orders", claims.pop())
        self.assertEqual(Answers.seen[-1][1]["result"], "success")

    def test_deferred_task_that_has_lost_its_attempt_fails(self) -> None:
        self.gates(OPEN)
        task = GatedSubmit(task_id="submit", interlock_pipeline="orders")
        with self.assertRaises(TaskDeferred) as deferred:
            task.execute({})
        Answers.over = True
        with self.assertRaisesRegex(AirflowException, "lost its attempt: attempt 1 has ended: cancelled by ada"):
            task.interlock_resume({}, **deferred.exception.kwargs, event="fired")


if __name__ == "__main__":
    unittest.main()
