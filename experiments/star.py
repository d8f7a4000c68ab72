#!/usr/bin/python3
"""One server for all workers, on a node that is named: a placement algorithm for `edgeps plan --algo
'exec:star.py NODE'` (docs/problem-file.md)."""
import json
import sys

nodes = json.load(sys.stdin)["nodes"]
json.dump({"global": sys.argv[1], "parent": {node["name"]: sys.argv[1] for node in nodes if node["train"]}},
          sys.stdout)
