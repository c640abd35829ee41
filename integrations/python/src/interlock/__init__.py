"""Client of Interlock, a safety controller for data pipelines.

It pushes sensors, asks whether a job may start, and runs a job as the attempt that Interlock offers::

    client = interlock.Client("https://interlock.example.com", token)
    with client.attempt("orders", wait=3600) as attempt:
        load(attempt.date)

It needs nothing but the standard library.
"""

from .attempt import Attempt
from .client import Client
from .errors import (
    Completed,
    GateClosed,
    Held,
    InterlockError,
    Lost,
    NotClaimed,
    PermanentError,
    Problem,
    Stopped,
    TransientError,
    Unavailable,
    Unreachable,
)
from .model import Beaten, Claim, Gate, Rule, Run, StartBlock, Written

__all__ = [
    "Attempt",
    "Beaten",
    "Claim",
    "Client",
    "Completed",
    "Gate",
    "GateClosed",
    "Held",
    "InterlockError",
    "Lost",
    "NotClaimed",
    "PermanentError",
    "Problem",
    "Rule",
    "Run",
    "StartBlock",
    "Stopped",
    "TransientError",
    "Unavailable",
    "Unreachable",
    "Written",
]
