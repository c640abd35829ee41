"""The client against a real server."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import interlock
from interlock.model import instant
from server import ServerTest

DAY = "2026-03-03"


class ClientTest(ServerTest):
    def setUp(self) -> None:
        super().setUp()
        self.client = interlock.Client(self.url, worker="tests")

    def landed(self, complete: bool = True) -> None:
        self.client.push("orders", "landed", {"complete": complete}, date=DAY)

    def run_of(self, pipeline: str = "orders") -> dict:
        return self.client.run(pipeline, "manual", DAY)

    def test_push_is_a_reading_of_its_period(self) -> None:
        written = self.client.push("orders", "landed", {"complete": True}, date=DAY, source="etl")
        self.assertEqual((written.date, written.version > 0), (DAY, True))
        with self.assertRaises(interlock.Problem) as caught:
            self.client.push("nothing", "landed", {})
        self.assertEqual(caught.exception.status, 404)

    def test_gate_reports_rule_by_rule(self) -> None:
        gate = self.client.gate("orders", DAY)
        self.assertFalse(gate)
        self.assertEqual([(r.key, r.outcome) for r in gate.rules], [("landed", "unknown")])
        self.assertTrue(gate.reason)

    def test_wait_ends_when_the_gate_opens(self) -> None:
        self.client.open("orders", DAY)
        timer = threading.Timer(0.3, self.landed)
        timer.start()
        gate = self.client.wait("orders", DAY, timeout=30)
        timer.join()
        self.assertTrue(gate)

    def test_wait_ends_with_its_time(self) -> None:
        with self.assertRaises(interlock.GateClosed) as caught:
            self.client.wait("orders", DAY, timeout=0.2)
        self.assertIn("landed", str(caught.exception))

    def test_attempt_reports_success(self) -> None:
        self.landed()
        with self.client.attempt("orders", DAY) as attempt:
            self.assertEqual((attempt.date, attempt.number, attempt.run_id), (DAY, 1, f"orders/manual/{DAY}/1"))
            self.assertEqual(attempt.claim.env["INTERLOCK_DATE"], DAY)
            self.assertEqual(self.run_of()["status"], "RUNNING")
            with self.assertRaises(interlock.Held) as held:
                with self.client.attempt("orders", DAY):
                    self.fail("two workers have it")
            self.assertIn("tests", str(held.exception))
            attempt.log("all rows loaded")
        run = self.run_of()
        self.assertEqual(run["status"], "COMPLETED")
        self.assertIn("all rows loaded", run["attempts"][0]["output"])
        with self.assertRaises(interlock.Completed):
            with self.client.attempt("orders", DAY):
                self.fail("it ran again")

    def test_attempt_reports_the_exception_and_is_retried(self) -> None:
        self.landed()
        with self.assertRaises(interlock.TransientError):
            with self.client.attempt("orders", DAY):
                raise interlock.TransientError("connection reset")
        failed = self.run_of()["attempts"][0]
        self.assertEqual((failed["category"], failed["message"]), ("TRANSIENT", "TransientError: connection reset"))
        with self.client.attempt("orders", DAY, wait=60) as attempt:
            self.assertEqual(attempt.number, 2)
        self.assertEqual(self.run_of()["status"], "COMPLETED")

    def test_attempt_reports_no_tokens(self) -> None:
        self.landed()
        self.client._token = "runner-token-0123456789"
        with self.assertRaises(RuntimeError):
            with self.client.attempt("orders", DAY) as attempt:
                tokens = f"{attempt.claim.permit} and {self.client._token}"
                attempt.log(f"found {tokens}")
                raise RuntimeError(f"rejected {tokens}")
        failed = self.run_of()["attempts"][0]
        self.assertEqual(failed["message"], "RuntimeError: rejected *** and ***")
        self.assertIn("found *** and ***\n", failed["output"])
        self.assertNotIn("runner-token", failed["output"])

    def test_claim_is_repeatable_under_its_key(self) -> None:
        self.landed()
        self.client.open("orders", DAY)
        self.client.wait("orders", DAY, timeout=30)
        first = self.client.claim("orders", DAY, key="k")
        again = self.client.claim("orders", DAY, schedule="manual", worker="the same elsewhere", key="k")
        self.assertEqual((again.permit, again.run_id, again.env), (first.permit, first.run_id, first.env))
        with self.assertRaises(interlock.Problem) as caught:
            self.client.claim("orders", DAY, schedule="manual", worker="another")
        self.assertEqual(caught.exception.status, 409)
        self.client.heartbeat(first, "half way")
        self.client.report(first, "fail", message="no", category="PERMANENT")

    def test_attempt_survives_a_restart_of_the_server(self) -> None:
        self.landed()
        with self.client.attempt("orders", DAY) as attempt:
            self.restart()
            self.assertFalse(attempt.lost)
        self.assertEqual(self.run_of()["status"], "COMPLETED")

    def test_cancelled_attempt_is_lost(self) -> None:
        self.landed()
        with self.assertRaises(interlock.Lost):
            with self.client.attempt("orders", DAY):
                self.client.request("POST", f"/runs/orders/manual/{DAY}/cancel", {"reason": "wrong input"})

    def test_cancelled_job_is_stopped(self) -> None:
        self.landed()
        for swallows in (False, True):
            code = f"""
import interlock, sys, time
client = interlock.Client({self.url!r})
with client.attempt("orders", {DAY!r}, wait=60, grace=1) as attempt:
    client.request("POST", "/runs/orders/manual/{DAY}/cancel", {{"reason": "wrong input"}})
    while True:
        try:
            time.sleep(60)
        except interlock.Stopped:
            print("stopped", flush=True)
            if not {swallows}:
                raise
"""
            got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
            self.assertEqual(got.stdout, "stopped\n", got.stderr)
            if swallows:
                self.assertEqual(got.returncode, -signal.SIGKILL)
                self.assertIn("did not end in 1 s", got.stderr)
            else:
                self.assertIn("interlock.errors.Lost: attempt 1 of run", got.stderr)
                self.client.request("POST", f"/runs/orders/manual/{DAY}/reruns", {"reason": "again", "force": True})

    def test_deferred_attempt_is_resumed(self) -> None:
        self.landed()
        with self.client.attempt("orders", DAY) as attempt:
            claim, state = attempt.claim, attempt.defer("20m")
        run = self.run_of()
        self.assertEqual((run["status"], run["attempt"]), ("RUNNING", 1))
        self.assertGreater(instant(run["nextBy"]) - instant(run["lastHeartbeat"]), 1199)
        with interlock.Client(self.url, worker="another").attempt("orders", DAY, resume=json.loads(json.dumps(state))) as resumed:
            self.assertEqual((resumed.claim.permit, resumed.number), (claim.permit, 1))
            self.assertEqual(resumed.announce("7d"), claim.deadline)
        self.assertEqual((self.run_of()["status"], self.run_of()["attempt"]), ("COMPLETED", 1))
        with self.assertRaises(interlock.Lost):
            with self.client.attempt("orders", DAY, resume=state):
                self.fail("it ran again")

    def test_nothing_to_run(self) -> None:
        for kind, pipeline in ((interlock.Unavailable, "workdays"), (interlock.Unavailable, "nothing"), (interlock.Unavailable, "own")):
            with self.subTest(pipeline), self.assertRaises(kind):
                with self.client.attempt(pipeline, DAY):
                    self.fail("it ran")
        with self.assertRaises(interlock.Unavailable):
            with self.client.attempt("orders", "2026-02-30"):
                self.fail("it ran")
        with self.assertRaises(interlock.GateClosed):
            with self.client.attempt("orders", DAY):
                self.fail("it ran")

    def test_two_at_once_run_once(self) -> None:
        self.landed()
        ran, refused = [], []

        def work(name: str) -> None:
            try:
                with interlock.Client(self.url, worker=name).attempt("orders", DAY, wait=20):
                    ran.append(name)
            except (interlock.Held, interlock.Completed):
                refused.append(name)

        threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((len(ran), len(refused)), (1, 3))


class Silent(http.server.BaseHTTPRequestHandler):
    """A server that grants a claim and is never heard of again."""

    def do_GET(self) -> None:
        run = {"pipeline": "orders", "schedule": "manual", "date": DAY, "status": "TRIGGERING", "attempt": 1, "result": None}
        self.send({"pipeline": "orders", "date": DAY, "open": True, "outcome": "pass", "rules": [], "blockedBy": [],
                   "startCondition": None, "run": run, "retryAfterSeconds": None})

    def do_POST(self) -> None:
        if not self.path.endswith("/claim"):
            return self.server.waits.wait()
        self.send({"runId": f"orders/manual/{DAY}/1", "attempt": 1, "permit": "p", "heartbeatSeconds": 5, "deadline": None,
                   "env": {}, "onSilence": self.server.on_silence})

    def send(self, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


class SilenceTest(unittest.TestCase):
    """The heartbeat is 5 s, so the grace is 1.67 s: a job must begin to end 1.33 s after its claim, and end after 3 s."""

    def serve(self, on_silence: str) -> interlock.Client:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
        server.on_silence, server.waits = on_silence, threading.Event()
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        for end in (server.server_close, thread.join, server.shutdown, server.waits.set):
            self.addCleanup(end)
        return interlock.Client(f"http://127.0.0.1:{server.server_port}", timeout=1.0)

    def test_silent_job_is_stopped_in_the_main_thread(self) -> None:
        client, began = self.serve("stop"), time.monotonic()
        with self.assertRaisesRegex(interlock.Lost, "onSilence is stop"):
            with client.attempt("orders", DAY):
                time.sleep(60)
        self.assertLess(time.monotonic() - began, 5)

    def test_silent_job_is_stopped_in_another_thread(self) -> None:
        client, ends = self.serve("stop"), []

        def work() -> None:
            try:
                with client.attempt("orders", DAY):
                    while True:
                        time.sleep(0.01)
            except interlock.Lost as lost:
                ends.append(str(lost))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(30)
        self.assertEqual(len(ends), 1)

    def test_silent_job_that_goes_on_is_ended_with_its_programs(self) -> None:
        client = self.serve("stop")
        code = f"""
import interlock, subprocess, time
with interlock.Client({client.url!r}, timeout=1.0).attempt("orders", {DAY!r}):
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    print(child.pid, flush=True)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
"""
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
            out, said = job.communicate(timeout=60)
        self.assertEqual(job.returncode, -signal.SIGKILL)
        self.assertIn("did not end in", said)
        if sys.platform == "linux":
            with self.assertRaises(OSError):
                os.kill(int(out), 0)
                with open(f"/proc/{int(out)}/stat", encoding="ascii") as stat:  # an orphan may be a zombie for a moment
                    if stat.read().split()[2] == "Z":
                        raise ProcessLookupError

    def test_silence_changes_nothing_without_stop_or_in_a_shared_thread(self) -> None:
        for on_silence in ("continue", "stop"):
            client = self.serve(on_silence)

            async def wait() -> bool:
                attempt = client.attempt("orders", DAY, grace=0.1)
                attempt.__enter__()  # an event loop runs in this thread
                end = time.monotonic() + 10
                while not attempt.lost and time.monotonic() < end and on_silence == "stop":
                    await asyncio.sleep(0.05)
                attempt._beats.stop()
                return attempt.lost

            self.assertEqual(asyncio.run(wait()), on_silence == "stop")


class AwayTest(unittest.TestCase):
    def test_no_server(self) -> None:
        with self.assertRaises(interlock.Unreachable):
            interlock.Client("http://127.0.0.1:1").gate("orders")
        with self.assertRaises(ValueError):
            interlock.Client("127.0.0.1:8740")

    def test_no_request_outlives_its_time(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def drip() -> None:
                connection, _ = listener.accept()
                with connection:
                    try:
                        while True:
                            connection.sendall(b"H")
                            time.sleep(0.05)
                    except OSError:
                        pass  # the client has gone

            threading.Thread(target=drip, daemon=True).start()
            began = time.monotonic()
            with self.assertRaisesRegex(interlock.Unreachable, "did not answer within 0.3 s"):
                interlock.Client(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.3).gate("orders")
            self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(interlock.Client("http://127.0.0.1:1").timeout, 10)

    def test_answer_that_is_cut_short(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def answer() -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"open"')

            thread = threading.Thread(target=answer)
            thread.start()
            with self.assertRaises(interlock.Unreachable):
                interlock.Client(f"http://127.0.0.1:{listener.getsockname()[1]}").gate("orders")
            thread.join()


if __name__ == "__main__":
    unittest.main()
