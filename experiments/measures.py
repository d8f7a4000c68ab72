"""What a figure measures: a function per kind, from the figure's settings to rows.

A row is a dictionary: panel, value and seed, then a column per contender, so that the contenders of
a row saw the same network. An empty field means that there was no plan.
"""
import copy
import csv
import json
import os
import random
import shlex
import shutil
import sys
import tempfile

from program import options

HERE = os.path.dirname(os.path.abspath(__file__))


def merged(base, over):
    """`over` on top of `base`, table by table."""
    result = copy.deepcopy(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def cases(figure):
    """(panel, value, seed) of every row; a panel is the figure with the panel's own settings."""
    for name, own in figure["panels"].items():
        panel = {**merged(figure, own), "name": name}
        for value in panel["values"]:
            for seed in range(1, figure["seeds"] + 1):
                yield panel, value, seed


def varied(panel, value, seed):
    """The panel in which the option that the figure varies has this value."""
    changed = {} if "option" not in panel else {panel["of"]: {panel["option"]: value}}
    return merged(panel, merged({"generate": {"seed": seed}, "plan": {"seed": seed}}, changed))


def skew(network, alpha, seed):
    """Shares of the samples as labels drawn by Dirichlet(alpha) give them. A worker with twice the
    samples of another takes twice as long over its part of a round: in the model, a node of half
    the speed."""
    draw = random.Random(seed)
    shares = [0.0] * len(network["nodes"])
    for _label in range(10):
        drawn = [draw.gammavariate(alpha, 1) for _ in shares]
        shares = [share + one / sum(drawn) for share, one in zip(shares, drawn)]
    mean = sum(shares) / len(shares)
    for node, share in zip(network["nodes"], shares):
        speed, unit = node["compute"].split()
        node["compute"] = f"{float(speed) / max(share / mean, 1e-6):.6g} {unit}"


def drawn_or_imported(program, settings, value, seed):
    """The network of a row; None when it stands in the folder of foreign data and there is none."""
    if "networks" not in settings:
        network = program.generate(**settings["generate"])
        if settings.get("skew", {}).get("alpha", "iid") != "iid":
            skew(network, settings["skew"]["alpha"], seed)
        return network
    source = dict(settings["networks"][value])
    if "ours" in source:
        path = os.path.join(HERE, "networks", source.pop("ours"))
    elif program.data:
        path = os.path.join(program.data, source.pop("file"))
    else:
        return None
    return program.json("topo", "import", path, *options({**settings["import"], **source}))


def placement(program, figure):
    """Predicted time of an epoch for every algorithm while one option varies, or the network."""
    def row(case):
        panel, value, seed = case
        settings = varied(*case)
        network = drawn_or_imported(program, settings, value, seed)
        if network is None:
            return None
        times = {name: planned(program, network, settings["plan"], algorithm)
                 for name, algorithm in settings["algorithms"].items()}
        return {"panel": panel["name"], "value": value, "seed": seed, **times}
    return filter(None, program.map(row, cases(figure)))


def star_algorithms(network, where, seed):
    """One server for all, as people put it by hand: options of `edgeps plan` for each node tried."""
    nodes = [node["name"] for node in network["nodes"]]
    rate = {node["name"]: min(float(node[way].split()[0]) for way in ("up", "down")) for node in network["nodes"]}
    chosen = {"best": nodes, "first": nodes[:1], "fastest": [max(nodes, key=rate.get)],
              "random": [random.Random(seed).choice(nodes)]}[where]
    return [{"algo": f"exec:{sys.executable} {HERE}/star.py {shlex.quote(node)}", "no-polish": True} for node in chosen]


def planned(program, network, plan, algorithm):
    """Time of an epoch under the algorithm's plan, empty where it finds none."""
    tried = star_algorithms(network, algorithm["star"], plan["seed"]) if "star" in algorithm else [algorithm]
    path = program.keep(network)
    answers = [program.plan(path, **plan, **one) for one in tried]
    return min((answer["predicted"]["epoch_s"] for answer in answers if answer), default="")


def bench(program, figure):
    """The rows of `edgeps bench place`, run by run."""
    for number, run in enumerate(figure["runs"].values()):
        folder = os.path.join(program.folder.name, f"bench-{number}")
        words = [word for name, value in run.items() for word in (f"--{name}", value)]
        program.call("bench", "place", "--out", folder, *words)
        with open(os.path.join(folder, "rows.csv"), encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def thinned(path, every, folder):
    """The table without the rows between each `every`-th, as a file."""
    with open(path, encoding="utf-8") as file:
        head, *lines = file.readlines()
    thin = os.path.join(folder, f"{every}-{os.path.basename(path)}")
    with open(thin, "w", encoding="utf-8") as file:
        file.writelines([head, *lines[::every]])
    return thin


def scenario(program, network, settings, seed):
    """The network's file with what a table of figure 4 says happens in it."""
    settings = dict(settings)
    path = program.keep(network)
    if "churn" not in settings:
        return program.keep(program.json("scenario", "generate", path, *options(settings), "--seed", seed))
    table = thinned(os.path.join(program.data, settings.pop("churn")), settings.pop("every"), program.folder.name)
    return program.keep(program.json("scenario", "import", path, table, "--format", "churn", *options(settings)))


def trace(program, figure):
    """Policies through a scenario, as `edgeps plan --trace` accounts for them."""
    def row(case):
        panel, value, seed = case
        settings = varied(*case)
        if "churn" in settings["scenarios"][value] and not program.data:
            return None
        path = scenario(program, program.generate(**settings["generate"]), settings["scenarios"][value], seed)
        answer = program.plan(path, trace=True, **settings["plan"])
        found = {"panel": panel["name"], "value": value, "seed": seed}
        for policy in answer["policies"] if answer else []:
            found[policy["policy"]] = policy["total_s"]
            for what in ("moves", "moved_bytes", "lost_epochs", "regret_s"):
                found[f"{policy['policy']} {what}"] = policy[what]
        return found
    return filter(None, program.map(row, cases(figure)))


def failures(network, share, span_s, seed):
    """So many of the nodes fail at times in the middle of the span: one is killed, the next is cut
    off and heals after a tenth of the span, and so on."""
    draw = random.Random(seed)
    names = [node["name"] for node in network["nodes"]]
    failing = draw.sample(names, round(share * len(names)))
    network["scenario"] = []
    for number, name in enumerate(failing):
        begin_s = draw.uniform(0.1, 0.8) * span_s
        network["scenario"].append({"at": f"{begin_s:.3f} s", "node": name, "kill" if number % 2 == 0 else "cut": True})
        if number % 2:
            network["scenario"].append({"at": f"{begin_s + span_s / 10:.3f} s", "node": name, "heal": True})


def simulated(program, figure):
    """Whole trainings in virtual time in which a share of the nodes fails, policy by policy."""
    def row(case):
        panel, value, seed = case
        settings = varied(*case)
        network = program.generate(**settings["generate"])
        found = {"panel": panel["name"], "value": value, "seed": seed}
        span = program.sim(program.keep(network), **settings["sim"], adjust="static")["total_s"]
        failures(network, value, span, seed)
        for policy in figure["contenders"]:
            answer = program.sim(program.keep(network), **settings["sim"], adjust=policy)
            found[policy] = answer["total_s"] if answer else ""
            for what in ("wait_s", "losses") if answer else ():
                found[f"{policy} {what}"] = sum(epoch[what] for epoch in answer["epochs"])
        return found
    return program.map(row, cases(figure))


def trained(program, network, algorithm, settings):
    """The events that a real training reports at the ends of its epochs, on this machine."""
    folder = tempfile.mkdtemp(dir=program.folder.name)
    lines = program.call("run", program.keep(network), "--json", "--out", folder, "--force",
                         *options({**settings, **algorithm}))
    events = [json.loads(line) for line in lines.splitlines()]
    shutil.rmtree(folder)
    return [event for event in events if event["event"] == "epoch"]


def training(program, figure):
    """Accuracy against time of real trainings, one after the other: a row per epoch."""
    for panel, value, seed in cases({**figure, "values": [""]}):
        settings = varied(panel, value, seed)
        network = drawn_or_imported(program, settings, panel["network"], seed)
        runs = {name: trained(program, network, algorithm, {**settings["run"], "seed": seed})
                for name, algorithm in settings["algorithms"].items()}
        for epoch in range(settings["run"]["epochs"]):
            row = {"panel": panel["name"], "value": epoch + 1, "seed": seed}
            for name, events in runs.items():
                row[name] = sum(event["measured_s"] for event in events[:epoch + 1])
                row[f"{name} accuracy"] = events[epoch]["accuracy"]
            yield row


KINDS = {"placement": placement, "bench": bench, "trace": trace, "simulated": simulated, "training": training}
