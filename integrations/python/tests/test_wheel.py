"""The wheels of both packages, built as their pages say, without any download."""

from __future__ import annotations

import base64
import csv
import email
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

INTEGRATIONS = pathlib.Path(__file__).resolve().parent.parent.parent


class WheelTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def python(self, *args: str, **env: str) -> str:
        given = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **env)
        return subprocess.run(
            [sys.executable, *args], cwd=self.directory, env=given, check=True, capture_output=True, text=True
        ).stdout.strip()

    def build(self, package: str) -> pathlib.Path:
        return self.directory / self.python(str(INTEGRATIONS / package / "backend" / "wheel_backend.py"), ".")

    def test_wheel_can_be_used(self) -> None:
        wheel = self.build("python")
        said = self.python("-c", "import interlock; print(interlock.Client.__name__, interlock.__file__)", PYTHONPATH=str(wheel))
        self.assertIn(f"Client {wheel}", said)

    def test_wheels_are_complete(self) -> None:
        for package, name, needs in (
            ("python", "interlock", []),
            ("airflow", "interlock-airflow", ["interlock", "apache-airflow>=2.10"]),
        ):
            with self.subTest(package), zipfile.ZipFile(self.build(package)) as wheel:
                folder = name.replace("-", "_")
                sources = INTEGRATIONS / package / "src"
                modules = {p.relative_to(sources).as_posix() for p in sources.rglob("*.py")} | {f"{folder}/py.typed"}
                info = f"{folder}-0.1.0.dist-info"
                self.assertEqual(set(wheel.namelist()), modules | {f"{info}/{part}" for part in ("METADATA", "WHEEL", "RECORD")})
                metadata = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
                self.assertEqual((metadata["Name"], metadata["Requires-Python"]), (name, ">=3.9"))
                self.assertEqual(metadata.get_all("Requires-Dist", []), needs)
                self.check_record(wheel, f"{info}/RECORD")

    def check_record(self, wheel: zipfile.ZipFile, record: str) -> None:
        listed = list(csv.reader(io.StringIO(wheel.read(record).decode())))
        self.assertEqual([path for path, _, _ in listed], wheel.namelist())
        for path, digest, size in listed[:-1]:  # the record itself has neither
            data = wheel.read(path)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            self.assertEqual((digest, size), (f"sha256={want}", str(len(data))), path)

    def test_backends_are_the_same(self) -> None:
        both = [(INTEGRATIONS / package / "backend" / "wheel_backend.py").read_text() for package in ("python", "airflow")]
        self.assertEqual(both[0], both[1])


if __name__ == "__main__":
    unittest.main()
