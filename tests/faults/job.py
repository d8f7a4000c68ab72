"""A job of real processes under probes (probe.c): one trace of all frames, and faults at points of it."""

import collections
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import time

# Types of frames, docs/protocol.md.
PUSH, PULL, PUSH_AGAIN = 3, 4, 9
STATE_BEGIN, STATE_PARAMETERS, BEAT, ROUND, DONE, PLAN, MEASURE, SAVE = 16, 17, 33, 35, 36, 65, 68, 71

COORDINATOR = "coordinator"
ROOM = b"e"  # the order that ends a full disk
EPOCHS = 3
ROUNDS = 6  # of an epoch: 900 samples on six nodes in batches of 25
BATCH = 25
PATIENCE_S = 60  # a run that takes longer hangs
GRACE_S = 12  # processes may outlive the coordinator by --orphan-after

REPORT = struct.Struct("<c3xi64s")
HEADER = struct.Struct("<4sHHQQqdQIIII")

Event = collections.namedtuple(
    "Event", "time pid name kind fd type generation round weight sender chunk incarnation number"
)


class Process:
    """One process of the job, as long as its probe's connection stands."""

    def __init__(self, pid, name, connection):
        self.pid, self.name, self.connection = pid, name, connection
        self.orders = []  # answers that wait for its next frame
        self.moves = {}  # per descriptor: number of the state that goes out there
        self.stopped = False


class Fault:
    """What happens to whom at which point; `at(event)` is true at it. Victim None: who stands there."""

    def __init__(self, kind, victim, at):
        self.kind, self.victim, self.at = kind, victim, at
        self.struck = None  # when
        self.took_effect = False
        self.before = 0  # the newest round by then
        self.recovery_s = None  # until a later round was there
        self.process = None
        self.continue_at = None


class Job:
    def __init__(self, program, probe, data, folder, nodes, scenario="", options=()):
        self.folder, self.program = folder, program
        self.out = os.path.join(folder, "run")
        self.output = os.path.join(folder, "output")
        network = os.path.join(folder, "network.json")
        write_network(network, nodes, scenario)
        self.arguments = ["run", network, "--model", "mlp", "--data", data, "--out", self.out,
                          "--batch", str(BATCH), "--samples", str(BATCH * ROUNDS * len(nodes)),
                          "--epochs", str(EPOCHS), "--rate", "0.003", "--max-locals", "2", *options]
        path = os.path.join(folder, "probe")
        self.environment = dict(os.environ, LD_PRELOAD=probe, EDGEPS_PROBE=path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(64)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.processes = {}  # by connection
        self.trace = []
        self.newest = 0  # round of any chunk on its way up or down
        self.faults = []
        self.coordinator = None
        self.starts = 0
        self.status = None
        self.left = []

    def start(self, arguments):
        self.starts += 1
        with open(self.output, "ab") as output:
            self.coordinator = subprocess.Popen([self.program, *arguments], env=self.environment,
                                                stdin=subprocess.DEVNULL, stdout=output,
                                                stderr=output, start_new_session=True)

    def run(self, faults):
        """To the end, a killed coordinator being followed by another; then all must be gone."""
        self.faults = faults
        deadline = time.monotonic() + PATIENCE_S
        self.start(self.arguments)
        while self.status is None and time.monotonic() < deadline:
            self.step()
        deadline = min(deadline, time.monotonic() + GRACE_S)
        while self.processes and time.monotonic() < deadline:
            self.step()
        self.left = [p.name for p in self.processes.values()]
        for process in self.processes.values():
            os.kill(process.pid, signal.SIGKILL)
        if self.coordinator.poll() is None:
            self.coordinator.kill()
            self.coordinator.wait()
        self.listener.close()

    def step(self):
        for key, _ in self.selector.select(0.05):
            if key.fileobj is self.listener:
                connection, _ = self.listener.accept()
                self.selector.register(connection, selectors.EVENT_READ)
            else:
                self.hear(key.fileobj)
        now = time.monotonic()
        for fault in self.faults:
            if fault.continue_at and now >= fault.continue_at:
                self.resume_process(fault)
        if self.status is None and self.coordinator.poll() is not None:
            self.coordinator_ended(self.coordinator.returncode)

    def hear(self, connection):
        try:
            message = connection.recv(REPORT.size)
        except ConnectionResetError:
            message = b""
        if len(message) < REPORT.size:
            self.selector.unregister(connection)
            connection.close()
            self.processes.pop(connection, None)
            return
        kind, number, header = REPORT.unpack(message)
        if kind == b"H":
            self.processes[connection] = Process(number, name_of(number), connection)
            answer = b"g"
        elif kind == b"K":
            answer = b"s" if self.spares(number) else b"g"
        else:
            answer = self.pass_point(self.processes[connection], kind.decode(), number, header)
        try:
            connection.send(answer)
        except OSError:
            pass  # it was killed just now

    def spares(self, pid):
        """A process that was given up while it stood still shall go on, as a ghost."""
        for fault in self.faults:
            if fault.process and fault.process.pid == pid and fault.process.stopped:
                fault.continue_at = min(fault.continue_at, time.monotonic() + 0.3)
                return True
        return False

    def pass_point(self, process, kind, fd, header):
        (_, _, what, _, generation, number, weight, _, sender, chunk, incarnation, _) = \
            HEADER.unpack(header)
        if kind == "S" and what == STATE_BEGIN:
            process.moves[fd] = number
        event = Event(time.monotonic(), process.pid, process.name, kind, fd, what, generation,
                      number, weight, sender, chunk, incarnation, process.moves.get(fd))
        self.trace.append(event)
        if what == PULL:
            self.note_recovery(event)
        if what in (PUSH, PULL):
            self.newest = max(self.newest, number)
        for fault in self.faults:
            if fault.struck is None and fault.at(event):
                self.strike(fault, process, event)
        if not process.orders or (what == BEAT and process.orders[0][1] != ROOM):
            return b"g"
        fault, answer = process.orders.pop(0)
        fault.took_effect = True
        return answer

    def note_recovery(self, event):
        """A chunk of a later round comes down: the round that ran at the fault is everywhere."""
        for fault in self.faults:
            if fault.struck and fault.recovery_s is None and event.round > fault.before:
                fault.recovery_s = event.time - fault.struck
                if fault.continue_at and fault.kind == "stop" and fault.victim != COORDINATOR:
                    fault.continue_at = min(fault.continue_at, event.time + 0.3)

    def strike(self, fault, standing, event):
        fault.struck, fault.before = event.time, self.newest
        victim = standing
        if fault.victim:
            named = [p for p in self.processes.values() if p.name == fault.victim]
            victim = named[-1] if named else None
        if victim is None:
            return
        fault.process = victim
        if fault.kind in ("kill", "stop"):
            fault.took_effect = True
        if fault.kind == "kill":
            os.kill(victim.pid, signal.SIGKILL)
        elif fault.kind == "stop":
            victim.stopped = True
            fault.continue_at = event.time + 5
            os.kill(victim.pid, signal.SIGSTOP)
        else:
            victim.orders.append((fault, b"c" if fault.kind == "cut" else b"f"))
            if fault.kind == "full" and victim.name == COORDINATOR:
                fault.continue_at = event.time + 8  # longer than the training takes

    def resume_process(self, fault):
        fault.continue_at = None
        if fault.kind == "full":
            fault.process.orders.append((fault, ROOM))
            return
        fault.process.stopped = False
        if fault.process in self.processes.values():
            os.kill(fault.process.pid, signal.SIGCONT)

    def coordinator_ended(self, status):
        """A killed one is followed; so is one whose disk was full before it had begun."""
        mine = [f for f in self.faults if f.process and f.process.pid == self.coordinator.pid]
        excused = status == -signal.SIGKILL or any(f.kind == "full" for f in mine)
        if status != 0 and excused and self.starts <= len(self.faults):
            self.start(["run", "--resume", self.out])
        else:
            self.status = status

    def events(self):
        with open(os.path.join(self.out, "events.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]


def name_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read().decode().split("\0")
    return words[words.index("--node") + 1] if "--node" in words else COORDINATOR


def write_network(path, nodes, scenario):
    """Nodes with the same rate both ways, in Mbit/s."""
    about = {"edgeps": "network/1", "name": "faults", "scenario": scenario or [],
             "nodes": [{"name": name, "up": f"{rate} Mbit/s", "down": f"{rate} Mbit/s",
                        "compute": "20000 samples/s", "free": "16 MiB"}
                       for name, rate in nodes.items()]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(about, file)
