#!/usr/bin/env python3
"""Faults on real processes: a matrix of role, kind and phase, and random pairs of faults by seed."""

import argparse
import functools
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import invariants
import job as jobs
from job import COORDINATOR, Fault, Job

# b is the global server, b and e are the local servers, e is the standby, d is a worker.
NODES = dict(a=200, b=300, c=200, d=200, e=290, f=200)
ROLES = {"worker": "d", "local server": "e", "global server": "b", "coordinator": COORDINATOR}
KINDS = ("kill", "stop", "cut", "full")
# The global server has to move.
MOVE = [{"epoch": 2, "node": "b", "free": "100 KiB"}]
STRIKES_IN = jobs.ROUNDS + 3  # this round
CHUNK = 7


def frame(kind, name, what, event):
    return ((event.kind, event.name, event.type) == (kind, name, what)
            and event.round == STRIKES_IN and event.chunk == CHUNK)


def state_goes_out(to_coordinator, event):
    return (event.kind == "S" and event.name != COORDINATOR and event.chunk == CHUNK
            and event.type == jobs.STATE_PARAMETERS and (event.number == 0) == to_coordinator)


class AfterFirst:
    """The first frame of this type that the coordinator sends once an epoch is done."""

    def __init__(self, what):
        self.what, self.over = what, False

    def __call__(self, event):
        self.over |= event.name == COORDINATOR and event.type == jobs.DONE
        return self.over and (event.kind, event.type) == ("S", self.what)


PHASES = {
    "push": lambda: functools.partial(frame, "S", "d", jobs.PUSH),
    "sum": lambda: functools.partial(frame, "R", "e", jobs.PUSH),
    "forward": lambda: functools.partial(frame, "S", "e", jobs.PUSH),
    "pull": lambda: functools.partial(frame, "S", "b", jobs.PULL),
    "between epochs": lambda: AfterFirst(jobs.MEASURE),
    "move": lambda: functools.partial(state_goes_out, False),
    "checkpoint": lambda: functools.partial(state_goes_out, True),
}
QUICK = (("local server", "kill", "forward"), ("global server", "kill", "move"),
         ("local server", "cut", "forward"), ("coordinator", "full", "move"),
         ("local server", "full", "move"))


def train(options, folder, faults, scenario=""):
    os.mkdir(folder)
    job = Job(options.program, options.probe, options.data, folder, NODES, scenario)
    job.run(faults)
    return job


def run_cell(options, cell):
    """No cell: the undisturbed run. Returns cell, seconds, what is wrong, and accuracies by epoch."""
    role, kind, phase = cell or ("", "", "")
    folder = os.path.join(options.scratch, "-".join(cell or ["undisturbed"]).replace(" ", "-"))
    faults = [Fault(kind, ROLES[role], PHASES[phase]())] if cell else []
    job = train(options, folder, faults, MOVE if phase == "move" else "")
    wrong = invariants.broken(job)
    if any(not fault.took_effect for fault in faults):
        wrong.append("the fault did not strike")
    recovery_s = faults[0].recovery_s if faults else None
    accuracies = invariants.accuracies(job)
    return cell, recovery_s, finish(options, job, wrong), accuracies


def finish(options, job, wrong):
    """What is wrong, with the folder in which to look."""
    if options.keep:
        return wrong and [*wrong, job.folder]
    shutil.rmtree(job.folder)
    return wrong


def is_off(accuracies, undisturbed, faults):
    """The noise of one fault, which may take a node's data, is less than half of what the last epoch brings."""
    noise = (undisturbed[-1] - undisturbed[-2]) / 2
    return abs(accuracies[-1] - undisturbed[-1]) > faults * noise


def draw(seed):
    """Two faults at points whose number in the trace is drawn."""
    rng = random.Random(seed)
    faults = []
    for _ in range(2):
        victim = rng.choice([None, COORDINATOR, *NODES])
        faults.append((rng.choice(KINDS), victim, rng.randrange(400, 6000)))
    return faults


class Countdown:
    def __init__(self, points):
        self.left = points

    def __call__(self, event):
        self.left -= event.type != jobs.BEAT
        return self.left <= 0


def run_seed(options, seed):
    drawn = draw(seed)
    faults = [Fault(kind, victim, Countdown(at)) for kind, victim, at in drawn]
    job = train(options, os.path.join(options.scratch, f"seed-{seed}"), faults,
                MOVE if seed % 2 else "")
    wrong = invariants.broken(job)
    text = f"seed {seed}: " + ", ".join(f"{k} {v or 'who is there'} at {at}" for k, v, at in drawn)
    accuracies = invariants.accuracies(job)
    return text, finish(options, job, wrong), accuracies


def print_table(results):
    """Seconds from the fault to the next round that all have, or what is wrong."""
    times = {(r, k, p): time for (r, k, p), time, _ in results}
    wrong = {cell for cell, _, why in results if why}
    phases = [p for p in PHASES if any(p == cell[2] for cell in times)]
    print(f"{'':14}{'':6}" + "".join(f"{p:>16}" for p in phases))
    for role in ROLES:
        for kind in KINDS:
            cells = [(role, kind, p) for p in phases]
            texts = ["wrong" if c in wrong else "-" if times.get(c) is None else f"{times[c]:.2f} s"
                     for c in cells]
            if any(c in times for c in cells):
                print(f"{role:14}{kind:6}" + "".join(f"{t:>16}" for t in texts))
    for kind in KINDS:
        known = [t for (role, k, _), t in times.items()
                 if k == kind and t is not None and role != "coordinator"]
        if known:
            print(f"median after {kind}: {statistics.median(known):.2f} s in {len(known)} runs "
                  "(the coordinator's faults not counted)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("probe", help="the library made of probe.c")
    parser.add_argument("data_maker", help="the program made of data.c")
    parser.add_argument("--quick", action="store_true", help="a few cells")
    parser.add_argument("--cells", default="", help="only cells with these words, separated by commas")
    parser.add_argument("--seeds", default="0:0", help="random pairs of faults, FROM:TO")
    parser.add_argument("--no-matrix", action="store_true")
    parser.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 1))
    parser.add_argument("--keep", action="store_true", help="keep the folders of all runs")
    options = parser.parse_args()
    options.scratch = tempfile.mkdtemp(prefix="edgeps-faults-")
    options.data = os.path.join(options.scratch, "data")
    os.mkdir(options.data)
    subprocess.run([options.data_maker, options.data], check=True)
    failed = 0
    with multiprocessing.Pool(options.jobs) as pool:
        undisturbed = pool.apply_async(run_cell, (options, None))
        if not options.no_matrix:
            failed += run_matrix(options, pool, undisturbed)
        failed += run_seeds(options, pool, undisturbed)
    print(f"{failed} failed")
    if not options.keep:
        shutil.rmtree(options.scratch)
    return 1 if failed else 0


def judge(wrong, accuracies, undisturbed, faults):
    """Adds to what is wrong that the model is off."""
    if not wrong and is_off(accuracies, undisturbed, faults):
        wrong.append(f"accuracy {accuracies[-1]:.4f}")
    return wrong


def run_matrix(options, pool, undisturbed):
    """The number of runs that fail."""
    cells = QUICK if options.quick else [(r, k, p) for r in ROLES for k in KINDS for p in PHASES]
    cells = [c for c in cells if all(word in c for word in options.cells.split(",") if word)]
    results = list(pool.imap_unordered(functools.partial(run_cell, options), cells))
    reference = undisturbed.get()
    print("undisturbed: accuracy " + " ".join(f"{a:.4f}" for a in reference[3]))
    for cell, _, wrong, accuracies in [reference, *results]:
        if judge(wrong, accuracies, reference[3], 1):
            print(", ".join(cell or ["undisturbed"]) + ": " + "; ".join(wrong))
    print_table([result[:3] for result in results])
    return sum(1 for result in [reference, *results] if result[2])


def run_seeds(options, pool, undisturbed):
    low, high = (int(word) for word in options.seeds.split(":"))
    failed = 0
    runs = pool.imap_unordered(functools.partial(run_seed, options), range(low, high))
    for text, wrong, accuracies in runs:
        if judge(wrong, accuracies, undisturbed.get()[3], 2):
            failed += 1
            print(f"{text}: {'; '.join(wrong)}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
