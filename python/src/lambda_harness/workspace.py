"""A workspace of harness: what was run in it, and running more."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from pandas import DataFrame

from . import queries
from .images import ImageGrid, Picture
from .program import HarnessError, PathLike, ask, find_program, options

Which = Union[int, str, None]  # number of an experiment, id of a table (its last experiment), None: the last of all

_PLACE = ["position", "prompt", "target", "sample", "seed"]


class Workspace:
    """The folder that `harness reproduce --out` was given; `runs` if neither it nor the database is named.

    `which` chooses an experiment: its number, the id of a table (its last one), or None for the last one of all.
    Further keywords are options of the command: `scale="smoke"`, `seeds=[42, 43]`, `train_prompts="my-prompts"`.
    What the program refuses is a HarnessError with its words.
    """

    def __init__(self, out: Optional[PathLike] = None, db: Optional[PathLike] = None,
                 program: Optional[PathLike] = None) -> None:
        self.program = find_program(program)
        self.folder = Path(out) if out is not None else Path(db).parent if db is not None else Path("runs")
        self._place = options({"out": out, "db": db})

    def experiments(self) -> DataFrame:
        """`harness list experiments`: `name` is the number that `which` takes."""
        return DataFrame(self._ask("list", "experiments"))

    def runs(self) -> DataFrame:
        """`harness list runs`: trainings, and the base model (method base)."""
        return DataFrame(self._ask("list", "runs"))

    def table(self, which: Which = None, **more: Any) -> DataFrame:
        """`harness table`: a row per training run, after those of the base model (method base)."""
        return _frame(self._table(which, more), "reference", "rows")

    def comparisons(self, which: Which = None, **more: Any) -> DataFrame:
        """All paired differences of a table, with intervals, adjusted p-values and verdicts."""
        return _frame(self._table(which, more), "comparisons")

    def compare(self, baseline: str, *methods: str, metric: Optional[str] = None, split: Optional[str] = None,
                which: Which = None, **more: Any) -> DataFrame:
        """`harness compare`: a row per method and metric; delta = method - baseline."""
        words = options({"metric": metric, "split": split, **_chosen(which), **more})
        return _frame(self._ask("compare", *words, "--", baseline, *methods), "comparisons")

    def metrics(self, which: Which = None, metric: Optional[str] = None, split: str = "test") -> DataFrame:
        """A row per prompt, sample and seed, and a column per method with its value at the selected checkpoint.

        The metric is the one that checkpoints were selected by, unless another is named. NaN: its scorer failed.
        """
        experiment = self._experiment(which)
        metric = self._metric(experiment, metric, split)
        rows = self._query(queries.VALUES, experiment=experiment, metric=metric, split=split)
        values = DataFrame(rows, columns=[*_PLACE, "method", "value"]).astype({"value": "float64"})
        wide = values.pivot(index=_PLACE, columns="method", values="value")
        wide = wide[list(dict.fromkeys(values["method"]))].reset_index().rename_axis(columns=None)
        wide.attrs.update(experiment=experiment, metric=metric, split=split)
        return wide

    def known_metrics(self, which: Which = None) -> DataFrame:
        """Title, unit, better direction and decimals of the metrics, as recorded with the experiment.

        They are for printing: rates are fractions in every frame, also where the unit is percent.
        """
        (row,) = self._query(queries.METRICS_KNOWN, experiment=self._experiment(which))
        return DataFrame(json.loads(row["metrics"] or "[]"), columns=["name", "title", "unit", "better", "decimals"])

    def paired(self, baseline: str, method: str, metric: Optional[str] = None, split: Optional[str] = None,
               which: Which = None) -> DataFrame:
        """The saved query `differences`: a row per pair of images, the largest difference first."""
        return self.query("differences", baseline=baseline, method=method, metric=metric, split=split,
                          **_chosen(which))

    def training(self, which: Which = None, name: Optional[str] = None) -> DataFrame:
        """What every update measured, a row per number (trainers/METRICS.md); `name` keeps one statistic.

        timestep is NaN for a number of the whole update.
        """
        experiment = self._experiment(which)
        rows = self._query(queries.TRAINING, experiment=experiment, name=name or "")
        if name and not rows:
            raise HarnessError(f"experiment {experiment} has no training statistic {name}; "
                               "the column name of training() has those that it has")
        columns = ["method", "seed", "update_index", "timestep", "name", "value", "fresh", "on_policy"]
        frame = DataFrame(rows, columns=columns).astype({"timestep": "float64", "value": "float64"})
        frame.attrs.update(experiment=experiment)
        return frame

    def images(self, position: int, which: Which = None, metric: Optional[str] = None,
               split: str = "test") -> ImageGrid:
        """The images that the selected checkpoints drew for the prompt at `position` of its set."""
        experiment = self._experiment(which)
        metric = self._metric(experiment, metric, split)
        rows = self._query(queries.PICTURES, experiment=experiment, metric=metric, split=split, position=position)
        if not rows:
            raise HarnessError(f"experiment {experiment} has no prompt {position} on its {split} split; "
                               "the column position of metrics() has those that it has")
        return ImageGrid(rows[0]["prompt"], rows[0]["target"], position, metric, [self._picture(row) for row in rows])

    def query(self, sql: str, /, **parameters: Any) -> DataFrame:
        """`harness query`: a SELECT, or the name of a saved query. `metric="cer"` is the value of :metric."""
        return DataFrame(self._query(sql, **parameters))

    def reproduce(self, table: PathLike, seeds: Any = None, methods: Any = None, scale: Optional[str] = None,
                  settings: Optional[Mapping[str, Any]] = None, **more: Any) -> DataFrame:
        """`harness reproduce`: trains and tests what is missing, and returns the table as `table` does.

        `settings` is for --set: {"lr": 2e-5, "lambda-controlled.kappa": 0.1}. Progress goes to sys.stderr. After an
        interruption the same call goes on. With `dry_run=True` the rows are the jobs; a table of several tasks has
        those of each, with its id in the column `table`.
        """
        words = options({"table": table, "seeds": seeds, "methods": methods, "scale": scale, **more})
        return _rows_or_jobs(self._ask("reproduce", *words, *_assigned(settings), live=True))

    def score(self, rows: Mapping[str, Union[PathLike, Sequence[PathLike]]], prompts: PathLike,
              settings: Optional[Mapping[str, Any]] = None, **more: Any) -> DataFrame:
        """`harness score`: images of any system, scored and compared like a table, which is returned as `table` does.

        `rows` has the folder of each row's images, or a list of folders, one per training run. The first row is the
        baseline. With `dry_run=True` the rows are the jobs. `as_="mine"` names the table.
        """
        places = [f"{name}={place}" for name, folders in rows.items()
                  for place in ([folders] if isinstance(folders, (str, os.PathLike)) else folders)]
        named = {"as" if name == "as_" else name: value for name, value in more.items()}
        words = options({"prompts": prompts, **named})
        return _rows_or_jobs(self._ask("score", *places, *words, *_assigned(settings), live=True))

    def _ask(self, command: str, *words: str, live: bool = False) -> Any:
        return ask(self.program, [command, "--json", *self._place, *words], live)

    def _query(self, sql: str, /, **parameters: Any) -> Any:
        words = [word for name, value in parameters.items() if value is not None for word in ("-p", name, str(value))]
        return self._ask("query", *words, "--", sql)

    def _table(self, which: Which, more: Mapping[str, Any]) -> Any:
        return self._ask("table", *options({**_chosen(which), **more}))

    def _experiment(self, which: Which) -> int:
        rows = self._query(queries.EXPERIMENT, which="" if which is None else which)
        if not rows:
            parts = self._table(which, {})["parts"]  # the program's refusal, unless the table is one of several tasks
            raise HarnessError(f"{which} is a table of several tasks; name {' or '.join(p['table'] for p in parts)}")
        return int(rows[0]["id"])

    def _metric(self, experiment: int, metric: Optional[str], split: str) -> str:
        """The program's choice where none is named; it refuses a metric or split that the experiment has not."""
        rows = self._query("spend", experiment=experiment, metric=metric, split=split)
        return str(rows[0]["metric"])

    def _picture(self, row: Mapping[str, Any]) -> Picture:
        recorded = Path(row["folder"])
        here = self.folder / row["run"]  # the workspace may have been moved or copied
        evaluation = here / recorded.name if here.exists() else recorded
        path = evaluation / row["path"] if row["path"] else None
        return Picture(method=row["method"], checkpoint=row["checkpoint"], seed=row["seed"], sample=row["sample"],
                       path=path, sha256=row["sha256"], value=row["value"], reason=row["reason"],
                       transcript=row["transcript"], judgement=row["judgement"])


def _assigned(settings: Optional[Mapping[str, Any]]) -> list[str]:
    return [word for name, value in (settings or {}).items()
            for word in ("--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}")]


def _chosen(which: Which) -> dict[str, Any]:
    if which is None:
        return {}
    return {"experiment" if str(which).isdigit() else "table": which}


def _rows_or_jobs(document: Mapping[str, Any]) -> DataFrame:
    """The rows of a table, or the jobs of a dry run: those of several tables with the table's id before the rest."""
    if "rows" in document:
        return _frame(document, "reference", "rows")
    if "jobs" in document:
        return _frame(document, "jobs")
    jobs = [{"table": part["table"], **job} for part in document["parts"] for job in part["jobs"]]
    return _frame({**document, "jobs": jobs}, "jobs")


def _frame(document: Mapping[str, Any], *lists: str) -> DataFrame:
    """A row per entry of the lists; what else the document holds is in `attrs`."""
    frame = DataFrame([_flat(entry) for name in lists for entry in document[name]])
    frame.attrs.update({key: value for key, value in document.items() if key not in lists})
    return frame


def _flat(entry: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested names joined by dots; ends of intervals as in the database: NAME_low and NAME_high."""
    flat: dict[str, Any] = {}
    for key, value in entry.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        elif key.startswith("ci95"):
            flat[f"{prefix}{key}_low"], flat[f"{prefix}{key}_high"] = value or (None, None)
        else:
            flat[prefix + key] = value
    return flat
