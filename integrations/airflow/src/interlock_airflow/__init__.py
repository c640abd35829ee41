"""Interlock in Airflow: a sensor that waits for a gate, and a mixin that runs an operator as an attempt."""

from .attempt import InterlockAttempt
from .hook import client_of
from .sensor import InterlockGateSensor
from .trigger import InterlockGateTrigger

__all__ = ["InterlockAttempt", "InterlockGateSensor", "InterlockGateTrigger", "client_of"]
