"""A real server for tests. INTERLOCK_BINARY names the binary."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import tempfile
import unittest
from typing import Optional

MANUAL = """
pipeline: {id: orders, owner: tests}
validation: {rules: [{key: landed, check: equals, field: complete, value: true}]}
job: {type: external, config: {heartbeat: 10s}, maxRetries: 1, retryBackoff: 1s}
"""

EXCLUDED = """
pipeline: {id: workdays, owner: tests}
schedule: {exclude: {dates: ["2026-03-03"]}}
job: {type: external}
"""

OWN = """
pipeline: {id: own, owner: tests}
"""


class Server:
    """interlock serve on a free port."""

    def __init__(self, directory: pathlib.Path, listen: str = "127.0.0.1:0") -> None:
        self.process = subprocess.Popen(
            [os.environ["INTERLOCK_BINARY"], "serve", "--pipelines", "pipelines", "--data", "data", "--listen", listen],
            cwd=directory,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.url = self._address()

    def _address(self) -> str:
        assert self.process.stderr is not None
        said = []
        for line in self.process.stderr:
            said.append(line)
            found = re.match(r"interlock listens on (\S+) ", line)
            if found:
                return found.group(1)
        raise AssertionError("the server ended: " + "".join(said))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()


@unittest.skipUnless("INTERLOCK_BINARY" in os.environ, "INTERLOCK_BINARY names no binary")
class ServerTest(unittest.TestCase):
    """A test with a server of its own."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        (self.directory / "pipelines").mkdir()
        for name, text in {"orders": MANUAL, "workdays": EXCLUDED, "own": OWN}.items():
            (self.directory / "pipelines" / f"{name}.yaml").write_text(text)
        self.server: Optional[Server] = None
        self.start()

    def start(self, listen: str = "127.0.0.1:0") -> None:
        self.server = Server(self.directory, listen)
        self.addCleanup(self.server.kill)
        self.url = self.server.url

    def restart(self) -> None:
        """Kills the server and starts another on the same address."""
        assert self.server is not None
        self.server.kill()
        self.start(self.url.split("//", 1)[1])
