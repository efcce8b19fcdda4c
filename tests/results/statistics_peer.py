"""Recomputes what `harness compare` and `harness table` state from the per-prompt rows of a results DB.

    statistics_peer.py HARNESS DB

For every experiment of the DB, every baseline, split and interval kind: means, differences, standard errors, paired t, Wilcoxon,
sign test, McNemar, p adjusted by the table's weighted graph of questions, win rates with Wilson's interval, minimum detectable effects between checkpoints, the
analysis of variance over runs and prompts, and the bootstrap intervals on the same random indices (Philox4x32-10, as results/statistics/bootstrap_indices.h says). References are scipy and statsmodels where they
have the quantity, numpy otherwise. Prints the largest difference of each quantity, |ours - theirs| / max(1, |theirs|), and ends
with status 1 if one is above 1e-9.
"""

import functools
import json
import math
import sqlite3
import subprocess
import sys

import numpy as np
import scipy.stats
from scipy.stats._resampling import BootstrapResult
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

TOLERANCE = 1e-9
INTERVALS = ("percentile", "bca", "studentised")
CLUSTERS, SEEDS = 0x626F6F74, 0x73656564


def philox(counter, key):
    """Philox4x32-10 (Salmon et al. 2011) on arrays of 32-bit words held in uint64."""
    c0, c1, c2, c3 = (np.asarray(word, dtype=np.uint64) for word in counter)
    k0, k1 = (np.uint64(word) for word in key)
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (b >> np.uint64(32)) ^ c1 ^ k0, b & low, (a >> np.uint64(32)) ^ c3 ^ k1, a & low
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    return np.stack(np.broadcast_arrays(c0, c1, c2, c3), axis=-1)


@functools.cache
def resample_indices(seed, resamples, size, domain):
    """[resamples, size]: the draws of every resample."""
    quads = np.arange((size + 3) // 4)
    resample = np.arange(resamples)[:, None]
    blocks = philox((quads[None, :], 0, resample, size), (seed, domain))
    product = blocks.reshape(resamples, -1)[:, :size] * np.uint64(size)
    reject_below = 2**32 % size
    rejected = (product & np.uint64(0xFFFFFFFF)) < reject_below
    for r, draw in np.argwhere(rejected):
        attempt = 1
        while int(product[r, draw]) % 2**32 < reject_below:
            word = philox((draw // 4, attempt, r, size), (seed, domain))[draw % 4]
            product[r, draw] = int(word) * size
            attempt += 1
    return (product >> np.uint64(32)).astype(np.int64)


class Report:
    def __init__(self):
        self.largest = {}

    def add(self, what, ours, theirs, where):
        if ours is None and theirs is None:
            return
        count, worst, place = self.largest.get(what, (0, 0.0, ""))
        if ours is None or theirs is None:
            error = math.inf
        elif ours == theirs:
            error = 0.0
        else:
            error = abs(ours - theirs) / max(1.0, abs(theirs))
            error = math.inf if math.isnan(error) else error
        if error > worst:
            worst, place = error, where
        self.largest[what] = (count + 1, worst, place)

    def interval(self, what, ours, theirs, where):
        for end in range(2):
            self.add(what, None if ours is None else ours[end], None if theirs is None else float(theirs[end]), where)

    def print(self):
        width = max(map(len, self.largest))
        for what, (count, worst, place) in sorted(self.largest.items()):
            print(f"{what:{width}}  {count:6d} values  largest difference {worst:.2e}  {place if worst > TOLERANCE else ''}".rstrip())
        total, worst = sum(c for c, _, _ in self.largest.values()), max(w for _, w, _ in self.largest.values())
        print(f"{'all':{width}}  {total:6d} values  largest difference {worst:.2e}, at most {TOLERANCE:.0e} allowed")
        return worst <= TOLERANCE


class Pairs:
    """Complete pairs of one metric: a, b [n], cluster numbers in order of first appearance, seeds."""

    def __init__(self, rows):
        complete = [row for row in rows if row[0] is not None and row[1] is not None]
        self.missing = len(rows) - len(complete)
        self.a, self.b = (np.array([row[k] for row in complete], dtype=float) for k in range(2))
        places = {}
        self.cluster = np.array([places.setdefault(row[2], len(places)) for row in complete], dtype=int)
        self.seed = np.array([row[3] for row in complete])
        self.clusters = len(places)

    def sums(self, members=None):
        """D, n [clusters]: sums of differences and numbers of pairs."""
        members = np.ones(len(self.a), bool) if members is None else members
        baseline, method, count = (
            np.bincount(self.cluster[members], weights, self.clusters)
            for weights in (self.a[members], self.b[members], np.ones(members.sum()))
        )
        return method - baseline, count


SELECTED = """
    SELECT e.id, entry.arm, r.seed
    FROM reproduction_evaluations AS member
    JOIN evaluations AS e ON e.id = member.evaluation_id
    JOIN checkpoints AS c ON c.id = e.checkpoint_id
    JOIN runs AS r ON r.id = c.run_id
    JOIN reproduction_runs AS entry ON entry.reproduction_id = member.reproduction_id AND entry.run_id = r.id
    WHERE member.reproduction_id = ?1 AND e.split = ?2
      AND (e.selection_id IS NOT NULL
           OR e.split <> 'test' AND EXISTS (SELECT 1 FROM selections s WHERE s.evaluation_id = e.id))
    ORDER BY r.seed"""

VALUES = """
    SELECT m.prompt_id, m.sample, m.value, p.text FROM metrics m JOIN prompts p ON p.id = m.prompt_id
    WHERE m.evaluation_id = ?1 AND m.name = ?2 ORDER BY p.position, m.sample"""


def evaluation_pairs(db, experiment, split, baseline, method, metric):
    chosen = {(arm, seed): evaluation for evaluation, arm, seed in db.execute(SELECTED, (experiment, split))}
    rows = []
    for (arm, seed), evaluation in chosen.items():
        if arm != method:
            continue
        other = chosen.get((baseline, seed), "")
        theirs = {(p, s): v for p, s, v, _ in db.execute(VALUES, (other, metric))}
        for prompt, sample, value, text in db.execute(VALUES, (evaluation, metric)):
            rows.append((theirs.get((prompt, sample)), value, text, seed))
    return Pairs(rows)


def training_pairs(table, baseline, method, column):
    values = {(row["method"], row["seed"]): row["metrics"][column]["mean"] for row in table["rows"]}
    seeds = [row["seed"] for row in table["rows"] if row["method"] == method and (baseline, row["seed"]) in values]
    return Pairs([(values[baseline, seed], values[method, seed], seed, 0) for seed in seeds])


def standard_error(d, n):
    residual = d - n * (d.sum() / n.sum())
    squares = (residual**2).sum()
    if squares <= 1e-24 * (d**2).sum():
        return 0.0
    return math.sqrt(len(d) / (len(d) - 1) * squares) / n.sum()


def bca(deltas, d, n, confidence):
    delta = d.sum() / n.sum()
    distance = deltas - delta
    equal = np.abs(distance) <= 1e-12 * np.abs(distance).max()
    share = np.where(equal, 0.5, distance < 0).mean()
    if share in (0, 1):
        return None
    left_out = (d.sum() - d) / (n.sum() - n)
    u = left_out.mean() - left_out
    squares = (u**2).sum()
    a = (u**3).sum() / (6 * squares**1.5) if squares > 0 else 0
    z0 = scipy.stats.norm.ppf(share)
    z = z0 + scipy.stats.norm.ppf([(1 - confidence) / 2, (1 + confidence) / 2])
    return np.percentile(deltas, 100 * scipy.stats.norm.cdf(z0 + z / (1 - a * z)))


def studentised(indices, d, n, confidence):
    delta, error, clusters = d.sum() / n.sum(), standard_error(d, n), len(d)
    if error == 0:
        return [delta, delta]
    residual = d - n * delta
    r, count = residual[indices], n[indices]
    shift = r.sum(1) / count.sum(1)
    squares = ((r - count * shift[:, None]) ** 2).sum(1)
    flat = squares <= 1e-12 * (r**2).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = shift * count.sum(1) / np.sqrt(clusters / (clusters - 1) * squares)
        t = np.where(flat, np.where(shift == 0, 0, np.sign(shift) * np.inf), t)
        low, high = np.percentile(t, [50 * (1 - confidence), 50 * (1 + confidence)])
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    return [delta - high * error, delta - low * error]


def intervals(pairs, kind, document):
    """The interval over clusters and the one over seeds and clusters."""
    d, n = pairs.sums()
    if pairs.clusters < 2:
        return None, None
    resamples, seed, confidence = document["resamples"], document["bootstrap_seed"], document["confidence"]
    tails = [50 * (1 - confidence), 50 * (1 + confidence)]
    indices = resample_indices(seed, resamples, pairs.clusters, CLUSTERS)
    deltas = d[indices].sum(1) / n[indices].sum(1)
    if kind == "percentile":
        one = np.percentile(deltas, tails)
    else:
        one = bca(deltas, d, n, confidence) if kind == "bca" else studentised(indices, d, n, confidence)
    seeds = np.unique(pairs.seed)
    if len(seeds) < 2:
        return one, None
    parts = [pairs.sums(pairs.seed == s) for s in seeds]
    differences = np.stack([part[0][indices].sum(1) for part in parts], 1)
    counts = np.stack([part[1][indices].sum(1) for part in parts], 1)
    drawn = resample_indices(seed, resamples, len(seeds), SEEDS)
    two = np.take_along_axis(differences, drawn, 1).sum(1) / np.take_along_axis(counts, drawn, 1).sum(1)
    return one, np.percentile(two, tails)


def power(effect, error, units, confidence):
    freedom = units - 1
    critical = scipy.stats.t.isf((1 - confidence) / 2, freedom)
    shifted = scipy.stats.nct(freedom, effect / error)
    return shifted.sf(critical) + shifted.cdf(-critical)


def check_scipy_bca(report, pairs, row, document, where):
    """BCa by scipy itself on our resamples, where its share of resamples below needs no rule for rounding."""
    d = pairs.b - pairs.a
    if pairs.clusters < len(d) or len(d) < 3 or np.ptp(d) == 0:
        return
    means = d[resample_indices(document["bootstrap_seed"], document["resamples"], len(d), CLUSTERS)].sum(1) / len(d)
    near = np.abs(means - d.mean()) <= 1e-12
    means[near] = d.mean()
    empty = BootstrapResult(confidence_interval=None, bootstrap_distribution=means, standard_error=None)
    theirs = scipy.stats.bootstrap((d,), np.mean, n_resamples=0, bootstrap_result=empty, method="BCa", vectorized=True,
                                   confidence_level=document["confidence"]).confidence_interval
    report.interval("interval bca, scipy.stats.bootstrap", row["prompts"]["ci95"], theirs, where)


def check_tests(report, pairs, row, where):
    d, n = pairs.sums()
    tests, means = row["tests"], d / n
    error = standard_error(d, n) if pairs.clusters > 1 else None
    report.add("standard error", row["standard_error"], error, where)
    t = None if not error else (d.sum() / n.sum()) / error
    t_p = None if t is None else 2 * scipy.stats.t.sf(abs(t), pairs.clusters - 1)
    if t is not None and pairs.clusters == len(pairs.a):
        t, t_p = scipy.stats.ttest_rel(pairs.b, pairs.a)
        t, t_p = float(t), float(t_p)
    report.add("paired t", row["prompts"]["t"], t, where)
    report.add("paired t, p", (tests["paired_t"] or {}).get("p_value"), t_p, where)
    wins, losses = int((means > 0).sum()), int((means < 0).sum())
    sign = scipy.stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    report.add("sign test, p", tests["sign"]["p_value"], float(sign), where)
    if wins + losses:
        ties = len(np.unique(np.abs(means))) < len(means) or (means == 0).any()
        exact = len(means) <= 50 and not ties
        theirs = scipy.stats.wilcoxon(means, zero_method="pratt", method="exact" if exact else "asymptotic")
        report.add("Wilcoxon, w", tests["wilcoxon"]["w"], float(theirs.statistic), where)
        report.add("Wilcoxon, p", tests["wilcoxon"]["p_value"], float(theirs.pvalue), where)
    else:
        report.add("Wilcoxon, p", (tests["wilcoxon"] or {}).get("p_value"), None, where)
    p = t_p
    values = set(np.concatenate([pairs.a, pairs.b]))
    mcnemar_p = None
    if values == {0, 1} and pairs.clusters == len(pairs.a):
        table = [[((pairs.a == i) & (pairs.b == j)).sum() for j in (0, 1)] for i in (0, 1)]
        p = mcnemar_p = float(mcnemar(table, exact=True).pvalue)
    report.add("McNemar, p", (tests["mcnemar"] or {}).get("p_value"), mcnemar_p, where)
    report.add("p of the test over prompts", row["prompts"]["p_value"], p, where)
    if row["claim"] == "checkpoints":
        report.add("p of the verdict, of checkpoints", row["p_value"], p, where)
    else:
        report.add("p of the verdict, of methods", row["p_value"], row["runs"]["p_value"], where)


def check_power(report, row, document, share, where):
    """At the level that tests the question first; of an exploratory one at 1 - confidence."""
    error, units = row["standard_error"], row["clusters"]
    of_runs_and_prompts = row["claim"] == "methods" and document["unit"] == "prompts"
    if not error or of_runs_and_prompts or share is None:
        return
    level = (1 - document["confidence"]) * (share or 1)
    found = power(row["detectable"], error, units, 1 - level)
    report.add("power at the detectable effect", document["power"], float(found), where)


def check_runs(report, pairs, row, document, where):
    """The two-way analysis of variance of runs and prompts, on the prompts that every run has."""
    ours, seeds = row["runs"], np.unique(pairs.seed)
    if ours is None or document["unit"] != "prompts":
        return
    parts = [pairs.sums(pairs.seed == s) for s in seeds]
    complete = np.all([part[1] > 0 for part in parts], axis=0)
    counts = np.array([part[1][complete] for part in parts])
    if complete.sum() < 2 or (counts != 1).any():
        return  # weighted by the number of pairs: not recomputed here
    d = np.array([part[0][complete] for part in parts])
    runs, prompts = d.shape
    report.add("runs: difference", ours["delta"], float(d.mean()), where)
    for seed, mean in zip(seeds, d.mean(1)):
        report.add("runs: difference of a run", ours["delta_per_run"][str(seed)], float(mean), where)
    if ours["standard_error"] is None:
        return
    residual = d - d.mean(1, keepdims=True) - d.mean(0, keepdims=True) + d.mean()
    ms_run = prompts * d.mean(1).var(ddof=1)
    ms_prompt = runs * d.mean(0).var(ddof=1)
    ms_residual = (residual**2).sum() / ((runs - 1) * (prompts - 1))
    variance = (ms_run + max(0, ms_prompt - ms_residual)) / (runs * prompts)
    report.add("runs: standard error", ours["standard_error"], math.sqrt(variance), where)
    report.add("runs: variance of runs", ours["run_sd"] ** 2, max(0, ms_run - ms_residual) / prompts, where)
    report.add("runs: variance of prompts", ours["prompt_sd"] ** 2, max(0, ms_prompt - ms_residual) / runs, where)
    report.add("runs: variance of the rest", ours["residual_sd"] ** 2, ms_residual, where)
    # The critical value lies between those of the runs and of the prompts.
    tail = (1 - document["confidence"]) / 2
    critical = (ours["ci95"][1] - ours["ci95"][0]) / 2 / math.sqrt(variance)
    low, high = scipy.stats.t.isf(tail, prompts - 1), scipy.stats.t.isf(tail, runs - 1)
    inside = low - TOLERANCE <= critical <= high + TOLERANCE
    report.add("runs: critical value between those of prompts and runs", 0.0 if inside else math.inf, 0.0, where)
    excludes, below = ours["ci95"][0] > 0 or ours["ci95"][1] < 0, ours["p_value"] < 2 * tail
    report.add("runs: p below 0.05 where the interval leaves out 0", float(below), float(excludes), where)


def check_counts(report, pairs, row, lower_is_better, document, where):
    gain = pairs.a - pairs.b if lower_is_better else pairs.b - pairs.a
    wins, ties, losses = int((gain > 0).sum()), int((gain == 0).sum()), int((gain < 0).sum())
    for what, theirs in {"n": len(gain), "n_missing": pairs.missing, "wins": wins, "ties": ties, "losses": losses}.items():
        report.add(what, row[what], theirs, where)
    rate = (wins + ties / 2) / len(gain)
    report.add("win rate", row["win_rate"]["rate"], rate, where)
    wilson = proportion_confint(rate * pairs.clusters, pairs.clusters, 1 - document["confidence"], "wilson")
    report.interval("win rate, Wilson interval", row["win_rate"]["ci95"], wilson, where)


def check_comparison(report, pairs, row, lower_is_better, document, share, where):
    if len(pairs.a) == 0:
        report.add("n", row["n"], 0, where)
        return
    d, n = pairs.sums()
    report.add("mean of the baseline", row["baseline_mean"], float(pairs.a.mean()), where)
    report.add("mean of the method", row["method_mean"], float(pairs.b.mean()), where)
    report.add("difference", row["delta"], float(d.sum() / n.sum()), where)
    check_counts(report, pairs, row, lower_is_better, document, where)
    check_tests(report, pairs, row, where)
    check_power(report, row, document, share, where)
    check_runs(report, pairs, row, document, where)
    kind = document["interval"]
    one, two = intervals(pairs, kind, document)
    report.interval(f"interval {kind}", row["prompts"]["ci95"], one, where)
    if row["claim"] == "checkpoints":
        report.interval("interval of the verdict, of checkpoints", row["ci95"], one, where)
    report.interval("interval over seeds and prompts", row["ci95_seeds"], two, where)
    if kind == "bca":
        check_scipy_bca(report, pairs, row, document, where)


def lies_on_side(interval, delta):
    return interval is not None and (interval[0] > 0 if delta > 0 else interval[1] < 0)


def asked_p(row, training):
    """What a question enters its family with: 1 where more is lacking than a small p."""
    p, delta, prompts = row["p_value"], row["delta"], row["prompts"]["ci95"]
    if p is None or delta is None:
        return p
    if row["claim"] == "checkpoints":
        return p if lies_on_side(prompts, delta) else 1.0
    runs = row["runs"]["ci95"] if isinstance(row["runs"], dict) else row["runs_ci95"]
    enough = training or (lies_on_side(prompts, delta) and row["clusters"] >= 16)
    return p if enough and lies_on_side(runs, delta) else 1.0


class Family:
    """The questions of a table about methods, or about checkpoints, and what its graph makes of their p-values
    (Bretz, Maurer, Brannath and Posch 2009, algorithm 1)."""

    def __init__(self, rows, primary, base, training):
        self.places, self.rows, self.p, roles = {}, [], [], []
        for row in rows:
            pair = row["baseline"], row["method"]
            metric = "ocr_reward" if row["metric"] == "cer_paper" else row["metric"]  # the same question
            place = self.places.setdefault((*pair, metric), len(self.p))
            if place == len(self.p):
                role = "base" if base in pair else "primary" if primary in (None, metric) else "other"
                self.rows.append(pair), self.p.append(1.0), roles.append(role)
            p = asked_p(row, training)
            self.p[place] = min(self.p[place], 1.0 if p is None else p)
        if "primary" not in roles:
            roles = ["primary"] * len(roles)
        self.make_graph(np.array(roles))
        self.pass_on()

    def make_graph(self, roles):
        count = len(roles)
        self.shares, self.passes = np.zeros(count), np.zeros((count, count))
        primary, of_base = roles == "primary", roles == "base"
        for i in range(count):
            siblings = (roles == "other") & np.array([pair == self.rows[i] for pair in self.rows])
            if roles[i] == "base":
                self.shares[i] = 0.1 / of_base.sum()
                receivers = (0.5, of_base), (0.5, primary)
            elif roles[i] == "primary":
                self.shares[i] = (0.9 if of_base.any() else 1) / primary.sum()
                receivers = (0.5, primary), (0.5, siblings)
            else:
                receivers = (0.98, siblings), (0.02, primary)
            receivers = [(part, to & (np.arange(count) != i)) for part, to in receivers]
            receivers = [(part, to) for part, to in receivers if to.any()]
            for part, to in receivers:
                self.passes[i, to] = (part if len(receivers) == 2 else 1) / to.sum()
        self.first = self.shares.copy()
        for i in np.flatnonzero(self.shares == 0):
            sources = [k for k in np.flatnonzero(primary) if self.rows[k] == self.rows[i]]
            if sources:
                self.first[i] = self.shares[sources[0]] * self.passes[sources[0], i]

    def pass_on(self, level=0.05):
        count, shares, g = len(self.p), self.shares.copy(), self.passes.copy()
        self.adjusted, self.tested_with = np.ones(count), np.zeros(count)
        open_ones, largest, is_over = set(range(count)), 0.0, False
        while any(shares[i] > 0 for i in open_ones):
            j = min((i for i in sorted(open_ones) if shares[i] > 0), key=lambda i: self.p[i] / shares[i])
            largest = max(largest, self.p[j] / shares[j])
            if largest >= level and not is_over:
                is_over = True
                self.tested_with[list(open_ones)] = shares[list(open_ones)]
            if largest >= 1:
                break
            self.adjusted[j] = largest
            if not is_over:
                self.tested_with[j] = shares[j]
            open_ones.remove(j)
            others = np.array(sorted(open_ones), dtype=int)
            shares[others] += shares[j] * g[j, others]
            round_trip = g[others, j] * g[j, others]
            new = (g[np.ix_(others, others)] + np.outer(g[others, j], g[j, others])) / np.maximum(1 - round_trip, 1e-300)[:, None]
            new[1 - round_trip <= 1e-12] = 0
            np.fill_diagonal(new, 0)
            g[np.ix_(others, others)] = new
        if not is_over:
            self.tested_with[list(open_ones)] = shares[list(open_ones)]

    def place(self, row):
        metric = "ocr_reward" if row["metric"] == "cer_paper" else row["metric"]
        for pair in ((row["baseline"], row["method"]), (row["method"], row["baseline"])):
            if (*pair, metric) in self.places:
                return self.places[(*pair, metric)]
        return None


def families_of(table, spec, training):
    """By claim. Of methods where one plan with one look asks exactly what the table compares; else nothing."""
    effects = (table.get("guardrails") or {"effects": []})["effects"]
    rows = list({(r["baseline"], r["method"], r["metric"]): r for r in [*table["comparisons"], *effects]}.values())
    equal = training or spec["backbone"] == "images"
    primary = None if equal else spec["selection"]["metric"]
    base = None if equal or spec.get("baseline") == "base" else "base"
    families = {"checkpoints": Family(rows, None, None, training)}  # all equal: Holm's adjustment
    plan = table["plan"]
    if plan["digest"] and not plan["exploratory"] and len(plan["looks"]) == 1 and all(r["claim"] == "methods" for r in rows):
        families["methods"] = Family(rows, primary, base, training)
    return families


def first_share(families, row):
    """Of the level, what tests the question first; 0: exploratory; nothing: not known here."""
    if row["exploratory"]:
        return 0.0
    family = families.get(row["claim"])
    return None if family is None or family.place(row) is None else float(family.first[family.place(row)])


def check_families(report, table, rows, families):
    for row in [*table["comparisons"], *(table.get("guardrails") or {"effects": []})["effects"], *rows]:
        family, where = families.get(row["claim"]), f"{row['method']} - {row['baseline']}, {row['metric']}"
        if row.get("exploratory"):
            report.add("adjusted p, exploratory", row["p_adjusted"], None, where)
            continue
        if family is None or family.place(row) is None or row["p_value"] is None:
            continue
        place = family.place(row)
        report.add("adjusted p", row["p_adjusted"], float(family.adjusted[place]), where)
        if row["claim"] == "methods":
            share = family.tested_with[place] if row["differs"] else 1
            if not row.get("equal"):
                report.add("level of the interval", row["level"], 0.05 * share, where)


def harness_json(harness, *arguments):
    done = subprocess.run([harness, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"harness {' '.join(arguments)}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout)


def lower_is_better(spec, metric):
    for column in spec["columns"]:
        if column["name"] == metric and "better" in column:  # else the metric's own direction
            return column["better"] in ("lower", "down")
    return metric.startswith("cer")


def check_experiment(report, harness, path, db, experiment, spec, methods):
    options = ("--experiment", str(experiment), "--db", path)
    table = harness_json(harness, "table", spec["id"], *options)
    training = spec.get("kind") == "training"
    families = families_of(table, spec, training)
    splits = ("train",) if training else ("test", "validation")
    for baseline in methods if training else ["base", *methods]:
        others = [method for method in methods if method != baseline]
        if not others:
            continue
        for split in splits:
            for kind in INTERVALS:
                document = harness_json(harness, "compare", baseline, *others, "--metric", "all", "--split", split,
                                        "--interval", kind, *options)
                for row in document["comparisons"]:
                    where = f"experiment {experiment}: {row['method']} - {baseline}, {row['metric']}, {split}"
                    if training:
                        pairs = training_pairs(table, baseline, row["method"], row["metric"])
                    else:
                        pairs = evaluation_pairs(db, experiment, split, baseline, row["method"], row["metric"])
                    first = first_share(families, row)
                    check_comparison(report, pairs, row, lower_is_better(spec, row["metric"]), document, first, where)
                    check_table(report, table, row, split, kind, where)
                if split == table["rows"][0]["split"] and kind == "percentile":
                    check_families(report, table, document["comparisons"], families)


def check_table(report, table, row, split, kind, where):
    """The figures that the table states, which it stored when it was made."""
    if kind != "percentile" or split == "validation":
        return
    for stated in table["comparisons"]:
        if any(stated[key] != row[key] for key in ("baseline", "method", "metric")):
            continue
        report.add("table: difference", stated["delta"], row["delta"], where)
        report.interval("table: interval", stated["ci95"], row["ci95"], where)
        report.interval("table: interval over prompts", stated["prompts"]["ci95"], row["prompts"]["ci95"], where)
        tests = {"mcnemar-exact": "mcnemar"}
        test = row["tests"][tests.get(stated["prompts"]["test"], "paired_t")]
        report.add("table: p over prompts", stated["prompts"]["p_value"], test and test["p_value"], where)
        report.add("table: adjusted p", stated["p_adjusted"], row["p_adjusted"], where)


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    harness, path = sys.argv[1:]
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    report = Report()
    rows = db.execute("SELECT id, spec, methods FROM reproductions ORDER BY id").fetchall()
    if not rows:
        raise SystemExit(f"{path}: holds no completed reproduction")
    for experiment, spec, methods in rows:
        check_experiment(report, harness, path, db, experiment, json.loads(spec), json.loads(methods))
    sys.exit(0 if report.print() else 1)


if __name__ == "__main__":
    main()
