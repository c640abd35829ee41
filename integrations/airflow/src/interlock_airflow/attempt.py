"""A mixin that runs any operator as the attempt that Interlock offers."""

from __future__ import annotations

from typing import Any, Optional

from interlock import Completed

from .compat import AirflowSkipException
from .hook import DEFAULT_CONNECTION, client_of


class InterlockAttempt:
    """Put it before an operator's class::

        class Load(InterlockAttempt, BashOperator):
            pass

        Load(task_id="load", bash_command="./load.sh", interlock_pipeline="orders", interlock_date="{{ ds }}")

    The operator's execute runs once its attempt is claimed. What it raises is reported as a failure; a run that is
    COMPLETED already skips the task. The attempt of a deferred operator cannot be held: use an operator that is not.
    """

    def __init__(
        self,
        *,
        interlock_pipeline: str,
        interlock_date: Optional[str] = None,
        interlock_wait: float = 0,
        interlock_conn_id: str = DEFAULT_CONNECTION,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.interlock_pipeline = interlock_pipeline
        self.interlock_date = interlock_date
        self.interlock_wait = interlock_wait
        self.interlock_conn_id = interlock_conn_id
        fields = tuple(getattr(type(self), "template_fields", ()))
        self.template_fields = fields + ("interlock_pipeline", "interlock_date")

    def execute(self, context: Any, **kwargs: Any) -> Any:
        # Airflow 2.10 passes a keyword that shows the operator's own execute that a task instance
        # called it.
        client = client_of(self.interlock_conn_id, worker=worker_of(context))
        try:
            with client.attempt(self.interlock_pipeline, self.interlock_date, wait=self.interlock_wait) as attempt:
                self.interlock_attempt = attempt
                return super().execute(context, **kwargs)  # type: ignore[misc]
        except Completed as completed:
            raise AirflowSkipException(str(completed)) from None


def worker_of(context: Any) -> Optional[str]:
    """Names the task instance that is the worker."""
    task = context.get("ti") or context.get("task_instance")
    if task is None:
        return None
    return f"airflow:{task.dag_id}/{task.task_id}/{getattr(task, 'run_id', '')}/{getattr(task, 'try_number', 1)}"[:200]
