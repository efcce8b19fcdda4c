"""lambda_harness against the program that was built. In the folder python, with HARNESS_PROGRAM naming the program:

    PYTHONPATH=src python3 -m unittest discover -s tests
"""

import base64
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path

from lambda_harness import HarnessError, Workspace
from lambda_harness.program import find_program

ROOT = Path(__file__).resolve().parents[2]
# As small as it can be while two methods and two seeds are compared.
TABLE = {
    "extends": "sd35-ocr", "id": "small", "seeds": [42, 43], "claims": [],
    "methods": ["ratio-norm", "lambda-controlled"],
    "scales": {"smoke": {"checkpoints": [2], "limit": {"validation": 4, "test": 8},
                         "settings": {"updates": 2, "prompts_per_epoch": 4, "group_size": 4}}},
}


def setUpModule():
    global folder, table, workspace, reproduced, progress
    folder = Path(tempfile.mkdtemp(prefix="lambda-harness-"))
    unittest.addModuleCleanup(shutil.rmtree, folder)
    table = folder / "small.json"
    table.write_text(json.dumps(TABLE))
    workspace = Workspace(folder / "runs")
    told = StringIO()
    with redirect_stderr(told):
        reproduced = workspace.reproduce(table, scale="smoke")
    progress = told.getvalue()


def read(sql, *values):
    """Rows of the database, read by nothing of this project."""
    database = sqlite3.connect(f"file:{folder / 'runs/results.sqlite'}?mode=ro", uri=True)
    try:
        return database.execute(sql, values).fetchall()
    finally:
        database.close()


def run_harness(*words):
    """Standard output of the program itself."""
    return subprocess.run([find_program(), *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          encoding="utf-8").stdout


def value_of(method, seed, position, metric="ocr_reward", split="test"):
    rows = read("""
        SELECT m.value FROM metrics AS m
        JOIN evaluations AS e ON e.id = m.evaluation_id JOIN checkpoints AS c ON c.id = e.checkpoint_id
        JOIN runs AS r ON r.id = c.run_id JOIN prompts AS p ON p.id = m.prompt_id
        WHERE r.method = ? AND r.seed = ? AND p.position = ? AND m.name = ? AND e.split = ?""",
                method, seed, position, metric, split)
    (value,), = rows
    return value


class Case(unittest.TestCase):
    def setUp(self):
        self.told = StringIO()
        quiet = redirect_stderr(self.told)
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    @contextmanager
    def refused(self, pattern, status=2):
        with self.assertRaisesRegex(HarnessError, pattern) as raised:
            yield
        self.assertEqual(raised.exception.status, status)


class Tables(Case):
    def test_reproduce_returns_the_table_and_tells_its_progress(self):
        self.assertIn("train ratio-norm (seed 42)", progress)
        self.assertEqual(reproduced["method"].value_counts().to_dict(),
                         {"base": 2, "ratio-norm": 2, "lambda-controlled": 2})
        self.assertTrue(workspace.table().equals(reproduced))

    def test_a_row_of_the_table_has_the_numbers_of_the_view_v_results(self):
        for row in reproduced.to_dict("records"):
            (mean, std, n), = read("""
                SELECT mean, std, n FROM v_results
                WHERE method = ? AND seed = ? AND split = 'test' AND metric = 'cer'""", row["method"], row["seed"])
            self.assertEqual((row["metrics.cer.mean"], row["n"]), (mean, n))
            self.assertAlmostEqual(row["metrics.cer.std"], std, 12)

    def test_the_rest_of_the_document_is_in_attrs(self):
        (signature,), = read("SELECT signature FROM reproductions")
        self.assertEqual(reproduced.attrs["signature"], signature)
        self.assertNotIn("rows", reproduced.attrs)

    def test_a_table_is_found_by_number_and_by_id(self):
        for which in (1, "1", "small"):
            self.assertTrue(workspace.table(which).equals(reproduced))

    def test_experiments_and_runs_are_those_of_the_lists(self):
        self.assertEqual(list(workspace.experiments()["table"]), ["small"])
        self.assertEqual(set(workspace.runs()["name"]), {run for run, in read("SELECT id FROM runs")})

    def test_a_plan_is_a_frame_of_jobs_and_runs_nothing(self):
        jobs = workspace.reproduce(table, scale="smoke", seeds=[44], methods=["ratio-norm"], settings={"lr": 2e-5},
                                   dry_run=True)
        self.assertIn("train ratio-norm (seed 44)", set(jobs["name"]))
        self.assertFalse(jobs["done"].any())
        self.assertEqual(jobs.attrs["scale"], "smoke")

    def test_a_plan_of_several_tables_has_the_jobs_of_each(self):
        (folder / "clip.json").write_text(json.dumps({
            "extends": "./small.json", "id": "clip", "task": "glyph-clip", "reproduces": "",
            "selection": {"metric": "exact_match"}, "columns": [{"name": "exact_match"}]}))
        both = folder / "both.json"
        both.write_text(json.dumps({
            "id": "both", "title": "two tasks", "tables": ["./small.json", "./clip.json"],
            "columns": [{"title": "Score", "of": {"small": "ocr_reward", "clip": "exact_match"}}]}))
        jobs = workspace.reproduce(both, scale="smoke", dry_run=True)
        self.assertEqual(set(jobs["table"]), {"small", "clip"})
        self.assertEqual(jobs.attrs["table"], "both")
        self.assertIn("seconds", jobs.attrs["estimate"])


class Scored(Case):
    def test_score_compares_images_of_any_system_and_returns_the_table(self):
        folders = {row: path for row, path in read(
            "SELECT r.method, e.folder FROM evaluations e JOIN checkpoints c ON c.id = e.checkpoint_id "
            "JOIN runs r ON r.id = c.run_id WHERE e.split = 'test' AND r.seed = 42 AND r.method <> 'base'")}
        other = Workspace(folder / "scored")
        with redirect_stderr(StringIO()):
            scored = other.score({name: folder.parent / path for name, path in folders.items()}, "ocr-generated",
                                 as_="theirs", metric=["ocr_reward", "cer"])
        self.assertEqual(set(scored["method"]), set(folders))
        drawn = workspace.table()
        for name in folders:
            column = "metrics.ocr_reward.mean"
            (ours,) = drawn.loc[(drawn["method"] == name) & (drawn["seed"] == 42), column]
            (theirs,) = scored.loc[scored["method"] == name, column]
            self.assertEqual(ours, theirs)
        jobs = other.score({"a": [folder.parent / path for path in folders.values()]}, "ocr-generated", dry_run=True)
        self.assertEqual(sum(jobs["kind"] == "test"), len(folders))

    def test_a_missing_image_is_its_reason_and_a_row_alone_has_values_and_images(self):
        prompts = folder / "prompts.txt"
        prompts.write_text("\n".join(f'a sign reading "WORD{i}"' for i in range(4)))
        pictures = iter([workspace.images(int(position)).paths[0] for position in workspace.metrics()["position"]])
        for name, count in (("a", 4), ("b", 3)):
            (folder / name).mkdir()
            for i in range(count):
                shutil.copy(next(pictures), folder / name / f"{i}.png")
        other = Workspace(folder / "given")
        other.score({"a": folder / "a", "b": folder / "b"}, prompts, metric="ocr_reward")
        grid = other.images(3)
        self.assertEqual([picture.path is None for picture in grid.pictures], [False, True])
        self.assertEqual(len(grid.paths), 1)
        self.assertIn("not scored: there is no image", grid.html())
        with self.refused("b, seed .*: there is no image", None):
            grid.pictures[1].data_uri()
        other.score({"a": folder / "a"}, prompts, metric="ocr_reward", as_="alone")
        self.assertEqual(list(other.metrics("alone").columns)[-1], "a")
        self.assertEqual(len(other.metrics("alone")), 4)
        self.assertEqual(len(other.images(0, "alone").paths), 1)


class Differences(Case):
    def test_compare_keeps_every_number_and_word_of_the_document(self):
        document = json.loads(run_harness("compare", "base", "ratio-norm", "lambda-controlled", "--metric=cer",
                                          "--json", "--out", str(folder / "runs")))
        frame = workspace.compare("base", "ratio-norm", "lambda-controlled", metric="cer")
        self.assertEqual(frame.attrs["warnings"], document["warnings"])
        for entry, row in zip(document["comparisons"], frame.to_dict("records")):
            self.assertEqual([row["ci95_low"], row["ci95_high"]], entry["ci95"])
            self.assertEqual([row["runs.ci95_low"], row["runs.ci95_high"]], entry["runs"]["ci95"])
            self.assertEqual(row["runs.delta_per_run.43"], entry["runs"]["delta_per_run"]["43"])
            for name, value in entry.items():
                if not name.startswith("ci95") and not isinstance(value, dict):
                    self.assertEqual(row[name], value, name)

    def test_comparisons_are_those_that_were_recorded(self):
        frame = workspace.comparisons()
        names = ["baseline", "method", "metric", "delta", "wins", "ci95_low"]
        recorded = read(f"SELECT {', '.join(names)} FROM comparisons WHERE split = 'test'")
        self.assertLessEqual(set(frame[names].itertuples(index=False, name=None)), set(recorded))
        self.assertEqual(len(frame), 3 * 5)  # pairs of rows, metrics of the table
        self.assertTrue(frame["verdict"].str.contains("these checkpoints").all())

    def test_metrics_give_each_prompt_the_value_of_each_method(self):
        frame = workspace.metrics(metric="cer")
        self.assertEqual(list(frame.columns), ["position", "prompt", "target", "sample", "seed", "base", "ratio-norm",
                                               "lambda-controlled"])
        self.assertEqual(len(frame), 2 * 8)
        for row in frame.to_dict("records"):
            for method in ("base", "ratio-norm", "lambda-controlled"):
                self.assertEqual(row[method], value_of(method, row["seed"], row["position"], "cer"))

    def test_the_metric_is_the_one_that_checkpoints_were_selected_by(self):
        frame = workspace.metrics(split="validation")
        self.assertEqual(frame.attrs, {"experiment": 1, "metric": "ocr_reward", "split": "validation"})
        self.assertEqual(len(frame), 2 * 4)

    def test_pairs_are_the_values_of_both_methods_and_their_difference(self):
        frame = workspace.paired("ratio-norm", "lambda-controlled", "cer")
        self.assertEqual(len(frame), 2 * 8)
        for row in frame.to_dict("records"):
            baseline = value_of("ratio-norm", row["seed"], row["position"], "cer")
            method = value_of("lambda-controlled", row["seed"], row["position"], "cer")
            self.assertEqual([row["baseline_value"], row["method_value"]], [baseline, method])
            self.assertEqual(row["delta"], method - baseline)

    def test_known_metrics_have_unit_and_direction(self):
        facts = workspace.known_metrics().set_index("name")
        self.assertEqual(list(facts.loc["exact_match", ["unit", "better"]]), ["percent", "higher"])
        self.assertEqual(facts.loc["cer", "better"], "lower")

    def test_training_has_every_number_of_every_update(self):
        (count,), = read("SELECT count(*) FROM train_stats")
        self.assertEqual(len(workspace.training()), count)
        reward = workspace.training("small", "reward_mean")
        recorded = read("""SELECT value FROM train_stats JOIN runs ON runs.id = run_id WHERE name = 'reward_mean'
                           ORDER BY method DESC, seed, update_index""")
        self.assertEqual(list(reward["value"]), [value for value, in recorded])
        self.assertTrue(reward["timestep"].isna().all())

    def test_a_query_takes_parameters_and_saved_names(self):
        frame = workspace.query("SELECT mean FROM v_results WHERE metric = :m AND mean > :least", m="cer", least=-1)
        self.assertEqual(len(frame), len(read("SELECT 1 FROM v_results WHERE metric = 'cer'")))
        self.assertEqual(workspace.query("-- a comment\nSELECT :x AS x", x=-1).to_dict("list"), {"x": [-1]})
        self.assertIn("reward_mean", workspace.query("training", method="ratio-norm"))


class Images(Case):
    def setUp(self):
        super().setUp()
        (self.position,), = read("""SELECT position FROM prompts JOIN samples ON prompt_id = prompts.id
                                    JOIN evaluations ON evaluations.id = evaluation_id WHERE split = 'test' LIMIT 1""")

    def test_a_grid_shows_the_files_that_were_scored(self):
        grid = workspace.images(self.position)
        recorded = {digest for digest, in read("""
            SELECT samples.sha256 FROM samples JOIN prompts ON prompts.id = prompt_id
            JOIN evaluations ON evaluations.id = evaluation_id WHERE split = 'test' AND position = ?""", self.position)}
        self.assertEqual({picture.sha256 for picture in grid.pictures}, recorded)
        shown = [base64.b64decode(data) for data in re.findall(r"data:image/png;base64,([^\"]+)", grid._repr_html_())]
        self.assertEqual(shown, [path.read_bytes() for path in grid.paths])
        self.assertEqual([picture.method for picture in grid.pictures], ["base", "ratio-norm", "lambda-controlled"] * 2)

    def test_each_image_has_its_transcript_and_score(self):
        grid = workspace.images(self.position, metric="cer")
        for picture in grid.pictures:
            self.assertEqual(picture.value, value_of(picture.method, picture.seed, self.position, "cer"))
            self.assertIn(f"cer {picture.value:.4g}", grid.html())

    def test_a_workspace_may_be_moved(self):
        copy = folder / "elsewhere"
        shutil.copytree(folder / "runs", copy)
        self.addCleanup(shutil.rmtree, copy)
        for place in (Workspace(copy), Workspace(db=copy / "results.sqlite")):
            for path in place.images(self.position).paths:
                self.assertTrue(path.is_file() and copy in path.parents, path)

    def test_an_image_that_was_changed_is_refused(self):
        copy = folder / "changed"
        shutil.copytree(folder / "runs", copy)
        self.addCleanup(shutil.rmtree, copy)
        grid = Workspace(copy).images(self.position)
        grid.paths[0].write_bytes(grid.paths[1].read_bytes() + b"?")
        with self.refused("0+.*png: is not the picture that was scored", None):
            grid.html()

    def test_text_of_prompts_is_no_html(self):
        grid = workspace.images(self.position)
        self.assertNotIn("<b>", type(grid)("<b>", "", 0, "cer", grid.pictures).html())


class Errors(Case):
    def test_a_workspace_that_is_not_there_is_the_programs_message(self):
        nowhere = Workspace(folder / "nowhere")
        for read_it in (nowhere.table, nowhere.metrics, nowhere.training):
            with self.refused("there is no results database; run `harness reproduce"):
                read_it()
        with self.refused("there is no workspace at"):
            nowhere.runs()

    def test_unknown_names_are_the_programs_messages(self):
        for ask, message in [
            (lambda: workspace.table("nope"), 'no completed experiment of table "nope"; known: small'),
            (lambda: workspace.metrics("nope"), 'no completed experiment of table "nope"; known: small'),
            (lambda: workspace.training(9), "no completed experiment fits --experiment 9"),
            (lambda: workspace.metrics(metric="nope"), 'experiment 1 has no metric "nope"; there are: '),
            (lambda: workspace.images(0, split="nope"), 'was not evaluated on a split "nope"; there are: '),
            (lambda: workspace.compare("base", "nope"), 'experiment 1 has no row "nope"; known: base, '),
            (lambda: workspace.paired("base", "nope"), 'unknown method "nope"; there are: base, '),
            (lambda: workspace.table(nope=1), 'unknown option "--nope"'),
            (lambda: workspace.query("DELETE FROM runs"), "a query is one SELECT"),
            (lambda: workspace.reproduce("nope"), 'nope'),
            (lambda: workspace.reproduce(table, settings={"l": True}), '--set l=true: unknown setting "l"'),
        ]:
            with self.subTest(message), self.refused(re.escape(message)):
                ask()

    def test_what_an_experiment_does_not_have_is_said(self):
        with self.refused("has no prompt 100000 on its test split", None):
            workspace.images(100000)
        with self.refused("has no training statistic nope", None):
            workspace.training(name="nope")

    def test_a_missing_program_is_told_how_to_get(self):
        with self.refused("scripts/build.*HARNESS_PROGRAM", None):
            Workspace(program=folder / "harness")

    def test_another_program_is_not_taken_for_it(self):
        with self.refused("is not a JSON document", None):
            Workspace(program="echo").table()
        with self.refused("false ended with status 1", 1):
            Workspace(program="false").table()

    def test_an_interrupted_run_is_stopped_and_can_go_on(self):
        runs = folder / "interrupted"
        code = """import sys; from lambda_harness import Workspace
Workspace(sys.argv[1]).reproduce(sys.argv[2], scale="smoke")"""
        with subprocess.Popen([sys.executable, "-c", code, str(runs), str(table)], stderr=subprocess.PIPE,
                              encoding="utf-8") as python:
            first = python.stderr.readline()
            python.send_signal(signal.SIGINT)
            said = first + python.stderr.read()
        self.assertRegex(said, "KeyboardInterrupt: .*completed work is saved")
        self.assertNotEqual(python.returncode, 0)
        self.assertFalse(Workspace(runs).reproduce(table, scale="smoke", dry_run=True)["done"].all())


class Package(Case):
    def test_the_example_runs(self):
        done = subprocess.run([sys.executable, ROOT / "python/examples/explore.py", folder / "runs", table],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(reproduced.attrs["signature"], done.stdout)
        self.assertIn("data:image/png;base64,", (folder / "runs/images.html").read_text(encoding="utf-8"))

    def test_the_version_is_that_of_the_program(self):
        project = (ROOT / "python/pyproject.toml").read_text()
        version, = re.findall(r'^version = "(.+)"$', project, re.MULTILINE)
        self.assertIn(version, run_harness("--version").split())


if __name__ == "__main__":
    unittest.main()
