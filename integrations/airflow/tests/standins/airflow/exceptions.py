from typing import Any, Dict, Optional


class AirflowException(Exception):
    pass


class AirflowSkipException(AirflowException):
    pass


class TaskDeferred(BaseException):
    def __init__(
        self, *, trigger: Any, method_name: str, kwargs: Optional[Dict[str, Any]] = None, timeout: Any = None
    ) -> None:
        self.trigger, self.method_name, self.kwargs, self.timeout = trigger, method_name, kwargs, timeout
