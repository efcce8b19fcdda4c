#!/usr/bin/env python3
"""What scripts/gpu-check does on the machine with the GPU: tests, measurements, one table.

    gpu_check.py --programs BIN --model FROM --work DIR [--libraries PATHS] [--peer transformer_peer.py] [--device cuda:0] [--minutes 8]

BIN holds the project's programs of the cuda preset, FROM a small pipeline whose tokenizers are taken, DIR takes 10 GB. Ends with status 1 where a test
fails, is skipped, or two runs differ; a goal that is missed is said in the table and no failure.
"""
import argparse
import importlib.util
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

PEAK = 989  # TFLOP/s, dense bfloat16, of an H100 SXM and an H200
FORWARD = 2.22  # TFLOP of a velocity of SD3.5 Medium at 512 px; with guidance twice that
TRAINING = 9.94  # of a guided velocity with its gradient by a LoRA adapter, nothing recomputed
IMAGES = 8
TESTS = {"trainers_tests": "StepOpsCuda*", "models_tests": "GpuOps*:RecordedPasses*:BusyTimeOfAGpu*"}


class Check:
    def __init__(self, args):
        self.args, self.rows, self.failed = args, [], []
        self.work = pathlib.Path(args.work)
        self.work.mkdir(parents=True, exist_ok=True)
        self.begin = time.monotonic()

    def say(self, text):
        print(f"gpu-check: {time.monotonic() - self.begin:5.0f} s  {text}", file=sys.stderr, flush=True)

    def row(self, what, value, goal="", is_met=None):
        """A line of the table; said at once as well, as a lease may end before the table is printed."""
        self.rows.append((what, value, goal, "" if is_met is None else "yes" if is_met else "no"))
        self.say(f"  {what}: {value}" + (f" (goal {goal})" if goal else ""))
        (self.work / "table.txt").write_text(self.table())

    def fail(self, what, why):
        self.failed.append(what)
        self.row(what, f"FAILED: {why}")

    def left(self):
        return 60 * self.args.minutes - (time.monotonic() - self.begin)

    def run(self, words, seconds, log, accepted=(0,)):
        """Standard output of a program that ends with one of these statuses, or None; everything it says goes to DIR/LOG."""
        path = self.work / log
        env = dict(os.environ)
        if self.args.libraries and str(words[0]).startswith(self.args.programs):
            env["LD_LIBRARY_PATH"] = ":".join(filter(None, (self.args.libraries, env.get("LD_LIBRARY_PATH"))))
        env["HARNESS_STOP_MS"] = "3000"  # of the workers, which stop() below does not reach
        seconds = min(seconds, self.left())
        if seconds < 5:
            self.fail(log, f"no time left of the {self.args.minutes:g} minutes")
            return None
        child = None
        try:
            with open(path, "w") as err:
                child = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE, stderr=err, text=True, errors="replace", env=env, start_new_session=True)
                out = child.communicate(timeout=seconds)[0]
        except OSError as error:
            self.fail(log, str(error))
            return None
        except subprocess.TimeoutExpired:
            said = stop(child)
            with open(path, "a") as err:
                err.write(said)
            self.fail(log, f"not done in {seconds:.0f} s; see {path}")
            return None
        except BaseException:
            if child:
                stop(child)
            raise
        if child.returncode not in accepted:
            said = path.read_text(errors="replace") + out
            path.write_text(said)
            wrong = [line for line in said.splitlines() if "rror" in line or "FAILED" in line]
            self.fail(log, f"status {child.returncode}: {wrong[0][:160] if wrong else 'see ' + str(path)}")
            return None
        return out

    def stage(self, what, action, *arguments):
        """The action's result; None, and a failure, where it throws."""
        self.say(what)
        try:
            return action(*arguments)
        except Exception as error:  # the table is printed whatever happens
            self.fail(what, f"{type(error).__name__}: {error}")
            return None

    def program(self, name):
        return pathlib.Path(self.args.programs) / name

    def tests(self):
        for name, filter_ in TESTS.items():
            program = next((p for p in (self.program(name), self.program("tests") / name) if p.exists()), None)
            if program is None:
                self.fail(name, "not built")
                continue
            for pattern in filter_.split(":"):  # a process each: after an error of CUDA nothing else passes in it
                self.tests_of(program, pattern)

    def tests_of(self, program, pattern):
        suite = pattern.removesuffix("*")
        log = f"{program.name}-{suite}.log"
        out = self.run([program, f"--gtest_filter={pattern}"], 120, log, accepted=(0, 1))
        if out is None:
            return
        with open(self.work / log, "a") as file:  # behind what the program said on standard error
            file.write(out)
        found = {what: sorted(set(re.findall(rf"^\[ *{what} *\] ({suite}[\w/]*\.[\w/]+)", out, re.M))) for what in ("OK", "SKIPPED", "FAILED")}
        if found["FAILED"]:
            self.fail(pattern, f"{len(found['FAILED'])} failed, {len(found['OK'])} passed: {', '.join(found['FAILED'])}; see {self.work / log}")
        elif found["SKIPPED"] or not found["OK"]:
            why = re.search(r"Skipped\n(.*)", out)
            self.fail(pattern, f"{len(found['SKIPPED'])} skipped, {len(found['OK'])} passed" + (f": {why[1]}" if why else ""))
        else:
            self.row(f"tests {pattern}", f"{len(found['OK'])} passed")

    def kernels(self):
        out = self.run([self.program("bench-gpu"), "--device", self.args.device], 90, "bench-gpu.log", accepted=(0, 1))
        if out is None:
            return
        found = json.loads(out)
        self.row("device", found["device"])
        self.row("copy", f"{found['copy_tb_s']:.2f} TB/s read and written")
        self.row("product of 8192 x 8192, bfloat16", f"{found['product_tflop_s']:.0f} TFLOP/s")
        for kernel in found["kernels"]:
            is_product = "product" in kernel["name"]
            share = f"{kernel['us']:.0f} us, {100 * kernel['bandwidth_share']:.0f} % of the copy's bandwidth, {kernel['ratio']:.2f} of the plain operators' time"
            self.row(kernel["name"], share, "" if is_product else ">= 80 %", None if is_product else kernel["bandwidth_share"] >= 0.8)
        for why in found["failed"]:
            self.fail("bench-gpu", why[:200])

    def weights(self):
        folder = self.work / "sd3"
        if (folder / "inputs.safetensors").exists():
            return folder
        out = self.run([self.program("random-model"), folder, "--from", self.args.model, "--device", self.args.device, "--images", IMAGES], 150, "random-model.log")
        return folder if out is not None else None

    def transformer(self, folder):
        times = {}
        for name, more in (("kept", ["--profile", "--velocity", self.work / "ours.safetensors"]), ("recomputed", ["--checkpointing"])):
            out = self.run([self.program("bench-transformer"), folder, "--device", self.args.device, "--repeats", 5, *more], 120, f"bench-transformer-{name}.log")
            if out is not None:
                times[name] = json.loads(out)
                (self.work / f"bench-transformer-{name}.json").write_text(out)
        if "kept" not in times:
            return None
        kept, again = times["kept"], times.get("recomputed")

        def timed(what, seconds, goal, flop=None):
            mfu = f", {flop / seconds / PEAK:.0%} of peak" if flop else ""
            self.row(what, f"{1e3 * seconds:.1f} ms{mfu}", f"<= {1e3 * goal:.0f} ms" if goal else "", seconds <= goal if goal else None)

        timed(f"velocity of {IMAGES} images", kept["forward"], 0.036, IMAGES * FORWARD)
        timed("  launched kernel by kernel", kept["forward_by_kernels"], None, IMAGES * FORWARD)
        timed("  with the adapter", kept["adapted_forward"], None, IMAGES * FORWARD)
        timed(f"training step of {IMAGES} images, guided", kept["training_step"], 0.161, IMAGES * TRAINING)
        timed("  launched kernel by kernel", kept["training_step_by_kernels"], None, IMAGES * TRAINING)
        if again:
            timed("  recomputed", again["training_step"], 0.232)
            timed("  recomputed, kernel by kernel", again["training_step_by_kernels"], None)
        for name, of in times.items():
            what = f"gradients of a recorded graph and kernel by kernel, {name}"
            if not of["training_step_is_recorded"]:
                self.fail(what, f"the training step was not recorded; see bench-transformer-{name}.log")
            elif of["graphs_give_the_same_bits"]:
                self.row(what, "the same bits")
            else:
                self.fail(what, "other bits")
        timed(f"10 guided steps of {IMAGES} images, decoded", kept["sampling"], 0.86, IMAGES * 20 * FORWARD)
        timed("  decoding alone", kept["decoding"], None)
        for name, of in times.items():
            apart = of["decodings_apart"]
            self.row(f"decodings of a new process beside its fifth, {name}",
                     "the same bits" if not any(apart) else f"other rows by call (the last: in other places): {apart}")
            self.row(f"memory held by the allocator at most, {name}", f"{of['reserved_gb']:.1f} GB")
            self.row(f"memory of a training step, {name}", f"{of['peak_gb']['training_step']:.1f} GB")
        for part in ("forward", "adapted_forward", "training_step"):
            profile = kept["profiles"][part]
            longest = ", ".join(f"{ms:.1f} ms {short_name(name)}" for ms, _, name in profile["kernels"][:3])
            self.row(f"  GPU busy in {part}", f"{profile['busy_ms']:.1f} ms in {sum(n for _, n, _ in profile['kernels'])} kernels: {longest}")
        return kept

    def peer(self, folder, ours, name):
        if not self.args.peer or not has_modules("diffusers", "peft", "importlib_metadata"):
            self.row("diffusers and peft", "not installed: no comparison")
            return
        needed = {"eager": 60, "compiled": 120}[name]
        if self.left() < needed:
            self.row(f"time over diffusers', {name}", "left out: no time")
            return
        theirs_file = self.work / "theirs.safetensors"
        theirs_file.unlink(missing_ok=True)
        more = ["--compile"] if name == "compiled" else ["--velocity", theirs_file]
        out = self.run([sys.executable, self.args.peer, "time", folder, "--device", self.args.device, "--repeats", 5, *more], 150, f"peer-{name}.log")
        if out is None:
            return
        theirs = json.loads(out.strip().splitlines()[-1])
        (self.work / f"peer-{name}.json").write_text(json.dumps(theirs))
        ratios = ", ".join(f"{what.replace('_', ' ')} {ours[what] / theirs[what]:.2f}" for what in ("forward", "training_step", "sampling", "decoding"))
        worst = max(ours[what] / theirs[what] for what in ("forward", "training_step", "sampling"))
        is_judged = name == "eager"
        self.row(f"time over diffusers', {name}", ratios, "<= 0.75" if is_judged else "", worst <= 0.75 if is_judged else None)
        if not theirs_file.exists():
            return
        out = self.run([sys.executable, self.args.peer, "compare", theirs_file, self.work / "ours.safetensors"], 60, "compare.log")
        if out is not None:
            apart, most = json.loads(out)["relative_difference"], 0.02  # bfloat16 makes 0.008
            self.row("largest difference of the velocities over the largest value", f"{apart:.1e}", f"<= {most}", apart <= most)
            if not apart <= most:
                self.failed.append("velocity beside diffusers'")

    def runs(self, folder):
        """A small experiment at full size, then its training and evaluations again: the same bits."""
        place = next(p for p in (self.work / f"runs-{n}" for n in itertools.count(1)) if not p.exists())
        words = [self.program("harness"), "reproduce", "--table", "sd35-ocr", "--scale", "smoke", "--methods", "ratio-norm", "--backbone", "sd35-medium",
                 "--weights", folder, "--device", self.args.device, "--set", "eval_steps=10", "--out", place]
        begin = time.monotonic()
        is_done = self.run(words, 240, "reproduce.log") is not None
        if is_done:
            self.row("sd35-ocr at full size", f"{time.monotonic() - begin:.0f} s of {len(list(place.rglob('events.log')))} jobs")
        for log in place.glob("*/events.log"):
            self.stage(f"epochs of {log.parent.name}", self.epochs, log)
        if not is_done:
            return
        begin = time.monotonic()
        out = self.run([self.program("harness"), "verify", "--training", "--images", 16, "--keep", "--json", "--out", place], 180, "verify.log", accepted=(0, 1))
        if out is not None:
            (self.work / "verify.json").write_text(out)
            answer = json.loads(out)
            if "jobs" not in answer:
                self.fail("the same again", str(answer.get("error"))[:300])
                return
            jobs = answer["jobs"]
            compared = ", ".join(f"{j['compared']} of {j['kind']}" for j in jobs)
            other = [j for j in jobs if not j["same"]]
            self.row("the same again", f"{'other' if other else 'the same'} bits, in {time.monotonic() - begin:.0f} s; compared: {compared}")
            for j in other:
                self.fail(f"the same again, {j['name']}", f"{len(j['differences'])} differences: {str(j['differences'][:1])[:200]}")
            if not any(j["kind"] == "train" for j in jobs) or not all(j["compared"] for j in jobs):
                self.fail("the same again", "nothing was compared of some job; see verify.json")

    def epochs(self, log):
        """Seconds of the epochs of a training, without the first."""
        records = [json.loads(line[line.index("{"):]) for line in log.read_text().splitlines()]
        settings = next((r["settings"] for r in records if r["type"] == "effective_settings" and "settings" in r), None)
        ends = {r["epoch"]: r["time"] for r in records if r["type"] == "update"}
        if settings is None or len(ends) < 2:
            return
        times = [ends[e] - ends[e - 1] for e in sorted(ends)[1:]]
        images = settings["prompts_per_epoch"] * settings["group_size"]
        spent = [r["spent"] for r in records if r["type"] == "checkpoint"]
        if len(spent) > 1 and all(s.get("gpu_busy_seconds") is not None for s in spent):
            busy, held = (spent[-1][key] - spent[0][key] for key in ("gpu_busy_seconds", "core_seconds"))
            self.row("GPU idle in training, behind the first checkpoint", f"{100 * (1 - busy / held):.1f} %", "< 5 %", busy > 0.95 * held)
        self.row(f"epoch of {images} images, rewards included", f"{min(times):.1f} s, {1e3 * min(times) / images:.0f} ms an image",
                 "<= 313 ms an image", min(times) <= images * 20 / 64)

    def table(self):
        lines = []
        widths = [max(len(row[i]) for row in [("what", "measured", "goal", "met"), *self.rows]) for i in range(4)]
        for row in [("what", "measured", "goal", "met"), *self.rows]:
            lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        return "\n".join(lines) + f"\n\n{time.monotonic() - self.begin:.0f} s; {len(self.failed)} failed; everything that was said is in {self.work}\n"


def short_name(kernel):
    return re.sub(r"^void |at::native::|\(anonymous namespace\)::|<.*", "", kernel)[:40]


def stop(child):
    """Ends the program and what it started; its standard output."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, sign)
            return child.communicate(timeout=5)[0] or ""
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    return ""


def has_modules(*names):
    return all(importlib.util.find_spec(name) is not None for name in names)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "model", "work"):
        p.add_argument(f"--{name}", required=True)
    p.add_argument("--minutes", type=float, default=8, help="nothing runs longer")
    p.add_argument("--libraries", help="LD_LIBRARY_PATH of the programs"), p.add_argument("--peer"), p.add_argument("--device", default="cuda:0")
    p.add_argument("--compiled", action="store_true", help="diffusers compiled, too: minutes more")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args = p.parse_args()
    if args.compiled and args.minutes < 10:
        p.error("--compiled takes 10 minutes or more (--minutes 10)")
    check = Check(args)
    try:
        check.stage("tests against the CPU", check.tests)
        check.stage("kernels", check.kernels)
        folder = check.stage("random weights at full size", check.weights)
        if folder is not None:
            ours = check.stage("velocity, training step, sampling, decoding", check.transformer, folder)
            if ours is not None:
                check.stage("diffusers", check.peer, folder, ours, "eager")
            check.stage("an experiment, twice", check.runs, folder)
            if ours is not None and check.args.compiled:
                check.stage("diffusers, compiled", check.peer, folder, ours, "compiled")
    finally:
        print(check.table(), end="")
    sys.exit(1 if check.failed else 0)


if __name__ == "__main__":
    main()
