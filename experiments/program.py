"""edgeps, called as a user calls it."""
import json
import os
import platform
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

INFEASIBLE = 3
LIMIT_S = 3600  # no command here takes as long, unless it hangs


class Failed(Exception):
    """The program ended with a status that is no answer."""


def options(table):
    """{"max-locals": 4, "no-polish": True} as words of a command line."""
    words = []
    for name, value in table.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return words


class Program:
    """A build of edgeps, a folder for what it reads and writes, and how many of it run at once."""

    def __init__(self, path, jobs, data):
        self.path = path
        self.data = data  # folder of foreign data sets, or None
        self.folder = tempfile.TemporaryDirectory(prefix="edgeps-experiments-")
        self.jobs = jobs

    def call(self, *words):
        """Standard output; None when the answer is that there is no plan."""
        try:
            done = subprocess.run([self.path, *map(str, words)], capture_output=True, text=True,
                                  check=False, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"edgeps {' '.join(map(str, words))}: no end after {LIMIT_S} s") from None
        if done.returncode == INFEASIBLE:
            return None
        if done.returncode != 0:
            raise Failed(f"edgeps {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *words):
        text = self.call(*words)
        return None if text is None else json.loads(text)

    def generate(self, **table):
        return self.json("topo", "generate", *options(table))

    def keep(self, network):
        """The network as a file, for commands that read one."""
        handle, path = tempfile.mkstemp(suffix=".json", dir=self.folder.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(network, file)
        return path

    def plan(self, path, **table):
        return self.json("plan", path, "--json", *options(table))

    def sim(self, path, **table):
        return self.json("sim", path, "--json", *options(table))

    def map(self, function, items):
        """Results in the order of the items, whatever ends first."""
        with ThreadPoolExecutor(self.jobs) as pool:
            yield from pool.map(function, items)


def machine():
    """Processor, cores and memory, in one field."""
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}; {os.cpu_count()} cores; {memory:.1f} GiB"


def version(path, source):
    """What the program calls itself, and what git calls the sources as they were last committed."""
    own = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    tree = subprocess.run(["git", "-C", source, "rev-parse", "--short", "HEAD:src"],
                          capture_output=True, text=True, check=False).stdout
    return " ".join([*own.split(), "src", tree.strip() or "unknown"])
