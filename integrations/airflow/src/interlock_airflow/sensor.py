"""A sensor that succeeds when Interlock allows a start."""

from __future__ import annotations

import time
from typing import Any, Dict, Optional, Sequence

from .compat import AirflowException, AirflowSkipException, BaseSensorOperator
from .hook import DEFAULT_CONNECTION, client_of
from .trigger import InterlockGateTrigger, event_of


class InterlockGateSensor(BaseSensorOperator):
    """Waits until a start of a pipeline's run is allowed, deferred to the triggerer.

    date is the period, such as ``{{ ds }}``; without it, the pipeline's current one. The sensor fails if the gate stays
    closed for its timeout, and is skipped if the run is COMPLETED already (skip_completed=False makes that a success).
    It returns the period.
    """

    template_fields: Sequence[str] = ("pipeline", "date")

    def __init__(
        self,
        *,
        pipeline: str,
        date: Optional[str] = None,
        interlock_conn_id: str = DEFAULT_CONNECTION,
        skip_completed: bool = True,
        deferrable: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.date = date
        self.interlock_conn_id = interlock_conn_id
        self.skip_completed = skip_completed
        self.deferrable = deferrable

    def execute(self, context: Any) -> Any:
        gate = client_of(self.interlock_conn_id).gate(self.pipeline, self.date)
        if gate.open or gate.retry_after_seconds is None:
            return self.execute_complete(context, event_of(gate))
        if not self.deferrable:
            return super().execute(context)
        self.defer(
            trigger=InterlockGateTrigger(self.interlock_conn_id, self.pipeline, gate.date, time.time() + self.timeout),
            method_name="execute_complete",
        )

    def poke(self, context: Any) -> bool:
        gate = client_of(self.interlock_conn_id).gate(self.pipeline, self.date)
        if not gate.open and gate.retry_after_seconds is None:
            self.execute_complete(context, event_of(gate))
        return gate.open or gate.blocked("completed")

    def execute_complete(self, context: Any, event: Dict[str, Any]) -> Optional[str]:
        """Ends the sensor with what the trigger saw."""
        if "error" in event:
            raise AirflowException(f"cannot ask Interlock about {self.pipeline}: {event['error']}")
        if event["completed"]:
            if self.skip_completed:
                raise AirflowSkipException(event["reason"])
            return event["date"]
        if not event["open"]:
            raise AirflowException(f"the gate of {self.pipeline} is closed for {event['date']}: {event['reason']}")
        return event["date"]
