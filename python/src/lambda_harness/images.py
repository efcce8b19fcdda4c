"""Images of one prompt side by side: a column per method, a row per seed and sample."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Optional

from .program import HarnessError, PathLike

_STYLE = {
    "table": "border-collapse:collapse;text-align:left",
    "cell": "padding:4px 8px;vertical-align:top;text-align:left;max-width:256px",
    "image": "display:block;width:192px;height:auto",
}


@dataclass(frozen=True)
class Picture:
    """One scored image. `value` is None where the scorer failed, `path` where there is no image; `reason` says why."""

    method: str
    checkpoint: int
    seed: int
    sample: int
    path: Optional[Path]
    sha256: str
    value: Optional[float]
    reason: Optional[str]
    transcript: Optional[str]
    judgement: Optional[str]

    def data_uri(self) -> str:
        """Throws HarnessError if the file is not there, or is not the one that was scored."""
        if self.path is None:
            reason = self.reason or "there is no image"
            raise HarnessError(f"{self.method}, seed {self.seed}, sample {self.sample}: {reason}")
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise HarnessError(f"{self.path}: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise HarnessError(f"{self.path}: is not the picture that was scored: its checksum is another one")
        return "data:image/png;base64," + base64.b64encode(data).decode("ascii")

    def html(self, metric: str) -> str:
        score = "not scored: " + (self.reason or "") if self.value is None else f"{metric} {self.value:.4g}"
        texts = [text for text in (self.transcript, self.judgement) if text]
        lines = "".join(f"<div>{escape(text)}</div>" for text in [*texts, score])
        if self.path is None:
            return lines
        return f'<img src="{self.data_uri()}" style="{_STYLE["image"]}" alt="{escape(self.method)}">{lines}'


@dataclass(frozen=True)
class ImageGrid:
    """What a notebook shows as a table of images, each with what was read in it and its score."""

    prompt: str
    target: str
    position: int
    metric: str
    pictures: Sequence[Picture]

    @property
    def paths(self) -> list[Path]:
        """Of the images that there are."""
        return [picture.path for picture in self.pictures if picture.path is not None]

    def html(self) -> str:
        cell = f'style="{_STYLE["cell"]}"'
        methods = list(dict.fromkeys(picture.method for picture in self.pictures))
        by_place = {(p.seed, p.sample, p.method): p.html(self.metric) for p in self.pictures}
        head = "".join(f"<th {cell}>{escape(method)}</th>" for method in methods)
        body = ""
        for seed, sample in dict.fromkeys((p.seed, p.sample) for p in self.pictures):
            images = "".join(f"<td {cell}>{by_place.get((seed, sample, method), '')}</td>" for method in methods)
            body += f"<tr><th {cell}>seed {seed}<br>sample {sample}</th>{images}</tr>"
        title = f"<p>prompt {self.position}: {escape(self.prompt)}</p>"
        return f'{title}<table style="{_STYLE["table"]}"><tr><th></th>{head}</tr>{body}</table>'

    def _repr_html_(self) -> str:
        return self.html()

    def write(self, file: PathLike) -> Path:
        """Writes a page that needs no other file."""
        page = f'<!doctype html><meta charset="utf-8"><title>prompt {self.position}</title>{self.html()}\n'
        path = Path(os.fspath(file))
        path.write_text(page, encoding="utf-8")
        return path
