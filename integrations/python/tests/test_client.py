"""The client against a real server."""

from __future__ import annotations

import socket
import threading
import unittest

import interlock
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
        self.assertEqual(self.client.claim("orders", DAY, schedule="manual", key="k"), first)
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


class AwayTest(unittest.TestCase):
    def test_no_server(self) -> None:
        with self.assertRaises(interlock.Unreachable):
            interlock.Client("http://127.0.0.1:1").gate("orders")
        with self.assertRaises(ValueError):
            interlock.Client("127.0.0.1:8740")

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
