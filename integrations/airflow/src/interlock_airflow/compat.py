"""Where Airflow 2.10 and 3 keep the classes that this package builds on."""

from __future__ import annotations

try:  # Airflow 3
    from airflow.sdk import BaseHook, BaseSensorOperator
except ImportError:  # Airflow 2.10
    from airflow.hooks.base import BaseHook
    from airflow.sensors.base import BaseSensorOperator

from airflow.exceptions import AirflowException, AirflowSkipException, TaskDeferred
from airflow.triggers.base import BaseTrigger, TriggerEvent

__all__ = ["AirflowException", "AirflowSkipException", "BaseHook", "BaseSensorOperator", "BaseTrigger", "TaskDeferred", "TriggerEvent"]
