"""Makes recorded files neutral: neutral.py ANCHOR FILE...

It shifts all times of a file, so that the first one behind the text ANCHOR, or else the first of all,
becomes 06:00 on 2026-03-03. It numbers random ids, replaces directories, drops fields that are long
and that nothing reads, and sorts the rest.
"""

import json
import os
import re
import sys
from datetime import datetime, timezone

BASE = datetime(2026, 3, 3, 6, tzinfo=timezone.utc)
LONG = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?=Z|\+00:00)")
SHORT = re.compile(r"\d{8}T\d{6}\.\d+(?=Z)")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DROPPED = {"queries", "metrics", "compiled_code", "exception_traceback", "timing", "package_options", "identities"}


def parse(text):
    short = "-" not in text
    form = ("%Y%m%dT%H%M%S" if short else "%Y-%m-%dT%H:%M:%S") + (".%f" if "." in text else "")
    return datetime.strptime(text, form).replace(tzinfo=timezone.utc), form


def trimmed(value):
    if isinstance(value, dict):
        return {k: trimmed(v) for k, v in value.items() if k not in DROPPED}
    if isinstance(value, list):
        return [trimmed(v) for v in value]
    return value


def neutral(text, anchor):
    at = max(text.find(anchor), 0)
    found = LONG.search(text, at) or SHORT.search(text, at)
    if found:
        delta = BASE - parse(found.group())[0]

        def shifted(match):
            at, form = parse(match.group())
            return (at + delta).strftime(form)

        text = SHORT.sub(shifted, LONG.sub(shifted, text))
    ids = {}
    text = UUID.sub(lambda m: ids.setdefault(m.group(), f"00000000-0000-4000-8000-{len(ids) + 1:012d}"), text)
    for directory, name in (os.getcwd(), "/project"), (os.environ["VENV"], "/venv"), (os.environ["HOME"], "/home/user"):
        text = text.replace(directory, name)
    return text


for path in sys.argv[2:]:
    with open(path) as file:
        value = trimmed(json.load(file))
    text = neutral(json.dumps(value, indent=1, sort_keys=True), sys.argv[1])
    with open(path, "w") as file:
        file.write(text + "\n")
