#!/usr/bin/python3
"""What the program writes and the examples obey the schemas in docs/schema.

usage: schema_test.py SOURCE_DIR EDGEPS
"""
import glob
import json
import subprocess
import sys

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


networks, plans, events = schema("network"), schema("plan"), schema("events")
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
with open(f"{source}/tests/report/events.jsonl", encoding="utf-8") as file:
    for line in file:
        events.validate(json.loads(line))
print("all obey")
