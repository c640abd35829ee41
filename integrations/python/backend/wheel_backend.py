"""Builds the wheel of the package beside it (PEP 517) with the standard library alone: building downloads nothing.

The metadata is in pyproject.toml; this file reads the few lines of it that a wheel needs. integrations/python and
integrations/airflow hold the same file, because a backend must be inside the package that it builds.

Without pip: python3 backend/wheel_backend.py DIRECTORY
"""

from __future__ import annotations

import base64
import hashlib
import json
import pathlib
import re
import sys
import zipfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same files make the same wheel


def _setting(name: str) -> Any:
    """A setting of pyproject.toml. Strings and lists of strings on one line are written in TOML as in JSON."""
    found = re.search(rf"^{re.escape(name)} = (.*)$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    if found is None:
        raise RuntimeError(f"pyproject.toml has no {name}")
    return json.loads(found.group(1))


def _metadata() -> str:
    fields = [
        "Metadata-Version: 2.1",
        f"Name: {_setting('name')}",
        f"Version: {_setting('version')}",
        f"Summary: {_setting('description')}",
        f"Project-URL: Source, {_setting('Source')}",
        f"Requires-Python: {_setting('requires-python')}",
        "License: Apache-2.0",
        *(f"Requires-Dist: {needed}" for needed in _setting("dependencies")),
        *(f"Classifier: {classifier}" for classifier in _setting("classifiers")),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(fields) + "\n\n" + (ROOT / "README.md").read_text(encoding="utf-8")


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Writes the wheel and returns its name."""
    name = f"{_setting('name').replace('-', '_')}-{_setting('version')}"
    files = {
        path.relative_to(ROOT / "src").as_posix(): path.read_bytes()
        for path in sorted((ROOT / "src").rglob("*"))
        if path.suffix == ".py" or path.name == "py.typed"
    }
    info = f"{name}.dist-info"
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: wheel_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as out:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            out.writestr(entry, data)
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 backend/wheel_backend.py DIRECTORY")
    print(build_wheel(sys.argv[1]))
