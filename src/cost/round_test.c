#include "cost/cost.h"

#include "base/mem.h"
#include "cost/cost_fixture.h"
#include "cost/round_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define TEN_MBIT 1250000 /* bytes */
#define NO PLAN_NONE

static double round_of(const problem *p, const plan *pl)
{
    double round_s = -1;
    assert_int_equal(cost_round_s(p, pl, &round_s), EDGEPS_OK);
    return round_s;
}

static void assert_close(double got, double want)
{
    if (!(got == want || fabs(got - want) <= 1e-9 * fmax(1, fabs(want))))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* Worker 0, local server 1, global server 2 on links of 10 Mbit/s. */
static problem *chain(plan *pl, int64_t chunks)
{
    problem *p = fixture_problem(3, TEN_MBIT);
    fixture_chunks(p, chunks, TEN_MBIT);
    for (size_t i = 0; i < 3; i++)
        fixture_links(p, i, 10, 10);
    *pl = fixture_plan(p, 2, (int32_t[]){1, NO, NO});
    return p;
}

/* Push 10/2, push 10/10, pull 20/20, pull 20/10 Mbit over Mbit/s. */
static void six_node_case_takes_nine_seconds(void **state)
{
    (void)state;
    problem *p = fixture_problem(6, TEN_MBIT);
    static const double links[6][2] = {{20, 20}, {10, 20}, {8, 16}, {2, 10}, {4, 12}, {3, 8}};
    for (size_t i = 0; i < 6; i++)
        fixture_links(p, i, links[i][0], links[i][1]);
    plan pl = fixture_plan(p, 0, (int32_t[]){NO, NO, NO, 1, 1, 2});
    assert_close(round_of(p, &pl), 9.0);
    fixture_free(p, &pl);
}

static void one_chunk_takes_each_hop_after_the_other(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl, 1);
    p->nodes[0].compute_s = 0.5;
    assert_close(round_of(p, &pl), 4.5);
    fixture_free(p, &pl);
}

/* Each chunk takes 1 s a hop; the second follows one hop behind, and the local server's links are
 * used one way at a time: 4 + 1. */
static void two_chunks_overlap(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl, 2);
    assert_close(round_of(p, &pl), 5.0);
    fixture_free(p, &pl);
}

/* 2..4 s: the third push and the first pull share the local server's down link. 4..6 s: the third
 * push on and the first pull on share its up link. Then the second pull 6..7, the third 7..8. */
static void pushes_and_pulls_share_the_links_of_a_server(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl, 3);
    assert_close(round_of(p, &pl), 8.0);
    fixture_free(p, &pl);
}

static void latency_delays_a_chunk_but_not_the_next_one(void **state)
{
    (void)state;
    plan pl;
    for (int64_t chunks = 1; chunks <= 2; chunks++) {
        problem *p = chain(&pl, chunks);
        p->latency_s[0 * 3 + 1] = 0.1;
        p->latency_s[1 * 3 + 2] = 0.2;
        p->latency_s[2 * 3 + 1] = 0.3;
        p->latency_s[1 * 3 + 0] = 0.4;
        assert_close(round_of(p, &pl), 4.0 + (double)chunks);
        fixture_free(p, &pl);
    }
}

static void a_pair_cap_slows_its_pair(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl, 1);
    p->cap_bytes_per_s[0 * 3 + 1] = TEN_MBIT / 2.0;
    assert_close(round_of(p, &pl), 5.0);
    fixture_free(p, &pl);
}

/* Node 0's worker pushes to local server 1 while node 0's local server pushes to the global server,
 * also on node 1: two flows of 10 Mbit from 1 s on in a cap of 10 Mbit/s. */
static void flows_of_a_pair_share_its_cap(void **state)
{
    (void)state;
    problem *p = fixture_problem(3, TEN_MBIT);
    p->cap_bytes_per_s[0 * 3 + 1] = TEN_MBIT;
    fixture_links(p, 2, 10, INFINITY);
    p->nodes[0].compute_s = 1;
    plan pl = fixture_plan(p, 1, (int32_t[]){1, NO, 0});
    assert_close(round_of(p, &pl), 3.0);
    fixture_free(p, &pl);
}

/* Down link 10 Mbit/s: the first alone until 0.5 s, then both at 5; the first ends at 1.5, the
 * second at 2. Up 1 s, down 1 s, two pulls of 10 Mbit in an up link of 10: 2 s. */
static void a_late_flow_takes_its_share_from_then_on(void **state)
{
    (void)state;
    problem *p = fixture_problem(4, TEN_MBIT);
    fixture_links(p, 2, 10, 10);
    p->nodes[1].compute_s = 0.5;
    plan pl = fixture_plan(p, 3, (int32_t[]){2, 2, NO, NO});
    assert_close(round_of(p, &pl), 6.0);
    fixture_free(p, &pl);
}

/* Two children at one payload a second: 2 s; the global server has one child: 1 s. */
static void additions_take_children_times_payload(void **state)
{
    (void)state;
    problem *p = fixture_problem(4, TEN_MBIT);
    p->nodes[2].sum_bytes_per_s = p->nodes[3].sum_bytes_per_s = TEN_MBIT - JOB_FRAME_BYTES;
    plan pl = fixture_plan(p, 3, (int32_t[]){2, 2, NO, NO});
    assert_close(round_of(p, &pl), 3.0);
    fixture_free(p, &pl);
}

static void a_server_adds_one_chunk_at_a_time(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl, 2);
    for (size_t i = 0; i < 3; i++) {
        fixture_links(p, i, INFINITY, INFINITY);
        p->nodes[i].sum_bytes_per_s = TEN_MBIT - JOB_FRAME_BYTES;
    }
    assert_close(round_of(p, &pl), 3.0);
    fixture_free(p, &pl);
}

static void roles_on_one_node_use_no_network(void **state)
{
    (void)state;
    problem *p = fixture_problem(1, TEN_MBIT);
    fixture_chunks(p, 4, TEN_MBIT);
    fixture_links(p, 0, 0, 0);
    p->latency_s[0] = 7;
    p->nodes[0].compute_s = 0.25;
    plan pl = fixture_plan(p, 0, (int32_t[]){0});
    assert_close(round_of(p, &pl), 0.25);
    fixture_free(p, &pl);
}

static void a_path_without_rate_never_ends(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl, 2);
    fixture_links(p, 1, 0, 10);
    assert_true(round_of(p, &pl) == INFINITY);
    fixture_free(p, &pl);
}

/* With one local server and one chunk the stages cannot overlap, and each has the closed form of
 * equal flows that start together: max(slowest access link, all bytes / shared link). */
static void one_chunk_and_one_server_follow_the_closed_form(void **state)
{
    (void)state;
    rng r = rng_make(1, 0);
    for (int round = 0; round < 300; round++) {
        problem *p = fixture_problem(6, TEN_MBIT);
        for (size_t i = 0; i < 6; i++)
            fixture_links(p, i, 1 + 9 * rng_uniform(&r), 1 + 9 * rng_uniform(&r));
        plan pl = fixture_plan(p, 5, (int32_t[]){4, 4, 4, 4, NO, NO});
        const problem_node *n = p->nodes;
        double push_s = 4 / n[4].down_bytes_per_s, pull_s = 4 / n[4].up_bytes_per_s;
        for (size_t i = 0; i < 4; i++) {
            push_s = fmax(push_s, 1 / n[i].up_bytes_per_s);
            pull_s = fmax(pull_s, 1 / n[i].down_bytes_per_s);
        }
        push_s += 1 / fmin(n[4].up_bytes_per_s, n[5].down_bytes_per_s);
        pull_s += 1 / fmin(n[5].up_bytes_per_s, n[4].down_bytes_per_s);
        assert_close(round_of(p, &pl), TEN_MBIT * (push_s + pull_s));
        fixture_free(p, &pl);
    }
}

static void faster_by_a_factor_is_shorter_by_it(void **state)
{
    (void)state;
    rng r = rng_make(2, 0);
    for (int round = 0; round < 300; round++) {
        problem *p = fixture_random_problem(&r, 1 + rng_below(&r, 7));
        plan pl = fixture_random_plan(&r, p);
        double before = round_of(p, &pl);
        for (size_t i = 0; i < p->count; i++) {
            p->nodes[i].up_bytes_per_s *= 3;
            p->nodes[i].down_bytes_per_s *= 3;
            p->nodes[i].sum_bytes_per_s *= 3;
            p->nodes[i].compute_s /= 3;
        }
        for (size_t k = 0; k < p->count * p->count; k++) {
            p->cap_bytes_per_s[k] *= 3;
            p->latency_s[k] /= 3;
        }
        assert_close(round_of(p, &pl), before / 3);
        fixture_free(p, &pl);
    }
}

static void names_and_numbers_of_nodes_do_not_matter(void **state)
{
    (void)state;
    rng r = rng_make(3, 0);
    for (int round = 0; round < 300; round++) {
        size_t n = 1 + rng_below(&r, 7);
        uint32_t to[8];
        problem *p = fixture_random_problem(&r, n), *q = fixture_problem(n, 1000);
        plan pl = fixture_random_plan(&r, p), moved;
        assert_int_equal(plan_copy(&pl, &moved), EDGEPS_OK);
        rng_permutation(&r, n, to);
        q->job = p->job;
        moved.global = (int32_t)to[pl.global];
        for (size_t a = 0; a < n; a++) {
            q->nodes[to[a]] = p->nodes[a];
            q->nodes[to[a]].site = to[a];
            moved.parent[to[a]] = pl.parent[a] == NO ? NO : (int32_t)to[pl.parent[a]];
            for (size_t b = 0; b < n; b++) {
                q->latency_s[to[a] * n + to[b]] = p->latency_s[a * n + b];
                q->cap_bytes_per_s[to[a] * n + to[b]] = p->cap_bytes_per_s[a * n + b];
            }
        }
        assert_close(round_of(q, &moved), round_of(p, &pl));
        fixture_free(p, &pl);
        fixture_free(q, &moved);
    }
}

static void more_capacity_on_a_lone_path_never_hurts(void **state)
{
    (void)state;
    rng r = rng_make(4, 0);
    for (int round = 0; round < 300; round++) {
        problem *p = fixture_random_problem(&r, 3);
        fixture_chunks(p, 1, 64 + 4 * (int64_t)(1 + rng_below(&r, 30000)));
        plan pl = fixture_plan(p, 2, (int32_t[]){1, NO, NO});
        double before = round_of(p, &pl);
        problem_node *node = &p->nodes[rng_below(&r, 3)];
        *(rng_below(&r, 2) ? &node->up_bytes_per_s : &node->down_bytes_per_s) *= 1.5;
        assert_true(round_of(p, &pl) <= before * (1 + 1e-12));
        fixture_free(p, &pl);
    }
}

/* What any correct round obeys, whatever the sharing. */
static void check_connection(const problem *p, const tree *t, const round_trace *trace, size_t id)
{
    tree_stage stage;
    size_t member;
    uint32_t from, to;
    tree_ends(t, id, &stage, &member, &from, &to);
    const double *start_s = trace->start_s + id * trace->chunks;
    const double *arrive_s = trace->arrive_s + id * trace->chunks;
    double latency_s = from == to ? 0 : problem_latency_s(p, from, to);
    size_t upper = stage == TREE_PULL_WORKER
                       ? tree_connection(t, TREE_PULL_LOCAL, t->worker_local[member])
                       : 0;
    for (size_t c = 0; c < trace->chunks; c++) {
        double bytes = (double)job_chunk_wire_bytes(&p->job, (int64_t)c);
        double least_s = bytes / problem_rate_bytes_per_s(p, from, to) + latency_s;
        double ready_s[] = {
            [TREE_PUSH_LOCAL] = p->nodes[from].compute_s,
            [TREE_PUSH_GLOBAL] = trace->sum_end_s[member % t->locals * trace->chunks + c],
            [TREE_PULL_LOCAL] = trace->sum_end_s[t->locals * trace->chunks + c],
            [TREE_PULL_WORKER] = trace->arrive_s[upper * trace->chunks + c],
        };
        assert_true(start_s[c] >= ready_s[stage]);
        assert_true(arrive_s[c] >= start_s[c] + least_s * (1 - 1e-9) - 1e-12);
        if (c > 0)
            assert_true(start_s[c] >= arrive_s[c - 1] - latency_s - 1e-9);
    }
}

static void check_sums(const problem *p, const round_trace *trace, size_t s, size_t first,
                       size_t last, uint32_t node)
{
    for (size_t c = 0; c < trace->chunks; c++) {
        size_t at = s * trace->chunks + c;
        for (size_t id = first; id < last; id++)
            assert_true(trace->sum_start_s[at] >= trace->arrive_s[id * trace->chunks + c]);
        double bytes =
            (double)(last - first) * (double)job_chunk_payload_bytes(&p->job, (int64_t)c);
        assert_close(trace->sum_end_s[at],
                     trace->sum_start_s[at] + bytes / p->nodes[node].sum_bytes_per_s);
        if (c > 0)
            assert_true(trace->sum_start_s[at] >= trace->sum_end_s[at - 1]);
    }
}

static void nothing_happens_before_its_cause(void **state)
{
    (void)state;
    rng r = rng_make(5, 0);
    for (int round = 0; round < 500; round++) {
        problem *p = fixture_random_problem(&r, 1 + rng_below(&r, 8));
        plan pl = fixture_random_plan(&r, p);
        tree t;
        round_trace trace;
        double round_s, last_s = 0;
        assert_int_equal(tree_make(&p->job, &pl, 1, &t), EDGEPS_OK);
        assert_int_equal(round_trace_make(p, &t, &trace), EDGEPS_OK);
        assert_int_equal(round_play(p, &t, &trace, &round_s, NULL), EDGEPS_OK);
        for (size_t id = 0; id < tree_connection_count(&t); id++) {
            check_connection(p, &t, &trace, id);
            last_s = fmax(last_s, trace.arrive_s[(id + 1) * trace.chunks - 1]);
        }
        for (size_t l = 0; l < t.locals; l++)
            check_sums(p, &trace, l, t.local_first[l], t.local_first[l + 1], t.local_node[l]);
        size_t pushes = tree_connection(&t, TREE_PUSH_GLOBAL, 0);
        check_sums(p, &trace, t.locals, pushes, pushes + t.locals, t.global_node[0]);
        assert_true(last_s == round_s);
        round_trace_free(&trace);
        tree_free(&t);
        fixture_free(p, &pl);
    }
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    rng r = rng_make(6, 0);
    problem *p = fixture_random_problem(&r, 8);
    plan pl = fixture_random_plan(&r, p);
    for (long n = 1;; n++) {
        double round_s = -1;
        mem_fail_at(n);
        edgeps_err err = cost_round_s(p, &pl, &round_s);
        mem_fail_at(0);
        if (!err)
            break;
        assert_int_equal(err, EDGEPS_NOMEM);
        assert_true(round_s == -1);
    }
    fixture_free(p, &pl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(six_node_case_takes_nine_seconds),
        cmocka_unit_test(one_chunk_takes_each_hop_after_the_other),
        cmocka_unit_test(two_chunks_overlap),
        cmocka_unit_test(pushes_and_pulls_share_the_links_of_a_server),
        cmocka_unit_test(latency_delays_a_chunk_but_not_the_next_one),
        cmocka_unit_test(a_pair_cap_slows_its_pair),
        cmocka_unit_test(flows_of_a_pair_share_its_cap),
        cmocka_unit_test(a_late_flow_takes_its_share_from_then_on),
        cmocka_unit_test(additions_take_children_times_payload),
        cmocka_unit_test(a_server_adds_one_chunk_at_a_time),
        cmocka_unit_test(roles_on_one_node_use_no_network),
        cmocka_unit_test(a_path_without_rate_never_ends),
        cmocka_unit_test(one_chunk_and_one_server_follow_the_closed_form),
        cmocka_unit_test(faster_by_a_factor_is_shorter_by_it),
        cmocka_unit_test(names_and_numbers_of_nodes_do_not_matter),
        cmocka_unit_test(more_capacity_on_a_lone_path_never_hurts),
        cmocka_unit_test(nothing_happens_before_its_cause),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
