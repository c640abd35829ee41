from typing import Any, Dict

from airflow.exceptions import TaskDeferred


class Connection:
    def __init__(self, host: str, port: int, schema: str, password: str) -> None:
        self.host, self.port, self.schema, self.password = host, port, schema, password


class BaseHook:
    connections: Dict[str, Connection] = {}

    @classmethod
    def get_connection(cls, name: str) -> Connection:
        return cls.connections[name]


class BaseSensorOperator:
    def __init__(self, *, task_id: str, timeout: float = 7 * 24 * 3600, **kwargs: Any) -> None:
        self.task_id, self.timeout = task_id, timeout

    def defer(self, *, trigger: Any, method_name: str) -> None:
        raise TaskDeferred(trigger=trigger, method_name=method_name)
