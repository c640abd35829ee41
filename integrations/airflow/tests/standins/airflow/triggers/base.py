from typing import Any


class BaseTrigger:
    def __init__(self, **kwargs: Any) -> None:
        pass


class TriggerEvent:
    def __init__(self, payload: Any) -> None:
        self.payload = payload
