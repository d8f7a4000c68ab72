"""What a figure shows of its rows: panels to draw, tables, and claims held against the numbers.

A view takes the figure and its rows and gives (panels, tables). A claim takes the same and gives
whether it holds, and the numbers that say so.
"""
from collections import defaultdict
from statistics import median

import paired

CHANCE = 0.05


def grouped(rows, *columns):
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[column] for column in columns)].append(row)
    return groups


def markdown(head, lines):
    rows = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def plus_minus(mean, half, digits=None):
    """With as many digits behind the point, four of the mean in all when not told."""
    if digits is None:
        digits = max(0, 3 - len(str(int(abs(mean)))) + (abs(mean) < 1))
    return f"{mean:.{digits}f}" + (f" ± {half:.{digits}f}" if half is not None else "")


# ---- contenders: columns of one row that saw the same network


def contenders(figure, rows):
    return [name for name in figure["contenders"] if any(row.get(name) for row in rows)]


def cell(figure, rows, name):
    """The yardstick in its unit, everybody else against it."""
    if name == figure["yardstick"]:
        mean, half = paired.mean_interval([x for x, in paired.numbers(rows, name)])
        return "no plan" if mean is None else plus_minus(mean, half)
    found = paired.against(rows, name, figure["yardstick"])
    if not found:
        return "no plan"
    spread = f" ± {100 * found['half']:.1f}" if found["half"] is not None else ""
    return f"{100 * found['mean']:+.1f}{spread} %" + ("*" if found["p"] < CHANCE else "")


def curves(figure, rows):
    lines = {}
    for name in figure["plotted"]:
        points = []
        for place, own in enumerate(grouped(rows, "value").values()):
            mean, half = paired.mean_interval([x for x, in paired.numbers(own, name)])
            if mean is not None:
                points.append((place, mean, half or 0))
        if points:
            lines[name] = points
    return lines


def compared(figure, rows):
    panels, tables = [], []
    for (panel,), own in grouped(rows, "panel").items():
        title = figure["panels"][panel]["title"]
        by_value = grouped(own, "value")
        values = [value for value, in by_value]
        panels.append({"title": title, "x": figure["title"], "y": figure["unit"], "ticks": values,
                       "set": figure.get("set", []), "lines": curves(figure, own)})
        table = markdown(["", *values], [[name, *(cell(figure, some, name) for some in by_value.values())]
                                         for name in contenders(figure, own)])
        tables.append(f"{title}; `{figure['yardstick']}` in {figure['unit'].split(', ')[-1]}:\n\n{table}")
    return panels, tables


def not_above(name, exempt):
    """At or below every other contender in the mean of every setting."""
    def claim(figure, rows):
        total, above = 0, []
        for (panel, value), own in grouped(rows, "panel", "value").items():
            for other in contenders(figure, rows):
                found = None if other in exempt else paired.against(own, name, other)
                total += found is not None
                if found and found["mean"] > 0:
                    above.append((found["mean"], f"{other}, {panel}, {value}", found["p"] < CHANCE))
        numbers = f"{total} comparisons, above in {len(above)}"
        if above:
            most, where, _ = max(above)
            beyond = sum(clear for _, _, clear in above)
            numbers += f", {beyond} of them beyond chance; most by {100 * most:.2f} % ({where})"
        return not above, numbers
    return claim


def within(share, name, other):
    """At most so far above the other, in the mean over all rows."""
    def claim(figure, rows):
        parts, found = [], paired.against(rows, name, other)
        for (panel, value), own in grouped(rows, "panel", "value").items():
            one = paired.against(own, name, other)
            parts.append((one["mean"], f"{panel}, {value}"))
        mean, half = 100 * found["mean"], 100 * (found["half"] or 0)
        return found["mean"] <= share, (f"{mean:+.2f} ± {half:.2f} % over {found['n']} rows; per setting from "
                                        f"{100 * min(parts)[0]:+.2f} % ({min(parts)[1]}) to "
                                        f"{100 * max(parts)[0]:+.2f} % ({max(parts)[1]})")
    return claim


def policies(figure, rows):
    """As contenders, and what they moved and lost."""
    panels, tables = compared(figure, rows)
    for (panel,), own in grouped(rows, "panel").items():
        lines = []
        for name in contenders(figure, own):
            mean = [paired.mean_interval([x for x, in paired.numbers(own, f"{name} {what}")])[0]
                    for what in ("moves", "moved_bytes", "lost_epochs", "regret_s")]
            lines.append([name, f"{mean[0]:.1f}", f"{mean[1] / 2**20:.1f} MiB", f"{mean[2]:.1f}", f"{mean[3]:.1f} s"])
        tables.append(f"{figure['panels'][panel]['title']}, means over all:\n\n"
                      + markdown(["", "moves", "moved", "epochs lost", "regret"], lines))
    return panels, tables


def cuts(figure, rows):
    """As contenders, the tables turned: by how much the yardstick is below each of the others."""
    panels, _ = compared(figure, rows)
    tables = []
    for (panel,), own in grouped(rows, "panel").items():
        by_value = grouped(own, "value")
        lines = []
        for name in contenders(figure, own):
            found = [paired.against(some, figure["yardstick"], name) for some in by_value.values()]
            lines.append([name, *("no plan" if one is None else f"{0.0 - 100 * one['mean']:.1f} %" for one in found)])
        tables.append(f"{figure['panels'][panel]['title']}: cut of `{figure['yardstick']}` against\n\n"
                      + markdown(["", *(value for value, in by_value)], lines[1:]))
    return panels, tables


def learning(figure, rows):
    """Accuracy against time, and when an accuracy was reached in all runs of a contender."""
    panels, tables = [], []
    for (panel,), own in grouped(rows, "panel").items():
        lines, table = {}, []
        by_epoch = grouped(own, "value")
        for name in contenders(figure, own):
            seconds, right = ([paired.mean_interval([x for x, in paired.numbers(some, column)])[0]
                               for some in by_epoch.values()] for column in (name, f"{name} accuracy"))
            lines[name] = list(zip(seconds, right))
            reached = next((f"{s:.1f} s" for s, some in zip(seconds, by_epoch.values())
                            if all(float(row[f"{name} accuracy"]) >= figure["target"] for row in some)), "not reached")
            table.append([name, f"{seconds[-1] / len(seconds):.2f} s", reached, f"{100 * right[-1]:.1f} %"])
        title = figure["panels"][panel]["title"]
        panels.append({"title": title, "x": "time of training, s", "y": "accuracy", "lines": lines})
        tables.append(f"{title}:\n\n" + markdown(["", "an epoch", f"to {100 * figure['target']:.0f} %", "in the end"], table))
    return panels, tables


def sooner(figure, rows):
    """The yardstick's training ends before that of every other."""
    parts, holds = [], True
    for (panel,), own in grouped(rows, "panel").items():
        last = list(grouped(own, "value").values())[-1]
        for name in contenders(figure, own):
            if name != figure["yardstick"]:
                found = paired.against(last, name, figure["yardstick"])
                holds = holds and found["mean"] > 0
                parts.append(f"{name}, {panel}: {100 * found['mean']:+.1f} %")
    return holds, "; ".join(parts)


OURS = {"exact", "approx", "approx bare", "rounding", "rounding bare", "brute"}


# ---- edgeps bench place


def run_time(_figure, rows):
    done = [row for row in rows if row["outcome"] in ("optimal", "feasible") and not row["stopped"]
            and row["polish"] == "no" and row["cpu_s"]]
    sizes = sorted({int(row["n"]) for row in done})
    panels, tables = [], []
    for (transfer,), own in grouped(done, "transfer").items():
        drawn, lines = defaultdict(list), []
        for (name,), runs in grouped(own, "algorithm").items():
            times = {int(n): [float(run["cpu_s"]) for run in some] for (n,), some in grouped(runs, "n").items()}
            drawn[name] = sorted((n, median(some)) for n, some in times.items())
            lines.append([name, *(f"{median(times[n]):.2g} ({max(times[n]):.2g})" if n in times else ""
                                  for n in sizes)])
        panels.append({"title": transfer, "x": "nodes", "y": "processor time, s", "set": ["set logscale xy"],
                       "lines": drawn})
        tables.append(f"{transfer}, by number of nodes: median (worst) in s:\n\n" + markdown(["", *sizes], lines))
    return panels, tables


def known(rows):
    return [row for row in rows if row["table"] == "quality" and row["round_to_best"]]


def named(row):
    return row["algorithm"] + ("" if row["polish"] == "yes" else " bare")


def closeness(figure, rows):
    ratios, bounds, lines = defaultdict(list), [], []
    for row in known(rows):
        if row["algorithm"] != "exact":
            ratios[named(row)].append(float(row["round_to_best"]))
        if named(row) == "approx" and row["round_to_bound"]:
            bounds.append((float(row["round_to_best"]), float(row["round_to_bound"])))
    for name, values in ratios.items():
        values.sort()
        mean, half = paired.mean_interval(values)
        best = sum(value < 1 + 1e-6 for value in values) / len(values)
        lines.append([name, len(values), plus_minus(mean, half, 4), f"{median(values):.4f}",
                      f"{values[int(.95 * (len(values) - 1))]:.4f}", f"{values[-1]:.4f}", f"{100 * best:.0f} %"])
    share = {name: [(value, (k + 1) / len(ratios[name])) for k, value in enumerate(ratios[name])]
             for name in figure["plotted"] if name in ratios}
    panels = [{"title": "share of instances within a ratio", "x": "round time over the best", "y": "share",
               "style": "steps", "set": ["set xrange [1:2]", "set yrange [0:1]"], "lines": share},
              {"title": "approx: what is proved, and what is true", "x": "true ratio", "y": "proved ratio",
               "style": "points", "set": ["set xrange [*:*]", "set yrange [*:*]"], "lines": {"an instance": bounds}}]
    return panels, [markdown(["", "instances", "mean", "median", "95 %", "worst", "best found"], lines)]


def approx_is_close(_figure, rows):
    values = [float(row["round_to_best"]) for row in known(rows) if named(row) == "approx"]
    mean, half = paired.mean_interval(values)
    return mean <= 1.02, f"mean ratio {plus_minus(mean, half, 4)} over {len(values)} instances"


def bound_holds(_figure, rows):
    pairs = paired.numbers(known(rows), "round_to_bound", "round_to_best")
    broken = sum(bound < best * (1 - 1e-7) for bound, best in pairs)
    return broken == 0, f"{len(pairs)} answers, the bound above the optimum in {broken}"


VIEWS = {"compared": compared, "run time": run_time, "closeness": closeness, "policies": policies, "cuts": cuts, "learning": learning}
CLAIMS = {
    "approx is at or below every baseline in every setting": not_above("approx", OURS),
    "approx is at or below every placement by hand": not_above("approx", {"approx"}),
    "hierarchical training ends before flat training": sooner,
    "rounding is at or below every baseline in every setting": not_above("rounding", OURS),
    "approx is within 2 % of the optimum in the mean": approx_is_close,
    "adjust is within 5 % of offline in the mean": within(0.05, "adjust", "offline"),
    "adjust is ahead of replan once moves are paid for": within(0, "adjust", "replan"),
    "the proved bound is below the optimum": bound_holds,
}
