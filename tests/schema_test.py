#!/usr/bin/python3
"""What the program writes and the examples obey the schemas in docs/schema.

usage: schema_test.py SOURCE_DIR EDGEPS
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import jsonschema

source, edgeps = sys.argv[1:3]


def schema(name):
    with open(f"{source}/docs/schema/{name}-1.schema.json", encoding="utf-8") as file:
        loaded = json.load(file)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def refuses(validator, document, change):
    changed = json.loads(json.dumps(document))
    change(changed)
    assert not validator.is_valid(changed), f"accepted: {changed}"


def problem_of(path, *options):
    """What an outside algorithm is told; it answers that there is no plan."""
    with tempfile.NamedTemporaryFile() as copy:
        told = subprocess.run([edgeps, "plan", path, *options, "--algo",
                               f"exec:cat >{copy.name}; exit 3"], stderr=subprocess.DEVNULL)
        assert told.returncode == 3
        return json.load(copy)


networks, plans, events = schema("network"), schema("plan"), schema("events")
problems, explanations = schema("problem"), schema("explain")
examples = sorted(glob.glob(f"{source}/examples/*.json"))
assert len(examples) >= 3
for path in examples:
    with open(path, encoding="utf-8") as file:
        network = json.load(file)
    networks.validate(network)
    refuses(networks, network, lambda n: n["nodes"][0].update(up=20))
    refuses(networks, network, lambda n: n["nodes"][0].update(up="20 Mbps"))
    refuses(networks, network, lambda n: n.update(scenario=[{"node": "x", "kill": True}]))
    refuses(networks, network, lambda n: n.update(pairs=[{"from": "x", "to": "y"}]))
    refuses(networks, network, lambda n: n["nodes"][0].update(name="a\nb"))
    for algorithm in ("approx", "greedy"):
        text = subprocess.run([edgeps, "plan", path, "--json", "--algo", algorithm], check=True,
                              capture_output=True).stdout
        plan = json.loads(text)
        plans.validate(plan)
        refuses(plans, plan, lambda p: p.pop("global"))
        phases = sum(plan["predicted"]["phases"].values())
        assert abs(phases - plan["predicted"]["round_s"]) < 1e-9 * phases
        assert set(plan["locals"]) == set(plan["parent"].values())
    text = subprocess.run([edgeps, "plan", path, "--json", "--algo", "greedy", "--shards", "2",
                           "--deadline", "2 s"], check=True, capture_output=True).stdout
    plan = json.loads(text)
    plans.validate(plan)
    refuses(plans, plan, lambda p: p.pop("shards"))
    refuses(plans, plan, lambda p: p.update(p["shards"][0]))
    shards = plan["shards"]
    assert shards[0]["first_parameter"] == 0
    assert shards[1]["first_parameter"] == shards[0]["parameters"]
    for node, need in plan["need_bytes"].items():
        assert need == sum(shard["need_bytes"].get(node, 0) for shard in shards)
    text = subprocess.run([edgeps, "plan", path, "--json", "--deadline", "0.001 ms"], check=True,
                          capture_output=True).stdout
    plans.validate(json.loads(text))
    assert json.loads(text)["stopped"] == "deadline"
    for more in ([], ["--replan"], ["--without", network["nodes"][-1]["name"]]):
        text = subprocess.run([edgeps, "explain", path, "--json", "--top", "3", *more], check=True,
                              capture_output=True).stdout
        explained = json.loads(text)
        explanations.validate(explained)
        refuses(explanations, explained, lambda e: e.pop("servers"))
        assert len(explained["gains"]) <= 3
        assert ("replanned_s" in explained) == (more == ["--replan"])
    problem = problem_of(path, "--deadline", "60 s")
    problems.validate(problem)
    refuses(problems, problem, lambda p: p["nodes"][0].pop("site"))
    refuses(problems, problem, lambda p: p["nodes"][0].update(up_bytes_per_s=None))
    assert [node["name"] for node in problem["nodes"]] == [n["name"] for n in network["nodes"]]
for kind in ("two-tier", "thesis", "waxman", "barabasi-albert"):
    text = subprocess.run([edgeps, "topo", "generate", "--kind", kind, "--nodes", "20", "--epochs", "3"],
                          check=True, capture_output=True).stdout
    networks.validate(json.loads(text))
traces = schema("trace")
with tempfile.NamedTemporaryFile("wb") as network:
    network.write(subprocess.run([edgeps, "topo", "generate", "--kind", "thesis", "--nodes", "9", "--epochs",
                                  "4", "--seed", "3"], check=True, capture_output=True).stdout)
    network.flush()
    text = subprocess.run([edgeps, "plan", network.name, "--trace", "--json", "--algo", "greedy"], check=True,
                          capture_output=True).stdout
trace = json.loads(text)
traces.validate(trace)
refuses(traces, trace, lambda t: t["policies"][0].pop("regret_s"))
assert trace["epochs"] == 4
offline = next(p for p in trace["policies"] if p["policy"] == "offline")
for policy in trace["policies"]:
    parts = policy["train_s"] + policy["move_s"] + policy["lost_s"]
    assert abs(policy["total_s"] - parts) < 1e-9 * parts
    assert abs(policy["regret_s"] - policy["total_s"] + offline["total_s"]) < 1e-9 * parts
    assert policy["regret_s"] >= -1e-9 * parts
simulations = schema("simulation")
for policy in ("adjust", "static", "replan", "greedy-repair"):
    text = subprocess.run([edgeps, "sim", f"{source}/examples/six-site.json", "--json", "--epochs", "3",
                           "--adjust", policy], check=True, capture_output=True).stdout
    simulation = json.loads(text)
    simulations.validate(simulation)
    refuses(simulations, simulation, lambda s: s["epochs"][0].pop("wait_s"))
    parts = sum(e[key] for e in simulation["epochs"] for key in ("train_s", "move_s", "wait_s", "lost_s"))
    assert abs(simulation["total_s"] - parts) < 1e-9 * parts
searches = schema("fault-search")
text = subprocess.run([edgeps, "sim", "--fault-search", "100", "--seed", "5", "--json"], check=True,
                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
search = json.loads(text)
searches.validate(search)
assert (search["runs"], search["seed"]) == (100, 5) and search["faults"] > 0 and "found" not in search
found = {"seed": 7, "broken": "it", "script": "edgeps-script 1\nseed 7\nnodes 2\nrounds 1\n"}
searches.validate({**search, "found": found})
refuses(searches, {**search, "found": found}, lambda s: s["found"].pop("script"))
checks = schema("check")
for path in examples:
    text = subprocess.run([edgeps, "topo", "check", path, "--json", "--model", "lenet5"], check=True,
                          capture_output=True).stdout
    checks.validate(json.loads(text))
    refuses(checks, json.loads(text), lambda c: c["findings"].append({"severity": "error"}))
imports = schema("import")
with tempfile.TemporaryDirectory() as folder:
    for name in ("lyon--oslo", "lyon--oslo--reverse"):
        shutil.copy(f"{source}/tests/iperf3/{name}.json", folder)
    text = subprocess.run([edgeps, "topo", "import", folder, "--json", "--out", f"{folder}/net"], check=True,
                          capture_output=True).stdout
    imports.validate(json.loads(text))
    assert json.loads(text)["filled"]
    refuses(imports, json.loads(text), lambda i: i.pop("filled"))
    with open(f"{folder}/net", encoding="utf-8") as file:
        networks.validate(json.load(file))
measured = schema("lab-check")
with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/net", "w", encoding="utf-8") as file:
        json.dump({"edgeps": "network/1", "nodes": [
            {"name": name, "up": "40 Mbit/s", "down": "60 Mbit/s", "latency": "1 ms",
             "compute": "1000 samples/s", "free": "16 MiB"} for name in "ab"],
            "pairs": [{"from": "a", "to": "b", "cap": "20 Mbit/s"}]}, file)
    lab = [edgeps, "lab"]
    limits = ["--core", "10000 samples/s"] if os.geteuid() == 0 else []
    made = subprocess.run([*lab, "up", f"{folder}/net", "--dir", f"{folder}/lab", *limits],
                          capture_output=True, text=True)
    if made.returncode:
        assert "run as root" in made.stderr or "not installed" in made.stderr, made.stderr
        print("skipped the lab's schema:", made.stderr)
    else:
        text = subprocess.run([*lab, "check", "--json", "--force", "--dir", f"{folder}/lab"],
                              capture_output=True).stdout
        subprocess.run([*lab, "down", "--dir", f"{folder}/lab"], check=True)
        check = json.loads(text)
        measured.validate(check)
        assert {link["kind"] for link in check["links"]} == {"up", "down", "pair"}
        assert check["paths"]
        assert [disk["node"] for disk in check["storage"]] == ["a", "b"]
        refuses(measured, check, lambda c: c.pop("kernel"))
        refuses(measured, check, lambda c: c["links"][0].update(from_="a"))
        refuses(measured, check, lambda c: c["links"][0].update({"from": "a", "to": "b"}))
        refuses(measured, check, lambda c: c["paths"][0].update(measured_s=None))
        assert [share["node"] for share in check["compute"]] == (["a", "b"] if limits else [])
        refuses(measured, check, lambda c: c["storage"][0].pop("measured_bytes"))
        refuses(measured, check, lambda c: c.update(compute=[{"node": "a"}]))
with open(f"{source}/tests/report/events.jsonl", encoding="utf-8") as file:
    for line in file:
        events.validate(json.loads(line))
print("all obey")
