# %% [markdown]
# From nothing to paired results: a small table, its verdicts, pairs of images, a training curve, images of one prompt.
# Run it as a script (`python explore.py FOLDER [TABLE]`) or cell by cell in an editor that knows `# %%`.

# %%
import sys
from pathlib import Path

import pandas

from lambda_harness import Workspace

pandas.set_option("display.width", 120, "display.max_columns", 12)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs")
table = sys.argv[2] if len(sys.argv) > 2 else "sd35-ocr"
workspace = Workspace(folder)

# %% Train and test. At scale "smoke" this shows that everything runs, and nothing about the methods.
results = workspace.reproduce(table, scale="smoke")
print(results[["method", "seed", "checkpoint", "n", "metrics.ocr_reward.mean", "metrics.exact_match.mean"]])
print(results.attrs["signature"])

# %% What may be said of the differences: delta = method - baseline.
verdicts = workspace.comparisons()
print(verdicts[["baseline", "method", "metric", "delta", "ci95_low", "ci95_high", "p_adjusted", "verdict"]])

# %% One difference in detail. Units and directions are those that were recorded.
one = workspace.compare("base", "ratio-norm", metric="ocr_reward")
print(one[["n", "wins", "ties", "losses", "detectable", "verdict"]], *one.attrs["warnings"], sep="\n")
print(workspace.known_metrics())

# %% Every prompt: a column per method, then the pairs of two methods, the largest difference first.
values = workspace.metrics(metric="ocr_reward")
print(values[["position", "target", "seed", *values.columns[5:]]].head())
pairs = workspace.paired("base", "ratio-norm", metric="ocr_reward")
print(pairs[["seed", "position", "baseline_value", "method_value", "delta", "method_transcript"]].head())

# %% Reward during training.
reward = workspace.training(name="reward_mean")
print(reward.pivot(index="update_index", columns=["method", "seed"], values="value"))

# %% Images of the prompt with the largest difference. In a notebook, the last line of a cell shows them.
images = workspace.images(int(pairs["position"][0]), metric="ocr_reward")
print("images:", images.write(folder / "images.html"))
images
