#!/usr/bin/python3
"""A placement algorithm outside of edgeps; docs/problem-file.md describes what it reads and prints.

edgeps plan NETWORK --algo 'exec:python3 examples/exec_greedy.py'
"""
import json
import sys

problem = json.load(sys.stdin)
nodes, most = problem["nodes"], problem["max_locals"]


def need(role, children):
    return problem[role]["fixed"] + children * problem[role]["per_child"]


def rate(a, b):
    cap = problem["cap_bytes_per_s"][nodes[a]["site"]][nodes[b]["site"]]
    lone = min(nodes[a]["up_bytes_per_s"], nodes[b]["down_bytes_per_s"])
    return float("inf") if a == b else lone if cap is None else min(lone, cap)


def both(a, b):
    return min(rate(a, b), rate(b, a))


free = [node["free_bytes"] for node in nodes]
fast = [j for j, node in enumerate(nodes) if node["serve"]]
fast.sort(key=lambda j: -min(nodes[j]["up_bytes_per_s"], nodes[j]["down_bytes_per_s"]))
hub = next((j for j in fast if free[j] >= need("global_need_bytes", most)), None)
if hub is None:
    sys.exit(3)  # no plan
free[hub] -= need("global_need_bytes", most)
children = {j: 0 for j in [j for j in fast if both(j, hub) > 0][:most]}
parent = {}
for i in (i for i, node in enumerate(nodes) if node["train"]):
    room = [j for j in children if both(i, j) > 0 and need("local_need_bytes", children[j] + 1) <= free[j]]
    if not room:
        sys.exit(3)
    best = max(room, key=lambda j: min(both(i, j), nodes[j]["down_bytes_per_s"] / (children[j] + 1)))
    children[best] += 1
    parent[nodes[i]["name"]] = nodes[best]["name"]
json.dump({"global": nodes[hub]["name"], "parent": parent}, sys.stdout)
