"""The program harness: where it is, and what it answers with --json. Texts for people are passed on, never read."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Optional, Union

PathLike = Union[str, "os.PathLike[str]"]

# Of the checkout that this file is in, where the package is used out of it (`pip install --editable`).
_BUILT = Path(__file__).resolve().parents[3] / "build" / "release" / "harness"
_HOW = (
    "build it with `scripts/build` in a checkout and put build/release/harness into HARNESS_PROGRAM, or install it "
    "with `cmake --install` to where PATH finds it"
)


class HarnessError(Exception):
    """What the program said when it refused or failed.

    `status` is its exit status: 2 if something asked for was wrong, 1 if the work failed; None if the problem is none
    of the program's: it was not found, or a picture is not the one that was scored.
    """

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message, status)
        self.message = message
        self.status = status

    def __str__(self) -> str:
        return self.message


def find_program(program: Optional[PathLike] = None) -> str:
    """`program`, else $HARNESS_PROGRAM, else harness on PATH, else the one that was built in this checkout."""
    asked = os.fspath(program) if program is not None else os.environ.get("HARNESS_PROGRAM")
    if asked:
        found = shutil.which(asked)
        if found is None:
            raise HarnessError(f"{asked}: there is no such program; {_HOW}")
        return found
    found = shutil.which("harness") or shutil.which(str(_BUILT))
    if found is None:
        raise HarnessError(f"the program harness was not found; {_HOW}")
    return found


def options(values: Mapping[str, Any]) -> list[str]:
    """{"seeds": [42, 43], "train_prompts": "p", "fresh": True} -> --seeds=42,43 --train-prompts=p --fresh

    None and False leave an option out.
    """
    words = []
    for name, value in values.items():
        if value is None or value is False:
            continue
        option = "--" + name.replace("_", "-")
        words.append(option if value is True else f"{option}={_text(value)}")
    return words


def _text(value: Any) -> str:
    if isinstance(value, Iterable) and not isinstance(value, (str, os.PathLike)):
        return ",".join(str(one) for one in value)
    return str(value)


def ask(program: str, words: Sequence[str], live: bool = False) -> Any:
    """The --json document of `harness WORDS`. What it says on standard error goes to sys.stderr: if `live`, line by
    line as it comes, else once it has answered. KeyboardInterrupt stops it so that it can go on when it is asked again.
    """
    with tempfile.TemporaryFile() as answer:
        try:
            # A session of its own: a terminal would send Ctrl-C to both, and the second one stops work half-way.
            child = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=answer,
                                     stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
                                     start_new_session=True)
        except OSError as error:
            raise HarnessError(f"{program}: {error.strerror}; {_HOW}") from error
        with child:
            try:
                said, interrupted = _listen(child, live)
            except BaseException:
                child.terminate()
                raise
        answer.seek(0)
        text = answer.read().decode("utf-8", "replace")
    if interrupted:
        raise KeyboardInterrupt(_problem(text) or "harness was interrupted")
    if child.returncode != 0:
        message = _problem(text) or said.strip() or f"{program} ended with status {child.returncode}"
        raise HarnessError(message, child.returncode)
    try:
        document = json.loads(text)
    except ValueError as error:
        raise HarnessError(f"{program}: its answer is not a JSON document; is it the program harness?") from error
    if not live:
        sys.stderr.write(said)
    return document


def _listen(child: subprocess.Popen[str], live: bool) -> tuple[str, bool]:
    """What the child says until it ends, and whether it was interrupted on the way."""
    lines: list[str] = []
    interrupted = False
    while True:
        try:
            _read(child.stderr, lines, live)
            child.wait()
            return "".join(lines), interrupted
        except KeyboardInterrupt:
            interrupted = True
            child.send_signal(signal.SIGINT)


def _read(pipe: Optional[IO[str]], lines: list[str], live: bool) -> None:
    for line in pipe or ():
        lines.append(line)
        if live:
            sys.stderr.write(line)
            sys.stderr.flush()


def _problem(text: str) -> str:
    """"where: what; hint" of an error document; "" if there is none."""
    try:
        error = json.loads(text)["error"]
        place = f"{error['where']}: " if error["where"] else ""
        hint = f"; {error['hint']}" if error["hint"] else ""
        return f"{place}{error['what']}{hint}"
    except (ValueError, TypeError, KeyError):
        return ""
