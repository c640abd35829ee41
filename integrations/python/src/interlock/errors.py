"""What can go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

if TYPE_CHECKING:
    from .model import Gate


class InterlockError(Exception):
    """Any error of this package."""


class Unreachable(InterlockError):
    """The server could not be asked, or did not answer as an Interlock server."""


class Problem(InterlockError):
    """The server's refusal (RFC 9457)."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status = status
        self.type: str = str(body.get("type", "about:blank"))
        self.detail: str = str(body.get("detail") or body.get("title") or f"the server answered {status}")
        self.request_id: str = str(body.get("requestId", ""))
        self.body = dict(body)
        super().__init__(self.detail)


class NotClaimed(InterlockError):
    """There was nothing to run. gate is what was seen last, if anything was."""

    def __init__(self, reason: str, gate: Optional["Gate"] = None) -> None:
        super().__init__(reason)
        self.gate = gate


class Completed(NotClaimed):
    """The run is COMPLETED already."""


class GateClosed(NotClaimed):
    """The gate stayed closed."""


class Held(NotClaimed):
    """Another worker has the attempt."""


class Unavailable(NotClaimed):
    """The period is excluded, the pipeline paused or in a dry run, or there is no such pipeline, period or run."""


class Lost(InterlockError):
    """The attempt is no longer this worker's: it was given up, cancelled, or has a result."""


class Stopped(BaseException):
    """Raised inside an attempt that may not go on: it is no longer this worker's, or the server cannot be reached and
    job.config.onSilence is stop. Like KeyboardInterrupt it is no Exception. Clean up and let it pass: around the attempt it
    becomes Lost. A job that goes on is ended with its process."""


class PermanentError(Exception):
    """Raise it inside an attempt for a failure that another try would meet again: its category is PERMANENT."""

    interlock_category = "PERMANENT"


class TransientError(Exception):
    """Raise it inside an attempt for a failure that another try may not meet: its category is TRANSIENT."""

    interlock_category = "TRANSIENT"
