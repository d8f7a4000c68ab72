"""What holds in every job, whatever befalls it: told from the trace, the events and the end."""

import collections

from job import BATCH, COORDINATOR, EPOCHS, PLAN, PULL, PUSH, PUSH_AGAIN, ROUND


def one_owner_per_generation(job):
    owner = {}
    for e in job.trace:
        if e.kind == "S" and e.type == ROUND and owner.setdefault(e.generation, e.pid) != e.pid:
            yield f"two global servers in generation {e.generation}"


def rounds_are_monotone(job):
    newest = {}
    for e in job.trace:
        if e.kind != "S" or e.type not in (PULL, ROUND, PLAN):
            continue
        key, value = (e.type, e.pid, e.generation, e.fd, e.chunk), e.round
        if e.type == PLAN:  # generations are, over all coordinators; one may be announced again
            key, value = PLAN, e.generation
        if value < newest.get(key, value):
            yield f"frame {e.type} of {e.name}: {value} after {newest[key]}"
        newest[key] = value


def no_sample_counts_twice(job):
    """What a local server sends up is at most what its children sent it, each once, and its own."""
    held = collections.defaultdict(dict)
    for e in job.trace:
        if e.type not in (PUSH, PUSH_AGAIN):
            continue
        key = (e.pid, e.generation, e.chunk, e.round)
        if e.kind == "R":
            held[key][e.sender] = max(e.weight, held[key].get(e.sender, 0))
        elif e.weight > BATCH + sum(held[key].values()):
            yield (f"{e.name} sends {e.weight:g} samples of round {e.round}, chunk {e.chunk}, and got "
                   f"{held[key]}")


def each_epoch_is_told_once(job):
    """But those after the newest checkpoint again, where a disk was full and the job begins anew."""
    told, saved, begins_after = 0, 0, None
    for event in job.events():
        if event["event"] == "checkpoint":
            saved = event["epoch"]
        elif event["event"] == "start":
            begins_after = saved
        elif event["event"] == "epoch":
            anew = begins_after is not None and event["epoch"] == begins_after + 1 <= told
            if event["epoch"] != told + 1 and not anew:
                yield f"epoch {event['epoch']} is told after epoch {told}, checkpoint {begins_after}"
            told, begins_after = event["epoch"], None
    if told != EPOCHS:
        yield f"the last epoch told is {told}"


def it_ends_well_and_nobody_is_left(job):
    if job.status is None:
        yield "it hangs"
    elif job.status != 0:
        yield f"it ends with status {job.status}"
    if job.left:
        yield f"left: {', '.join(job.left)}"


ALL = (it_ends_well_and_nobody_is_left, each_epoch_is_told_once, one_owner_per_generation,
       rounds_are_monotone, no_sample_counts_twice)


def broken(job):
    return [text for check in ALL for text in list(check(job))[:3]]


def accuracies(job):
    """By epoch."""
    return [e["accuracy"] for e in job.events() if e["event"] == "epoch"]
