#!/usr/bin/python3
"""Measures the figures of docs/report.md and builds it: ./dev experiments [--smoke] [FIGURE...]

A file in experiments/figures describes a figure, setting.toml what several have in common.
Rows go to RESULTS/FIGURE.csv, drawings and the report to TARGET.
"""
import argparse
import csv
import glob
import os
import sys
import time
import tomllib

import measures
import plots
import program
import views

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)


def load(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


def figures(setting, asked):
    """Name to settings, those that it is like and those of the smoke form merged in."""
    found = {}
    for path in sorted(glob.glob(os.path.join(HERE, "figures", "*.toml"))):
        own = load(path)
        figure = measures.merged(setting.get(own.get("like"), {}), own)
        if asked.smoke:
            figure = measures.merged(figure, figure.get("smoke", {}))
            for table in (figure, *figure.get("panels", {}).values()):
                if "values" in table:
                    table["values"] = [table["values"][0], table["values"][-1]]
        if asked.seeds:
            figure["seeds"] = asked.seeds
        tables = [figure, *figure.get("panels", {}).values()]
        figure.setdefault("contenders", list(dict.fromkeys(
            name for table in tables for name in table.get("algorithms", {}))))
        found[os.path.basename(path)[:-len(".toml")]] = figure
    return found


def write_rows(path, rows, stamp):
    """The columns are those of any row, in the order of their first sight."""
    rows = [{**row, **stamp} for row in rows]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with open(path + ".new", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(path + ".new", path)


def read_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def section(name, figure, rows, verdicts):
    """The figure's part of the report; `verdicts` gets claim to figures where it holds, and fails."""
    _, tables = views.VIEWS[figure["view"]](figure, rows)
    lines = []
    for claim in figure.get("claims", []):
        holds, numbers = views.CLAIMS[claim](figure, rows)
        verdicts.setdefault(claim, ([], []))[not holds].append(name)
        lines.append(f"- {'Holds' if holds else '**Fails**'}: {claim} ({numbers}).")
    return "\n\n".join(part for part in (
        f"### {figure['title']}", figure.get("text", "").strip(), f"![{figure['title']}](report/{name}.svg)",
        "\n".join(lines), *tables, f"Rows: `{name}.csv`, {rows[0]['version']}, {rows[0]['machine']}.") if part)


def report(setting, known, results, target):
    """The report of the figures whose rows are there."""
    os.makedirs(os.path.join(target, "report"), exist_ok=True)
    parts, verdicts, current = [], {}, ""
    for name, figure in known.items():
        path = os.path.join(results, name + ".csv")
        rows = read_rows(path) if os.path.exists(path) else []
        if not rows:
            continue
        if name[0] != current:
            current = name[0]
            title, _, text = setting["sections"][current].partition("\n")
            parts += [f"## {title}", text.strip()]
        plots.draw(os.path.join(target, "report", name + ".svg"), views.VIEWS[figure["view"]](figure, rows)[0])
        parts.append(section(name, figure, rows, verdicts))
    summary = views.markdown(["claim", "holds in", "fails in"],
                             [[claim, *(", ".join(names) or "-" for names in both)] for claim, both in verdicts.items()])
    with open(os.path.join(target, "report.md"), "w", encoding="utf-8") as file:
        file.write("\n\n".join(["# Report", setting["report"]["text"].strip(), summary, *parts]) + "\n")


def arguments():
    parser = argparse.ArgumentParser(prog="./dev experiments", description=__doc__.splitlines()[0])
    parser.add_argument("figure", nargs="*", help="measure these alone")
    parser.add_argument("--edgeps", default=os.path.join(SOURCE, "build/release/edgeps"))
    parser.add_argument("--smoke", action="store_true", help="few seeds and the ends of each range, in build/experiments")
    parser.add_argument("--report", action="store_true", help="measure nothing, build the report of the rows there are")
    parser.add_argument("--seeds", type=int, help="in place of each figure's own number")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--data", default=os.environ.get("EDGEPS_DATA"),
                        help="folder of topologies and traces (default $EDGEPS_DATA); without it they are left out")
    parser.add_argument("--results", help="folder of the rows")
    parser.add_argument("--target", help="folder of the report")
    return parser.parse_args()


def main():
    asked = arguments()
    smoke = os.path.join(SOURCE, "build/experiments")
    results = asked.results or (smoke if asked.smoke else os.path.join(HERE, "results"))
    target = asked.target or (smoke if asked.smoke else os.path.join(SOURCE, "docs"))
    os.makedirs(results, exist_ok=True)
    setting = load(os.path.join(HERE, "setting.toml"))
    known = figures(setting, asked)
    for name in asked.figure:
        if name not in known:
            sys.exit(f"experiments: no figure '{name}'; there are {', '.join(known)}")
    edgeps = program.Program(asked.edgeps, asked.jobs, asked.data)
    stamp = {"version": program.version(asked.edgeps, SOURCE), "machine": program.machine()}
    for name in [] if asked.report else asked.figure or known:
        began = time.monotonic()
        rows = measures.KINDS[known[name]["measure"]](edgeps, known[name])
        write_rows(os.path.join(results, name + ".csv"), rows, stamp)
        print(f"{name:24} {time.monotonic() - began:6.0f} s", flush=True)
    report(setting, known, results, target)


if __name__ == "__main__":
    try:
        main()
    except program.Failed as failure:
        sys.exit(f"experiments: {failure}")
