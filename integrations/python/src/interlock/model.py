"""The server's answers. raw is each answer as it was sent."""

from __future__ import annotations

import datetime
import time
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional


@dataclass(frozen=True)
class Written:
    """A reading that was stored."""

    version: int
    updated_at: str
    date: Optional[str]


@dataclass(frozen=True)
class Rule:
    """The report on one rule."""

    key: str
    check: str
    outcome: str  # pass, fail or unknown
    effective_outcome: str  # after every "not" around it
    level: str
    value: Any
    reason: str
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Rule":
        return cls(
            raw["key"], raw["check"], raw["outcome"], raw["effectiveOutcome"], raw["level"], raw["value"], raw["reason"], raw
        )


@dataclass(frozen=True)
class StartBlock:
    """One reason why no start is allowed now."""

    code: str
    reason: str
    until: Optional[str]


@dataclass(frozen=True)
class Run:
    """A run and its status."""

    pipeline: str
    schedule: str
    date: str
    status: str
    attempt: int
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Run":
        return cls(raw["pipeline"], raw["schedule"], raw["date"], raw["status"], raw["attempt"], raw)


@dataclass(frozen=True)
class Gate:
    """The answer to "may I run?". It is true if a start is allowed now."""

    pipeline: str
    date: str
    open: bool
    outcome: str
    rules: List[Rule]
    blocked_by: List[StartBlock]
    start_condition: Optional[Rule]
    run: Optional[Run]
    retry_after_seconds: Optional[float]
    raw: Mapping[str, Any] = field(repr=False)

    def __bool__(self) -> bool:
        return self.open

    @property
    def reason(self) -> str:
        """The first reason why no start is allowed; empty if one is."""
        return self.blocked_by[0].reason if self.blocked_by else ""

    def blocked(self, *codes: str) -> bool:
        return any(b.code in codes for b in self.blocked_by)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Gate":
        start, run = raw["startCondition"], raw["run"]
        return cls(
            pipeline=raw["pipeline"],
            date=raw["date"],
            open=raw["open"],
            outcome=raw["outcome"],
            rules=[Rule.of(r) for r in raw["rules"]],
            blocked_by=[StartBlock(b["code"], b["reason"], b["until"]) for b in raw["blockedBy"]],
            start_condition=Rule.of(start) if start else None,
            run=Run.of(run) if run else None,
            retry_after_seconds=raw["retryAfterSeconds"],
            raw=raw,
        )


@dataclass(frozen=True)
class Claim:
    """An attempt that this worker alone may run."""

    pipeline: str
    schedule: str
    date: str
    run_id: str
    attempt: int
    permit: str = field(repr=False)
    heartbeat_seconds: float
    deadline: Optional[str]
    """When the result must be reported at the latest. It never moves."""
    env: Dict[str, str] = field(repr=False)
    traceparent: Optional[str] = None
    """The attempt's trace (W3C Trace Context), for the job to continue."""
    next_by: Optional[str] = None
    """When the worker counts as lost without a heartbeat."""
    seq: int = 0
    """The highest number of a heartbeat of the attempt so far."""
    on_silence: str = "continue"
    """What to do when no heartbeat can be sent: continue, or stop the job before next_by."""

    @property
    def every(self) -> float:
        """Seconds between two heartbeats: a third of what the server allows."""
        if self.heartbeat_seconds <= 0:
            return 30.0
        return min(max(self.heartbeat_seconds / 3, 1.0), 30.0)


@dataclass(frozen=True)
class Beaten:
    """The answer to a heartbeat."""

    next_by: Optional[str]
    """When the worker counts as lost without another heartbeat; None if it never does."""
    deadline: Optional[str]


def instant(text: Optional[str]) -> float:
    """The seconds since the epoch of an instant as the server writes it; an hour from now without one."""
    if not text:
        return time.time() + 3600
    whole = text.replace("Z", "+00:00")
    if "." in whole:  # before 3.11, fromisoformat takes fractions of three or six digits only
        head, rest = whole.split(".", 1)
        sign = max(rest.find("+"), rest.find("-"))
        whole = f"{head}.{rest[:sign][:6].ljust(6, '0')}{rest[sign:]}"
    return datetime.datetime.fromisoformat(whole).timestamp()
