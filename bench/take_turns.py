#!/usr/bin/env python3
"""Two programs that time the same work take turns, and the ratio of their seconds is stated with its spread.

    take_turns.py ROUNDS KEY[,KEY...] THEIRS... -- OURS...

Each round runs both commands, the other one first every second round, so that a machine that grows warmer or busier does so for both. A
command's last line of standard output is a JSON object with seconds under each KEY. Prints the machine, a JSON line a round, and a row a
KEY: median seconds of both, and median, least and greatest of the ratios of the rounds.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys


def machine():
    """What decides how fast products are here: processor, its highest clock, its caches, the widest vector instructions."""
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    first = lambda name: next(iter(re.findall(rf"^{name}\s*:\s*(.*)$", cpu, re.M)), "unknown")
    flags = first("flags").split()
    widest = [name for name in ("amx_tile", "avx512_bf16", "avx512f", "avx2") if name in flags]
    caches = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        read = lambda name: (index / name).read_text().strip()
        if read("type") != "Instruction":
            caches.append(f"L{read('level')} {read('size')}")
    return {"processor": first("model name"), "family, model": f"{first('cpu family')}, {first('model')}", "MHz now": first("cpu MHz"),
            "caches of core 0": caches, "vectors": widest, "cores": os.cpu_count(), "load before": os.getloadavg()[0]}


def timed(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    try:
        if done.returncode == 0:
            return json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        pass
    sys.exit(f"take_turns: status {done.returncode}, and no JSON in the last line of: {' '.join(command)}\n{done.stderr[-2000:]}")


def main():
    usage = "usage: take_turns.py ROUNDS KEY[,KEY...] THEIRS... -- OURS..."
    words = sys.argv[1:]
    if len(words) < 5 or not words[0].isdecimal() or int(words[0]) < 1 or "--" not in words[3:-1]:
        sys.exit(usage)
    rounds, keys, commands = int(words[0]), words[1].split(","), words[2:]
    cut = commands.index("--")
    programs = {"theirs": commands[:cut], "ours": commands[cut + 1:]}
    print(json.dumps(machine()))
    seen = {"theirs": [], "ours": []}
    for number in range(rounds):
        for name in sorted(programs, reverse=number % 2 == 0):
            seen[name].append(timed(programs[name]))
        print(json.dumps({name: lines[-1] for name, lines in seen.items()}), flush=True)
    print(f"\n{'':24}{'theirs':>10}{'ours':>10}{'ratio':>8}   least, greatest of {rounds} rounds")
    for key in keys:
        theirs, ours = ([line[key] for line in seen[name]] for name in ("theirs", "ours"))
        ratios = [b / a for a, b in zip(theirs, ours)]
        print(f"{key:24}{statistics.median(theirs):10.3f}{statistics.median(ours):10.3f}{statistics.median(ratios):8.3f}   {min(ratios):.3f}, {max(ratios):.3f}")


if __name__ == "__main__":
    main()
