"""Waiting for a gate in Airflow's triggerer, where it takes no worker slot."""

from __future__ import annotations

import asyncio
import time
from typing import Any, AsyncIterator, Dict, Optional, Tuple

from interlock import Gate, Problem, Unreachable

from .compat import BaseTrigger, TriggerEvent
from .hook import client_of

HOLD = 60.0  # how long the server holds one question


class InterlockGateTrigger(BaseTrigger):
    """Fires when a start is allowed, when waiting is pointless, or at the end of its time."""

    def __init__(self, connection: str, pipeline: str, date: Optional[str], end: float) -> None:
        super().__init__()
        self.connection = connection
        self.pipeline = pipeline
        self.date = date
        self.end = end  # seconds since the epoch

    def serialize(self) -> Tuple[str, Dict[str, Any]]:
        given = {"connection": self.connection, "pipeline": self.pipeline, "date": self.date, "end": self.end}
        return "interlock_airflow.trigger.InterlockGateTrigger", given

    async def run(self) -> AsyncIterator[TriggerEvent]:
        client = await asyncio.to_thread(client_of, self.connection)
        while True:
            began = time.monotonic()
            hold = max(0.0, min(HOLD, self.end - time.time()))
            try:
                gate = await asyncio.to_thread(client.gate, self.pipeline, self.date, wait=hold)
            except (Problem, Unreachable) as error:
                if isinstance(error, Problem) and error.status < 500 and error.status != 429 or time.time() >= self.end:
                    yield TriggerEvent({"open": False, "error": str(error)})
                    return
                await asyncio.sleep(min(10.0, max(0.0, self.end - time.time())))
                continue
            if gate.open or gate.retry_after_seconds is None or time.time() >= self.end:
                yield TriggerEvent(event_of(gate))
                return
            # A server that answered before the time was over is not asked more often than once a
            # minute.
            await asyncio.sleep(max(0.0, hold - (time.monotonic() - began)))


def event_of(gate: Gate) -> Dict[str, Any]:
    """What a gate says, for the sensor."""
    return {"open": gate.open, "date": gate.date, "reason": gate.reason, "completed": gate.blocked("completed")}
