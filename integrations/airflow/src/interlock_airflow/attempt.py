"""A mixin that runs any operator as the attempt that Interlock offers."""

from __future__ import annotations

import datetime
import functools
from typing import Any, Callable, Dict, Optional

from interlock import Attempt, Completed, Lost

from .compat import AirflowException, AirflowSkipException, TaskDeferred
from .hook import DEFAULT_CONNECTION, client_of


class InterlockAttempt:
    """Put it before an operator's class::

        class Load(InterlockAttempt, BashOperator):
            pass

        Load(task_id="load", bash_command="./load.sh", interlock_pipeline="orders", interlock_date="{{ ds }}")

    The operator's execute runs once its attempt is claimed. What it raises is reported as a failure; a run that is
    COMPLETED already skips the task. A deferred operator announces how long it will be silent, for its timeout or else
    until the attempt's deadline, and resumes the same attempt; if that was cancelled or given up meanwhile, the task fails.
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

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        fields = tuple(getattr(cls, "template_fields", ()))
        cls.template_fields = fields + tuple(f for f in ("interlock_pipeline", "interlock_date") if f not in fields)
        if "__init__" in cls.__dict__:
            return

        # Airflow prepares the constructor that an operator's own class defines, and needs one.
        @functools.wraps(InterlockAttempt.__init__)
        def init(self: Any, **given: Any) -> None:
            super(cls, self).__init__(**given)  # type: ignore[misc]

        cls.__init__ = init  # type: ignore[method-assign]

    def execute(self, context: Any, **kwargs: Any) -> Any:
        # Airflow 2.10 passes a keyword that shows the operator's own execute that a task instance
        # called it.
        client = client_of(self.interlock_conn_id, worker=worker_of(context))
        attempt = client.attempt(self.interlock_pipeline, self.interlock_date, wait=self.interlock_wait)
        run = super().execute  # type: ignore[misc]
        try:
            return self._interlock_run(attempt, lambda: run(context, **kwargs))
        except Completed as completed:
            raise AirflowSkipException(str(completed)) from None

    def interlock_resume(self, context: Any, interlock: Dict[str, Any], **kwargs: Any) -> Any:
        """Goes on with the attempt of a deferred task."""
        client = client_of(self.interlock_conn_id, worker=worker_of(context))
        state = interlock["attempt"]
        attempt = client.attempt(state["pipeline"], state["date"], wait=self.interlock_wait, resume=state)
        method = interlock["method"]
        run = super().execute if method == "execute" else getattr(self, method)  # type: ignore[misc]
        try:
            return self._interlock_run(attempt, lambda: run(context, **kwargs))
        except Lost as lost:
            raise AirflowException(f"the deferred task has lost its attempt: {lost}") from None

    def _interlock_run(self, attempt: Attempt, run: Callable[[], Any]) -> Any:
        with attempt:
            self.interlock_attempt = attempt
            try:
                return run()
            except TaskDeferred as deferred:
                state = attempt.defer(silence_of(deferred.timeout))
                resume = {"attempt": state, "method": deferred.method_name}
                kwargs = {**(deferred.kwargs or {}), "interlock": resume}
                raise TaskDeferred(
                    trigger=deferred.trigger, method_name="interlock_resume", kwargs=kwargs, timeout=deferred.timeout
                ) from None


# What Airflow needs at most to resume a task whose trigger has fired or timed out.
RESUME_SECONDS = 600


def silence_of(timeout: Any) -> str:
    """How long a deferred task may be silent. The server grants it until the attempt's deadline at most."""
    if timeout is None:
        return "7d"
    seconds = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)
    return f"{int(seconds) + RESUME_SECONDS}s"


def worker_of(context: Any) -> Optional[str]:
    """Names the task instance that is the worker."""
    task = context.get("ti") or context.get("task_instance")
    if task is None:
        return None
    return f"airflow:{task.dag_id}/{task.task_id}/{getattr(task, 'run_id', '')}/{getattr(task, 'try_number', 1)}"[:200]
