/* A global server is lost in a round: docs/faults.md, "A node is lost", with the same names of
 * states: the coordinator is training, planning, moving, committing, and, when it follows a killed
 * one, gathering ("The coordinator is killed"). The lost one is silent, and may go on at any instant as
 * if nothing had been; one that never does is as good as dead.
 *
 * One source (the global server that is lost), two targets (each a worker, each able to succeed it),
 * a coordinator that may be killed at any instant and is followed by another. The parameters are one
 * chunk, its version is the round whose update it holds; rules 1 to 5 of docs/protocol.md.
 *
 * What holds (spin's assertions, and its search for invalid end states):
 * - in a generation only its owner applies rounds, and only the newest generation's are kept: no
 *   round is applied while one of its workers holds it, so no gradient is counted twice;
 * - a worker never goes back, and no round that a worker has is lost;
 * - the job ends, with all its rounds: nobody waits for ever.
 *
 * Left out: how the successor's first state comes to it (move.pml), local servers between, quorums,
 * and what the death of a worker does to a sum.
 *
 * Errors that a run of the test plants, one at a time, and spin must find:
 * NO_FENCE     workers and servers take frames of every generation
 * NO_GIVE      nobody gives the successor what is newer than its first state
 * KEEPS_SUMS   a new generation keeps partial sums
 * NO_RECORD    the plan is announced before its record is written
 */
#ifndef KILLS
#define KILLS 1 /* of the coordinator */
#endif
#define SOURCE 0
#define NODES 3
#ifndef ROUNDS
#define ROUNDS 2
#endif


mtype = { training, planning, moving, committing, gathering, ended };
mtype = { attach, push, pull, move, moved, plan, hello, done, stop };

/* The record in the coordinator's store: what outlives it. */
byte record_generation = 1;
byte record_owner = SOURCE;

bool silent, ghost; /* the source; a ghost was silent and goes on. Silent for ever is dead. */
byte coordinator = 0;
bool coordinator_alive = true;
byte kills = KILLS;

byte has[NODES];   /* versions of the workers 1 and 2 */
byte maker[NODES]; /* the generation in which that version was made */

/* To servers: generation, version or round, its maker, sender. To workers: generation, version, maker.
 */
chan to_server[NODES] = [8] of { mtype, byte, byte, byte, byte };
chan to_worker[NODES] = [8] of { mtype, byte, byte, byte };
chan to_node[2 * NODES] = [4] of { mtype, byte, byte };
chan from_node[2 * NODES] = [4] of { mtype, byte };

#define DOWN(n) to_node[with * NODES + n]
#define UP(n) from_node[with * NODES + n]
#define OTHER(n) (3 - n)

inline tell(what, value)
{
    if
    :: coordinator_alive && coordinator == with -> UP(me) ! what, value
    :: else
    fi
}

inline tell_done()
{
    if
    :: has[me] == ROUNDS -> tell(done, 0)
    :: else
    fi
}

inline send_down(to)
{
    to_worker[to] ! pull, generation, version, made
}

/* The server's answer to a frame of its generation: kind, value, by and sender are set. */
inline serve()
{
    if
    :: kind == attach ->
       attached[sender] = true;
       if
       :: value < version -> send_down(sender)
#ifndef NO_GIVE
       :: value > version -> /* the newest version that anybody holds wins */
          version = value;
          made = by;
          sum[1] = false;
          sum[2] = false;
          if
          :: attached[OTHER(sender)] -> send_down(OTHER(sender))
          :: else
          fi
#endif
       :: else
       fi
    :: kind == push && value == version + 1 ->
       assert(!sum[sender]);
       sum[sender] = true
    :: else
    fi;
    if
    :: sum[1] && sum[2] ->
       assert(generation < record_generation || record_owner == me);
       assert(generation <= record_generation);
       version++;
       made = generation;
       assert(generation < record_generation || (has[1] < version && has[2] < version));
       sum[1] = false;
       sum[2] = false;
       send_down(1);
       send_down(2)
    :: else
    fi;
    kind = 0; value = 0; by = 0; sender = 0
}

/* A frame of an older generation. */
inline refuse()
{
#ifdef NO_FENCE
    serve()
#else
    kind = 0; value = 0; by = 0; sender = 0
#endif
}

/* The server of a node; it is in force where the plan says so. */
#define SERVER \
    bool attached[NODES], sum[NODES]; \
    byte generation = 1, version = 0, made = 0; \
    byte value, by, sender; \
    mtype kind

/* A worker holds its gradient until its round is back, and pushes it once in a generation. */
proctype Node(byte me)
{
    SERVER;
    byte with = 0, owner = SOURCE;
    bool pushed = false;
    byte a, b;

    do
    /* as a worker */
    :: atomic { !pushed && has[me] < ROUNDS ->
           pushed = true;
           to_server[owner] ! push, generation, has[me] + 1, 0, me }
    :: atomic { to_worker[me] ? pull, a, b, by ->
           if
#ifdef NO_FENCE
           :: b > has[me] ->
#else
           :: a == generation && b > has[me] ->
#endif
              has[me] = b;
              maker[me] = by;
              pushed = false;
              assert(has[1] != has[2] || maker[1] == maker[2]);
              tell_done()
           :: else
           fi;
           a = 0; b = 0; by = 0 }

    /* as a server */
    :: atomic { owner == me && to_server[me] ?? [_, eval(generation), _, _, _] ->
           to_server[me] ?? kind, eval(generation), value, by, sender;
           serve() }
    :: atomic { generation > 1 && to_server[me] ?? [_, eval(generation - 1), _, _, _] ->
           to_server[me] ?? kind, eval(generation - 1), value, by, sender;
           refuse() }
    :: atomic { generation > 2 && to_server[me] ?? [_, eval(generation - 2), _, _, _] ->
           to_server[me] ?? kind, eval(generation - 2), value, by, sender;
           refuse() }

    /* the coordinator's words */
    :: atomic { DOWN(me) ? move, a, _ ->
           if
           :: version = 0; made = 0             /* the checkpoint's state */
           :: version = has[me]; made = maker[me] /* the standby's */
           fi;
           tell(moved, 0);
           a = 0 }
    :: atomic { DOWN(me) ? plan, a, b ->
           if
           :: a > generation ->
              generation = a;
              owner = b;
              pushed = false;
              attached[1] = false;
              attached[2] = false;
#ifndef KEEPS_SUMS
              sum[1] = false;
              sum[2] = false;
#endif
              to_server[owner] ! attach, generation, has[me], maker[me], me
           :: else
           fi;
           a = 0; b = 0 }
    :: atomic { DOWN(me) ? stop, _, _ -> break }
    :: atomic { coordinator_alive && coordinator > with && empty(DOWN(me)) ->
           with = coordinator;
           tell(hello, 0);
           tell_done() }
    od;
end_of_node:
    do
    :: to_server[me] ? _, _, _, _, _
    :: to_worker[me] ? _, _, _, _
    od
}

/* The global server that is lost: the coordinator hears no more of it, and tells it no more. */
proctype Source()
{
    SERVER;
    byte me = SOURCE;
    attached[1] = true;
    attached[2] = true;
end_of_source:
    do
    :: atomic { !silent && to_server[me] ?? [_, 1, _, _, _] ->
           to_server[me] ?? kind, 1, value, by, sender;
           serve() }
    :: atomic { !silent && !ghost -> silent = true }
    :: atomic { silent -> silent = false; ghost = true }
    od
}

#define IS_LOST (silent || ghost)

inline say_all(what, x, y)
{
    DOWN(1) ! what, x, y;
    DOWN(2) ! what, x, y
}

proctype Coordinator(byte with)
{
    byte generation, owner, target;
    bool finished[NODES];
    mtype phase;

    {
    atomic {
        generation = record_generation;
        owner = record_owner;
        phase = (with -> gathering : training)
    };
    if
    :: phase == gathering ->
       UP(1) ? hello, _;
       UP(2) ? hello, _;
       atomic { say_all(plan, generation, owner) };
       if
       :: target = owner; goto commits /* another generation, for whatever reason */
       :: skip
       fi
    :: else
    fi;

trains:
    phase = training;
    do
    :: finished[1] && finished[2] -> goto ends
    :: atomic { UP(1) ? done, _ -> finished[1] = true }
    :: atomic { UP(2) ? done, _ -> finished[2] = true }
    :: owner == SOURCE && IS_LOST -> break
    od;

    atomic {
        phase = planning;
        if
        :: target = 1
        :: target = 2
        fi
    };
    atomic { phase = moving; DOWN(target) ! move, 0, 0 };
    do
    :: atomic { UP(target) ? moved, _ -> break }
    :: atomic { UP(1) ? done, _ -> finished[1] = true }
    :: atomic { UP(2) ? done, _ -> finished[2] = true }
    od;

commits:
    atomic { phase = committing; generation++; owner = target };
#ifdef NO_RECORD
    atomic { say_all(plan, generation, owner) };
#endif
    atomic { record_generation = generation; record_owner = owner };
#ifndef NO_RECORD
    atomic { say_all(plan, generation, owner) };
#endif
    goto trains;

ends:
    atomic {
        phase = ended;
        assert(has[1] == ROUNDS && has[2] == ROUNDS);
        say_all(stop, 0, 0);
        kills = 0
    }
    } unless { !coordinator_alive || coordinator != with }
}

/* The coordinator is killed at any instant, or not at all, and followed some time later. */
active proctype Fate()
{
end_of_fate:
    do
    :: atomic { kills -> kills--; coordinator_alive = false; run Follower() }
    od
}

proctype Follower()
{
    atomic { coordinator = 1; coordinator_alive = true; run Coordinator(1) }
}

init
{
    atomic { run Coordinator(0); run Source(); run Node(1); run Node(2) }
}
