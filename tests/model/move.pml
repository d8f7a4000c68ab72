/* A server moves: docs/faults.md, "A server moves", with the same names of states: the source is
 * serving, copying, frozen, gone; a target is empty, receiving, holding, serving. The coordinator is
 * planning, moving, committing, training ("A node is lost") and, when it follows a killed one,
 * gathering ("The coordinator is killed").
 *
 * One source, two targets, a coordinator that may be killed at any instant (KILLS) and is followed by
 * another; at any instant a node may die, a state's connection may break, or a target may have no
 * room (FAULTS of these). A server's state is one chunk, its version the round that it holds. Who is
 * planned to be the next owner is anybody.
 *
 * What holds (spin's assertions, and its search for invalid end states):
 * - whoever applies a round is the owner by the record, and there is no other;
 * - no round is lost or applied again, as the owner holds the newest version at each;
 * - the job ends, with all its rounds: nobody waits for ever.
 *
 * Left out: the tree below the server and the versions that its children give to a successor
 * (failover.pml), silent nodes (there, too), moves of local servers, which have no frost.
 *
 * Errors that a run of the test plants, one at a time, and spin must find:
 * NO_RECORD    the plan is announced before its record is written
 * THAWS        a frozen source goes on by itself when the coordinator is gone
 * HALF         the copy counts as whole without what changed while it was made
 * NO_ABANDON   a move that failed is not abandoned
 * NO_MEASURE   servers move before all nodes have heard of the plan in force
 * DEAF         the loss of a node while servers move is not noticed
 */
#define NODES 3
#define NOBODY 3
#define ROUNDS 1
#define MOST_FAILED 2
#ifndef KILLS
#define KILLS 1 /* of the coordinator */
#endif
#ifndef FAULTS
#define FAULTS 1 /* deaths of nodes, connections that break, and refusals for want of room */
#endif
#define MOST_MOVES 3 /* unless the owner is lost */

mtype = { serving, copying, frozen, gone, empty_, receiving, holding };
mtype = { gathering, planning, moving, committing, training, ended };
mtype = { move, restore, abandon, plan, stop, hello, moved, done, begin, chunk, last };

/* The record in the coordinator's store: what outlives it. */
byte record_generation = 1;
byte record_owner = 0;

/* Who is dead stays dead, but for the coordinator, of which there are two. */
bool dead[NODES];
byte coordinator = 0; /* which of the two */
bool coordinator_alive = true;

byte newest = 0;            /* round that was applied last */
bool broken[MOST_MOVES + 3];    /* per move: its connection has ended */
byte numbers = 0;           /* of moves so far */
byte kills = KILLS, faults = FAULTS;

/* Connections; those with the coordinator end with it. */
chan to_node[2 * NODES] = [4] of { mtype, byte, byte };
chan from_node[2 * NODES] = [4] of { mtype, byte, byte };
chan state_to[NODES] = [8] of { mtype, byte, byte };

#define DOWN(n) to_node[with * NODES + n]
#define UP(n) from_node[with * NODES + n]

/* Tells the coordinator, if it is there to hear. */
inline tell(what, a, b)
{
    if
    :: coordinator_alive && coordinator == with -> UP(me) ! what, a, b
    :: else
    fi
}

/* A part of the state, if its connection is whole. */
inline send_state(what, value)
{
    if
    :: !broken[leaving] && !dead[target] -> state_to[target] ! what, leaving, value
    :: else
    fi
}

/* The connection of the state that leaves ends here. */
inline hang_up()
{
    if
    :: leaving -> broken[leaving] = true; leaving = 0; target = NOBODY; sent = 0; failure_told = false
    :: else
    fi
}

/* What has come, or is on its way here, is worth nothing. */
inline drop_arrival()
{
    broken[coming] = true;
    coming = 0;
    state = empty_
}

/* The coordinator before had not committed its move: who served goes on, who received is empty. */
inline revert()
{
    hang_up();
    if
    :: state == copying || state == frozen -> state = serving
    :: coming -> drop_arrival()
    :: else
    fi
}

proctype Node(byte me)
{
    byte with = 0; /* which coordinator */
    byte generation = 1;
    byte version = 0;
    byte leaving = 0, coming = 0; /* numbers of moves */
    byte target = NOBODY, sent = 0;
    byte a, b;
    bool told = false, failure_told = false;
    mtype state = (me == record_owner -> serving : empty_);

    {
    do
    /* rounds */
    :: atomic { (state == serving || state == copying) && version < ROUNDS ->
           assert(record_owner == me);
           assert(version == newest);
           version++;
           newest = version }
    :: atomic { (state == serving || state == copying) && version == ROUNDS && !told ->
           told = true;
           tell(done, generation, 0) }

    /* the state leaves */
    :: atomic { state == copying && !sent ->
           sent = version + 1;
           send_state(chunk, version) }
    :: atomic { state == copying && sent ->
#ifdef HALF
           send_state(last, sent - 1);
           state = frozen
#else
           state = frozen;
           send_state(last, version) /* with what changed since */
#endif
       }
    :: atomic { leaving && (broken[leaving] || dead[target]) && !failure_told ->
           failure_told = true;
           tell(moved, leaving, false) }

    /* the state comes */
    :: atomic { state_to[me] ? begin, a, b ->
           if
           :: a < coming || b <= generation -> broken[a] = true
           :: else ->
              coming = a;
              if
              :: faults -> faults--; state = empty_; tell(moved, a, false)
              :: state = receiving
              fi
           fi;
           a = 0; b = 0 }
    :: atomic { state_to[me] ? chunk, a, b ->
           if
           :: state == receiving && a == coming -> version = b
           :: else
           fi;
           a = 0; b = 0 }
    :: atomic { state_to[me] ? last, a, b ->
           if
           :: state == receiving && a == coming ->
              version = b;
              state = holding;
              tell(moved, a, true)
           :: else
           fi;
           a = 0; b = 0 }
    :: atomic { state == receiving && broken[coming] && empty(state_to[me]) ->
           state = empty_;
           tell(moved, coming, false);
           coming = 0 }

    /* the coordinator's words */
    :: atomic { DOWN(me) ? move, a, b ->
           assert(state == serving);
           leaving = a;
           target = b;
           sent = 0;
           failure_told = false;
           state = copying;
           send_state(begin, generation + 1);
           a = 0; b = 0 }
    :: atomic { DOWN(me) ? restore, a, b ->
           coming = a;
           version = b;
           state = holding;
           tell(moved, a, true);
           a = 0; b = 0 }
    :: atomic { DOWN(me) ? abandon, a, b ->
           if
           :: a == leaving -> hang_up(); state = serving
           :: a == coming -> drop_arrival()
           :: else
           fi;
           a = 0; b = 0 }
    :: atomic { DOWN(me) ? plan, a, b ->
           if
           :: a <= generation -> revert()
           :: else ->
              hang_up();
              coming = 0;
              generation = a;
              told = false;
              if
              :: b == me -> assert(state != empty_ && state != receiving); state = serving
              :: b != me && (state == serving || state == copying || state == frozen) -> state = gone
              :: else -> state = empty_
              fi
           fi;
           a = 0; b = 0 }
    :: atomic { DOWN(me) ? stop, _, _ -> state = gone; hang_up(); goto end_of_node }

    /* the coordinator is gone, and another calls */
    :: atomic { (!coordinator_alive || coordinator != with) && empty(DOWN(me)) && state == copying ->
           hang_up();
           state = serving }
#ifdef THAWS
    :: atomic { (!coordinator_alive || coordinator != with) && empty(DOWN(me)) && state == frozen ->
           hang_up();
           state = serving }
#endif
    :: atomic { coordinator_alive && coordinator > with && empty(DOWN(me)) && state != copying ->
           with = coordinator;
           told = false;
           tell(hello, generation, 0) }
    od;
end_of_node:
    do
    :: state_to[me] ? _, _, _
    od
    } unless { atomic { dead[me] -> hang_up(); state = gone } }
}

#define SAY(n, what, x, y) \
    if \
    :: !absent[n] && !dead[n] -> DOWN(n) ! what, x, y \
    :: else \
    fi

inline say_all(what, x, y)
{
    SAY(0, what, x, y); SAY(1, what, x, y); SAY(2, what, x, y)
}

/* The move under way is off; both ends are told. */
inline give_up()
{
#ifdef NO_ABANDON
    skip
#else
    SAY(target, abandon, number, 0);
    if
    :: source != NOBODY -> SAY(source, abandon, number, 0)
    :: else
    fi
#endif
}

/* The end of a connection is noticed behind its last word. */
#define IS_LOST(n) (!absent[n] && dead[n] && empty(UP(n)))

#define HAS_ANSWERED(n) (absent[n] || dead[n] || empty(DOWN(n)))

proctype Coordinator(byte with)
{
    bool absent[NODES];
    byte generation, owner, number = 0, target = NOBODY, source = NOBODY, failed = 0;
    byte n, a, ok;
    bool finished = false; /* the owner has made all rounds */
    mtype phase;

    {
    atomic {
        generation = record_generation;
        owner = record_owner;
        phase = (with -> gathering : planning)
    };
    if
    :: phase == gathering ->
       n = 0;
       do
       :: n < NODES ->
          if
          :: UP(n) ? hello, _, _
          :: IS_LOST(n) -> absent[n] = true
          fi;
          n++
       :: else -> break
       od;
       atomic { say_all(plan, generation, owner) }
    :: else
    fi;

wants_a_plan:
    /* Measures: who has answered has heard all that it was told, the last plan, too. */
    phase = planning;
    atomic {
#ifndef NO_MEASURE
        HAS_ANSWERED(0) && HAS_ANSWERED(1) && HAS_ANSWERED(2);
#endif
        source = (!absent[owner] -> owner : NOBODY);
        if
        :: !absent[0] && owner != 0 && (numbers < MOST_MOVES || source == NOBODY) -> target = 0
        :: !absent[1] && owner != 1 && (numbers < MOST_MOVES || source == NOBODY) -> target = 1
        :: !absent[2] && owner != 2 && (numbers < MOST_MOVES || source == NOBODY) -> target = 2
        :: source != NOBODY -> goto trains /* all stay */
        fi
    };

    atomic {
        phase = moving;
        numbers++;
        number = numbers;
        if
        :: source != NOBODY -> SAY(source, move, number, target)
        :: else -> SAY(target, restore, number, newest)
        fi
    };
waits:
    do
    :: atomic { UP(0) ? moved, a, ok -> if :: a == number -> goto answered :: else -> a = 0; ok = 0 fi }
    :: atomic { UP(1) ? moved, a, ok -> if :: a == number -> goto answered :: else -> a = 0; ok = 0 fi }
    :: atomic { UP(2) ? moved, a, ok -> if :: a == number -> goto answered :: else -> a = 0; ok = 0 fi }
    :: atomic { UP(0) ? done, a, _ -> finished = finished || a == generation; a = 0 }
    :: atomic { UP(1) ? done, a, _ -> finished = finished || a == generation; a = 0 }
    :: atomic { UP(2) ? done, a, _ -> finished = finished || a == generation; a = 0 }
#ifndef DEAF
    :: atomic { IS_LOST(0) -> absent[0] = true; give_up(); goto wants_a_plan }
    :: atomic { IS_LOST(1) -> absent[1] = true; give_up(); goto wants_a_plan }
    :: atomic { IS_LOST(2) -> absent[2] = true; give_up(); goto wants_a_plan }
#endif
    od;
answered:
    atomic {
        a = 0;
        if
        :: ok -> ok = 0; failed = 0
        :: else ->
           give_up();
           failed++;
           if
           :: failed < MOST_FAILED -> goto wants_a_plan
           :: else -> assert(!absent[owner]); target = owner /* all stay */
           fi
        fi
    };

    atomic {
        phase = committing;
        generation++;
        owner = target;
        finished = false
    };
#ifdef NO_RECORD
    atomic { say_all(plan, generation, owner) };
#endif
    atomic { record_generation = generation; record_owner = owner };
#ifndef NO_RECORD
    atomic { say_all(plan, generation, owner) };
#endif

trains:
    atomic { phase = training; number = 0; target = NOBODY; source = NOBODY };
    do
    :: finished -> break
    :: atomic { UP(0) ? done, a, _ -> finished = finished || a == generation; a = 0 }
    :: atomic { UP(1) ? done, a, _ -> finished = finished || a == generation; a = 0 }
    :: atomic { UP(2) ? done, a, _ -> finished = finished || a == generation; a = 0 }
    :: UP(0) ? moved, _, _
    :: UP(1) ? moved, _, _
    :: UP(2) ? moved, _, _
    :: atomic { IS_LOST(0) -> absent[0] = true; if :: owner == 0 -> goto wants_a_plan :: else fi }
    :: atomic { IS_LOST(1) -> absent[1] = true; if :: owner == 1 -> goto wants_a_plan :: else fi }
    :: atomic { IS_LOST(2) -> absent[2] = true; if :: owner == 2 -> goto wants_a_plan :: else fi }
    od;
    atomic { assert(newest == ROUNDS); phase = ended; say_all(stop, 0, 0); kills = 0 }
    } unless { !coordinator_alive || coordinator != with };
}

/* What goes wrong: each at any instant, or not at all. */
active proctype Fate()
{
end_of_all:
    do
    :: atomic { faults && !dead[0] -> faults--; dead[0] = true }
    :: atomic { faults && !dead[1] -> faults--; dead[1] = true }
    :: atomic { faults && !dead[2] -> faults--; dead[2] = true }
    :: atomic { faults && numbers && !broken[numbers] -> faults--; broken[numbers] = true }
    :: atomic { kills -> kills--; coordinator_alive = false;
           run Follower() }
    od
}

/* Takes over where the coordinator was killed. */
proctype Follower()
{
    atomic { coordinator = 1; coordinator_alive = true; run Coordinator(1) }
}

init
{
    atomic { run Coordinator(0); run Node(0); run Node(1); run Node(2) }
}
