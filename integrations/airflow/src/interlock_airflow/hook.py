"""The client of an Airflow connection."""

from __future__ import annotations

from typing import Optional

from interlock import Client

from .compat import BaseHook

DEFAULT_CONNECTION = "interlock_default"


def client_of(connection: str, worker: Optional[str] = None) -> Client:
    """The client of an Airflow connection of type HTTP: its host (with a scheme, or the scheme in schema), port and password,
    which is the token."""
    given = BaseHook.get_connection(connection)
    url = given.host or "127.0.0.1"
    if "://" not in url:
        url = f"{given.schema or 'http'}://{url}"
    if given.port:
        url = f"{url}:{given.port}"
    return Client(url, given.password or "", worker=worker)
