#include "adapt/moves_int.h"

#include "adapt/adapt_fixture.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define NO PLAN_NONE
#define MAX_NODES 8

/* Two plans of one problem, and the moves between them. */
typedef struct journey {
    problem *p;
    plan old, next;
    int32_t old_children[MAX_NODES], next_children[MAX_NODES];
    transition t;
    adapt_move moves[2 * (MAX_NODES + 1)];
    size_t count;
    double move_s;
    moves_order_kind kind;
} journey;

static void start(journey *j, problem *p, plan old, plan next)
{
    *j = (journey){.p = p, .old = old, .next = next};
    plan_children(&j->old, j->old_children);
    plan_children(&j->next, j->next_children);
    j->t = (transition){p,
                        &j->old,
                        &j->next,
                        j->old_children,
                        j->next_children,
                        plan_local_count(&j->old),
                        plan_local_count(&j->next)};
    j->count = moves_list(&j->t, j->moves, &j->move_s);
    assert_true(j->count + 1 <= moves_room(&j->t));
}

static void order(journey *j)
{
    assert_int_equal(moves_order(&j->t, j->moves, &j->count, &j->kind), EDGEPS_OK);
}

static void end(journey *j)
{
    plan_free(&j->old);
    plan_free(&j->next);
    problem_free(j->p);
}

/* What stands on the nodes while the moves are made, written down server by server. */
typedef struct books {
    int64_t local[MAX_NODES]; /* of the old plan or arrived */
    int64_t global[MAX_NODES];
    int64_t parked[MAX_NODES]; /* states that wait */
} books;

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static bool alive(const journey *j, int32_t v) { return v != NO && j->p->nodes[v].serve; }

static books open_books(const journey *j)
{
    books b = {0};
    const job *trained = &j->p->job;
    for (int32_t v = 0; (size_t)v < j->p->count; v++) {
        if (!alive(j, v))
            continue;
        int32_t before = j->old_children[v], after = j->next_children[v];
        if (before)
            b.local[v] = job_local_need_bytes(trained, before > after ? before : after);
        if (v == j->old.global) {
            int64_t stays = v == j->next.global ? (int64_t)j->t.next_locals : 0;
            b.global[v] = job_global_need_bytes(trained, most((int64_t)j->t.old_locals, stays));
        }
    }
    return b;
}

static bool fits(const journey *j, const books *b, int32_t v)
{
    return b->local[v] + b->global[v] + b->parked[v] <= j->p->nodes[v].free_bytes;
}

static bool arrive(const journey *j, books *b, const adapt_move *m)
{
    const job *trained = &j->p->job;
    bool last = m->role == ADAPT_GLOBAL ? m->to == j->next.global : j->next_children[m->to] > 0;
    if (!last)
        b->parked[m->to] += m->bytes;
    else if (m->role == ADAPT_GLOBAL)
        b->global[m->to] = job_global_need_bytes(trained, (int64_t)j->t.next_locals);
    else
        b->local[m->to] = job_local_need_bytes(trained, j->next_children[m->to]);
    return fits(j, b, m->to);
}

/* Somebody can only copy what is there. */
static bool has_source(const books *b, const adapt_move *m)
{
    if (m->from == NO || b->parked[m->from] > 0 || b->global[m->from] > 0)
        return true;
    return m->role == ADAPT_LOCAL && b->local[m->from] > 0;
}

static bool read_later(const adapt_move *moves, size_t count, size_t k)
{
    for (size_t later = k + 1; later < count; later++)
        if (moves[later].role == ADAPT_LOCAL && moves[later].from == moves[k].from)
            return true;
    return false;
}

static void leave(books *b, const adapt_move *m)
{
    if (b->parked[m->from])
        b->parked[m->from] -= m->bytes;
    else if (m->role == ADAPT_GLOBAL)
        b->global[m->from] = 0;
    else
        b->local[m->from] = 0;
}

/* Plays the moves as they stand: does each find its source and room? */
static bool has_room(const journey *j, const adapt_move *moves, size_t count)
{
    books b = open_books(j);
    for (size_t k = 0; k < count; k++) {
        if (!has_source(&b, &moves[k]) || !arrive(j, &b, &moves[k]))
            return false;
        if (moves[k].releases)
            leave(&b, &moves[k]);
    }
    return true;
}

/* In a given order, what goes as soon as its last reader is done. */
static void mark_releases(const journey *j, adapt_move *moves, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        int32_t from = moves[k].from;
        bool closes = from != NO && j->old_children[from] > 0 && j->next_children[from] == 0;
        bool other = from != NO && moves[k].role == ADAPT_GLOBAL && j->old_children[from] > 0;
        moves[k].releases = from != NO && (moves[k].role == ADAPT_GLOBAL || closes) &&
                            (other || !read_later(moves, count, k));
    }
}

/* The next permutation of `index` in lexicographic order; false after the last. */
static bool permute(size_t *index, size_t count)
{
    size_t i = count, k = count;
    if (count < 2)
        return false;
    for (i = count - 1; i > 0 && index[i - 1] >= index[i];)
        i--;
    if (i == 0)
        return false;
    while (index[k - 1] <= index[i - 1])
        k--;
    size_t swapped = index[i - 1];
    index[i - 1] = index[k - 1];
    index[k - 1] = swapped;
    for (size_t a = i, b = count - 1; a < b; a++, b--) {
        swapped = index[a];
        index[a] = index[b];
        index[b] = swapped;
    }
    return true;
}

static bool some_order_has_room(const journey *j)
{
    size_t index[MAX_NODES + 2];
    for (size_t k = 0; k < j->count; k++)
        index[k] = k;
    do {
        adapt_move moves[MAX_NODES + 2];
        for (size_t k = 0; k < j->count; k++)
            moves[k] = j->moves[index[k]];
        mark_releases(j, moves, j->count);
        if (has_room(j, moves, j->count))
            return true;
    } while (permute(index, j->count));
    return false;
}

/* May the state of move `m` wait on node `v`? */
static bool may_wait(const journey *j, const adapt_move *m, int32_t v)
{
    bool taken = m->role == ADAPT_LOCAL && (j->old_children[v] > 0 || j->next_children[v] > 0);
    return !taken && alive(j, v) && m->from != NO && v != m->from && v != m->to &&
           problem_rate_bytes_per_s(j->p, (size_t)m->from, (size_t)v) > 0 &&
           problem_rate_bytes_per_s(j->p, (size_t)v, (size_t)m->to) > 0;
}

/* The hops of the moves when move k goes over node via[k], or straight where that is `count`;
 * second[h] is the hop that must come after hop h, or 0. */
static size_t list_hops(const journey *j, const size_t *via, adapt_move *hops, size_t *second)
{
    size_t count = j->count;
    for (size_t k = 0; k < j->count; k++) {
        hops[k] = j->moves[k];
        second[k] = 0;
        if (via[k] == j->p->count)
            continue;
        if (!may_wait(j, &hops[k], (int32_t)via[k]))
            return 0;
        hops[count] = hops[k];
        hops[count].from = hops[k].to = (int32_t)via[k];
        second[k] = count++;
    }
    return count;
}

/* Releases in this order of the hops; a waiting state goes when it is copied on. */
static void mark_hops(const journey *j, adapt_move *hops, size_t count)
{
    mark_releases(j, hops, count);
    for (size_t h = 0; h < count; h++)
        for (size_t earlier = 0; earlier < h; earlier++)
            hops[h].releases |= hops[earlier].to == hops[h].from &&
                                hops[earlier].role == hops[h].role &&
                                hops[h].from != j->next.global;
}

static bool some_order_of_hops_has_room(const journey *j, const size_t *via)
{
    adapt_move hops[2 * MAX_NODES], ordered[2 * MAX_NODES];
    size_t second[2 * MAX_NODES] = {0}, index[2 * MAX_NODES], place[2 * MAX_NODES];
    size_t count = list_hops(j, via, hops, second);
    for (size_t h = 0; h < count; h++)
        index[h] = h;
    do {
        bool possible = count > 0;
        for (size_t h = 0; h < count; h++)
            place[index[h]] = h;
        for (size_t h = 0; h < count; h++) {
            ordered[h] = hops[index[h]];
            possible &= !second[h] || place[second[h]] > place[h];
        }
        mark_hops(j, ordered, count);
        if (possible && has_room(j, ordered, count))
            return true;
    } while (permute(index, count));
    return false;
}

/* Tries all stop-overs of all moves, one for each at most. */
static bool some_detour_has_room(const journey *j)
{
    size_t via[MAX_NODES] = {0}, k;
    do {
        if (some_order_of_hops_has_room(j, via))
            return true;
        for (k = 0; k < j->count && ++via[k] > j->p->count; k++)
            via[k] = 0;
    } while (k < j->count);
    return false;
}

static int64_t local_bytes(const problem *p) { return job_local_need_bytes(&p->job, 1); }
static int64_t global_bytes(const problem *p) { return job_global_need_bytes(&p->job, 1); }

static void with_room_for_both_plans_any_order_is_safe(void **state)
{
    (void)state;
    journey j;
    start(&j, fixture_problem(4), fixture_plan(0, 4, (int32_t[]){NO, 1, NO, NO}),
          fixture_plan(3, 4, (int32_t[]){NO, 2, NO, NO}));
    order(&j);
    assert_int_equal(j.kind, MOVES_TOGETHER);
    assert_int_equal(j.count, 2);
    assert_int_equal(j.moves[0].role, ADAPT_LOCAL);
    assert_int_equal(j.moves[0].from, 1);
    assert_int_equal(j.moves[0].to, 2);
    assert_int_equal(j.moves[1].role, ADAPT_GLOBAL);
    assert_int_equal(j.moves[1].from, 0);
    assert_int_equal(j.moves[1].to, 3);
    end(&j);
}

/* The global server goes to where the local one is, which has room for one of them. */
static void a_server_leaves_before_another_takes_its_place(void **state)
{
    (void)state;
    journey j;
    problem *p = fixture_problem(3);
    p->nodes[1].free_bytes = global_bytes(p);
    p->nodes[2].free_bytes = local_bytes(p);
    start(&j, p, fixture_plan(0, 3, (int32_t[]){NO, 1, NO}),
          fixture_plan(1, 3, (int32_t[]){NO, 2, NO}));
    order(&j);
    assert_int_equal(j.kind, MOVES_ONE_BY_ONE);
    assert_int_equal(j.moves[0].role, ADAPT_LOCAL);
    assert_int_equal(j.moves[1].role, ADAPT_GLOBAL);
    assert_true(j.moves[0].releases);
    assert_true(has_room(&j, j.moves, j.count));
    j.moves[0].releases = false;
    assert_false(has_room(&j, j.moves, j.count));
    end(&j);
}

/* Global and local server change places; neither node holds both, a third has room for a state. */
static void a_cycle_is_broken_by_a_stop_over(void **state)
{
    (void)state;
    journey j;
    problem *p = fixture_problem(3);
    p->nodes[0].free_bytes = p->nodes[1].free_bytes = global_bytes(p);
    p->nodes[2].free_bytes = job_local_state_bytes(&p->job);
    start(&j, p, fixture_plan(0, 3, (int32_t[]){NO, 1, NO}),
          fixture_plan(1, 3, (int32_t[]){NO, 0, NO}));
    order(&j);
    assert_int_equal(j.kind, MOVES_WITH_STOPOVER);
    assert_int_equal(j.count, 3);
    assert_int_equal(j.moves[0].from, 1);
    assert_int_equal(j.moves[0].to, 2);
    assert_int_equal(j.moves[1].role, ADAPT_GLOBAL);
    assert_int_equal(j.moves[2].from, 2);
    assert_int_equal(j.moves[2].to, 0);
    assert_true(has_room(&j, j.moves, j.count));
    end(&j);
}

static void a_cycle_without_any_room_is_reported(void **state)
{
    (void)state;
    journey j;
    problem *p = fixture_problem(3);
    p->nodes[0].free_bytes = p->nodes[1].free_bytes = global_bytes(p);
    p->nodes[2].free_bytes = job_local_state_bytes(&p->job) - 1;
    start(&j, p, fixture_plan(0, 3, (int32_t[]){NO, 1, NO}),
          fixture_plan(1, 3, (int32_t[]){NO, 0, NO}));
    order(&j);
    assert_int_equal(j.kind, MOVES_IMPOSSIBLE);
    assert_int_equal(j.count, 2);
    end(&j);
}

/* Two pairs of servers change places at once: the global server with a local one needs a stop-over,
 * and so do two local servers whose nodes take no third. */
static void several_states_may_have_to_wait(void **state)
{
    (void)state;
    journey j;
    problem *p = fixture_problem(5);
    int64_t bytes = job_local_state_bytes(&p->job);
    int32_t old_parent[] = {NO, 1, 2, NO, NO}, next_parent[] = {NO, 0, 3, NO, NO};
    for (size_t v = 0; v < 3; v++)
        p->nodes[v].free_bytes = job_global_need_bytes(&p->job, 2);
    p->nodes[3].free_bytes = local_bytes(p);
    p->nodes[4].free_bytes = bytes;
    start(&j, p, fixture_plan(0, 5, old_parent), fixture_plan(1, 5, next_parent));
    order(&j);
    assert_int_equal(j.kind, MOVES_WITH_STOPOVER);
    assert_int_equal(j.count, 4);
    assert_true(has_room(&j, j.moves, j.count));
    p->nodes[4].free_bytes = bytes - 1;
    j.count = moves_list(&j.t, j.moves, &j.move_s);
    order(&j);
    assert_int_equal(j.kind == MOVES_WITH_STOPOVER, some_detour_has_room(&j));
    end(&j);
}

/* Where there is an order with detours it is found, and where none is found there is none. */
static void no_order_means_that_there_is_none(void **state)
{
    (void)state;
    rng r = rng_make(8, 0);
    int seen[MOVES_NOT_FOUND + 1] = {0};
    for (int round = 0; round < 1500; round++) {
        journey j;
        problem *p = fixture_random_problem(&r, 3 + rng_below(&r, 3));
        plan old = fixture_random_plan(&r, p), next = fixture_random_plan(&r, p);
        for (size_t v = 0; v < p->count; v++) {
            int64_t need = plan_need_bytes(&next, &p->job, v);
            p->nodes[v].serve = true;
            p->nodes[v].free_bytes = most(p->nodes[v].free_bytes / 2, need);
        }
        start(&j, p, old, next);
        /* A state that is on its node already may be brought anew, which the journeys here do not.
         */
        bool brought = true;
        for (size_t k = 0; k < j.count; k++)
            brought &= j.moves[k].from != j.moves[k].to;
        if (j.count <= 3 && brought) {
            bool straight = some_order_has_room(&j);
            bool detour = straight || some_detour_has_room(&j);
            order(&j);
            seen[j.kind]++;
            assert_int_not_equal(j.kind, MOVES_NOT_FOUND);
            if (detour != (j.kind <= MOVES_WITH_STOPOVER))
                fail_msg("round %d: kind %d, a detour %d", round, j.kind, detour);
        }
        end(&j);
    }
    assert_true(seen[MOVES_WITH_STOPOVER] > 5 && seen[MOVES_IMPOSSIBLE] > 5);
}

/* Seventeen local servers, more than are searched exhaustively, each to where the next one was. */
static void long_lists_are_ordered_too(void **state)
{
    (void)state;
    enum { COUNT = 36, LOCALS = 17 };
    problem *p = fixture_problem(COUNT);
    int32_t old_parent[COUNT], next_parent[COUNT], old_children[COUNT], next_children[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        bool worker = i > LOCALS && i <= 2 * LOCALS;
        old_parent[i] = worker ? i - LOCALS : NO;
        next_parent[i] = worker ? i : NO;
        p->nodes[i].free_bytes = local_bytes(p);
    }
    p->nodes[0].free_bytes = p->nodes[COUNT - 1].free_bytes =
        job_global_need_bytes(&p->job, LOCALS);
    p->nodes[1].free_bytes = job_global_need_bytes(&p->job, LOCALS);
    plan old = fixture_plan(0, COUNT, old_parent), next = fixture_plan(1, COUNT, next_parent);
    plan_children(&old, old_children);
    plan_children(&next, next_children);
    transition t = {p, &old, &next, old_children, next_children, LOCALS, LOCALS};
    adapt_move moves[2 * (COUNT + 1)];
    double move_s;
    moves_order_kind kind;
    size_t count = moves_list(&t, moves, &move_s);
    assert_int_equal(count, LOCALS + 1);
    assert_int_equal(moves_order(&t, moves, &count, &kind), EDGEPS_OK);
    assert_int_equal(kind, MOVES_ONE_BY_ONE);
    bool left = false;
    for (size_t k = 0; k < count; k++) {
        left |= moves[k].role == ADAPT_LOCAL && moves[k].from == 1;
        if (moves[k].role == ADAPT_GLOBAL)
            assert_true(left);
    }
    plan_free(&old);
    fixture_free(p, &next);
}

static void new_local_servers_copy_from_the_restored_global_server(void **state)
{
    (void)state;
    journey j;
    problem *p = fixture_problem(4);
    fixture_kill(p, 0);
    start(&j, p, fixture_plan(0, 4, (int32_t[]){NO, 1, NO, NO}),
          fixture_plan(3, 4, (int32_t[]){NO, 2, NO, NO}));
    assert_int_equal(j.count, 2);
    assert_int_equal(j.moves[0].role, ADAPT_GLOBAL);
    assert_int_equal(j.moves[0].from, NO);
    assert_int_equal(j.moves[1].from, 3);
    assert_int_equal(j.moves[1].to, 2);
    end(&j);
}

static void who_has_no_path_from_the_global_server_starts_from_the_checkpoint(void **state)
{
    (void)state;
    journey j;
    problem *p = fixture_problem(4);
    p->cap_bytes_per_s[0 * 4 + 3] = 0;
    p->nodes[3].down_bytes_per_s = 2e5;
    start(&j, p, fixture_plan(0, 4, (int32_t[]){NO, 1, NO, NO}),
          fixture_plan(3, 4, (int32_t[]){NO, 1, NO, NO}));
    assert_int_equal(j.count, 1);
    assert_int_equal(j.moves[0].from, NO);
    assert_true(fabs(j.move_s - (double)job_global_state_bytes(&p->job) / 2e5) < 1e-12);
    end(&j);
}

static void transfers_take_bytes_over_rate_and_latency(void **state)
{
    (void)state;
    journey j;
    problem *p = fixture_problem(4);
    p->latency_s[1 * 4 + 2] = 0.25;
    p->cap_bytes_per_s[0 * 4 + 3] = 1e5;
    start(&j, p, fixture_plan(0, 4, (int32_t[]){NO, 1, NO, NO}),
          fixture_plan(3, 4, (int32_t[]){NO, 2, NO, NO}));
    double local_s = (double)job_local_state_bytes(&p->job) / 1e6 + 0.25;
    double global_s = (double)job_global_state_bytes(&p->job) / 1e5;
    assert_true(fabs(j.moves[0].transfer_s - local_s) < 1e-12);
    assert_true(fabs(j.moves[1].transfer_s - global_s) < 1e-12);
    assert_true(fabs(j.move_s - local_s - global_s) < 1e-12);
    end(&j);
}

static void every_order_holds_when_played(void **state)
{
    (void)state;
    rng r = rng_make(1, 0);
    int seen[MOVES_NOT_FOUND + 1] = {0};
    for (int round = 0; round < 4000; round++) {
        journey j;
        problem *p = fixture_random_problem(&r, 3 + rng_below(&r, 4));
        plan old = fixture_random_plan(&r, p), next = fixture_random_plan(&r, p);
        /* The next plan keeps the constraints, as every plan that is taken. */
        for (size_t v = 0; v < p->count; v++) {
            int64_t need = plan_need_bytes(&next, &p->job, v);
            p->nodes[v].serve |= need > 0;
            p->nodes[v].free_bytes = most(p->nodes[v].free_bytes, need);
        }
        start(&j, p, old, next);
        bool global_lives = alive(&j, j.old.global);
        bool possible = some_order_has_room(&j);
        order(&j);
        seen[j.kind]++;
        for (size_t k = 0; k < j.count; k++)
            assert_false(j.kind == MOVES_TOGETHER && j.moves[k].releases);
        if (j.kind <= MOVES_WITH_STOPOVER)
            assert_true(has_room(&j, j.moves, j.count));
        if (global_lives && j.kind > MOVES_ONE_BY_ONE)
            assert_false(possible);
        end(&j);
    }
    for (int kind = 0; kind <= MOVES_IMPOSSIBLE; kind++)
        assert_true(seen[kind] > 10);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    for (long n = 1;; n++) {
        journey j;
        problem *p = fixture_problem(3);
        p->nodes[0].free_bytes = p->nodes[1].free_bytes = global_bytes(p);
        start(&j, p, fixture_plan(0, 3, (int32_t[]){NO, 1, NO}),
              fixture_plan(1, 3, (int32_t[]){NO, 0, NO}));
        mem_fail_at(n);
        edgeps_err err = moves_order(&j.t, j.moves, &j.count, &j.kind);
        mem_fail_at(0);
        end(&j);
        if (!err)
            break;
        assert_int_equal(err, EDGEPS_NOMEM);
        assert_int_equal(j.count, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_room_for_both_plans_any_order_is_safe),
        cmocka_unit_test(a_server_leaves_before_another_takes_its_place),
        cmocka_unit_test(a_cycle_is_broken_by_a_stop_over),
        cmocka_unit_test(a_cycle_without_any_room_is_reported),
        cmocka_unit_test(several_states_may_have_to_wait),
        cmocka_unit_test(no_order_means_that_there_is_none),
        cmocka_unit_test(long_lists_are_ordered_too),
        cmocka_unit_test(new_local_servers_copy_from_the_restored_global_server),
        cmocka_unit_test(who_has_no_path_from_the_global_server_starts_from_the_checkpoint),
        cmocka_unit_test(transfers_take_bytes_over_rate_and_latency),
        cmocka_unit_test(every_order_holds_when_played),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
