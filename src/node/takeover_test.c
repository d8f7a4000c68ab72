/* Coordinators that are killed, and those that follow them. Coordinator and agents are processes of
 * their own; agents that lose their parent become this program's children. */
#include "node/node_fixture.h"

#include "base/mem.h"
#include "base/test_draws.h"
#include "formats/event_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 2, EPOCHS = 3, SAMPLES = 120, NEVER = 1 << 30 };

/* What the processes share. */
typedef struct board {
    pid_t agents[FIXTURE_MOST_NODES];
    int launches;
    int events; /* of the coordinator that is to be killed */
} board;

static board *shared;
static fixture f;
static int kill_at;
static int struck = -1; /* the node that is killed instead of the coordinator */
static bool (*counts)(const meter_event *event);

static edgeps_err launch_processes(void *launcher, int port, edgeps_diag *diag)
{
    (void)launcher;
    (void)diag;
    shared->launches++;
    for (size_t i = 0; i < f.net->count; i++) {
        if (shared->agents[i])
            kill(shared->agents[i], SIGKILL);
        pid_t pid = fork();
        if (pid == 0) {
            agent_options o = {.name = f.net->nodes[i].name, .host = "127.0.0.1", .port = port};
            edgeps_diag why = {.text = ""};
            close_range(3, ~0U, 0); /* what an agent of the program has closed at its exec */
            _exit(agent_run(&o, &why) ? 1 : 0);
        }
        shared->agents[i] = pid;
    }
    return EDGEPS_OK;
}

static void signal_process(void *launcher, size_t node, int signo)
{
    (void)launcher;
    kill(shared->agents[node], signo);
}

static void observe(void *observer, const meter_event *event)
{
    (void)observer;
    if (!counts(event) || shared->events++ != kill_at)
        return;
    if (struck < 0)
        raise(SIGKILL);
    kill(shared->agents[struck], SIGKILL);
}

static bool every_kind(const meter_event *event) { return event->kind != METER_ROUND; }

static bool first_round(const meter_event *event)
{
    return event->kind == METER_ROUND && event->epoch == 2 && event->round == 1;
}

/* Rounds of the second epoch that are made before its servers have moved: the state is on its way.
 */
static bool rounds_meanwhile(const meter_event *event)
{
    static bool has_moved;
    has_moved |= event->kind == METER_MOVE && event->epoch == 2 && event->role[0] == 'g';
    return event->kind == METER_ROUND && event->epoch == 2 && !has_moved;
}

/* Exit status of the coordinator, or -1 when it was killed. */
static int coordinate(bool resume, int at)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        edgeps_diag diag = {.text = ""};
        kill_at = at;
        shared->events = 0;
        f.options.resume = resume;
        edgeps_err err = fixture_run(&f, &diag);
        if (err)
            fprintf(stderr, "%s\n", diag.text);
        _exit(err_exit_status(err));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Waits for all agents; how many ended as they were told. */
static int gather_agents(void)
{
    int status, good = 0;
    while (wait(&status) > 0)
        good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return good;
}

static void make(size_t count)
{
    fixture_make(&f, count, SAMPLES, 20);
    memset(shared, 0, sizeof *shared);
    f.options.epochs = EPOCHS;
    f.options.orphan_s = 60;
    f.options.suspect_s = f.options.silent_s = 2.5; /* a full machine is not a silent one */
    f.options.launch = launch_processes;
    f.options.signal_node = signal_process;
    f.options.observe = observe;
    counts = every_kind;
}

/* Storage of the node that carries the servers falls before the second epoch. */
static void plan_a_move(void)
{
    f.net->events = mem_alloc(1, sizeof *f.net->events);
    f.net->event_count = 1;
    f.net->events[0] =
        (network_event){.node = 0, .change = NETWORK_FREE, .epoch = 2, .value = 100000};
}

/* Each of two nodes has room for one server, and before the second epoch for the other one's only;
 * a third can but keep a state. So servers are released before their successors are in force. */
static void plan_a_swap(void)
{
    const job *j = &f.options.job;
    network_node *nodes = f.net->nodes;
    int64_t local_bytes = job_local_need_bytes(j, 2), global_bytes = job_global_need_bytes(j, 1);
    f.net->events = mem_alloc(2, sizeof *f.net->events);
    f.net->event_count = 2;
    f.options.max_locals = 1;
    f.options.orphan_s = 10;
    nodes[0].free_bytes = global_bytes;
    nodes[1].free_bytes = local_bytes;
    nodes[2].free_bytes = job_local_need_bytes(j, 0);
    nodes[2].train = false;
    for (uint32_t i = 0; i < 2; i++)
        f.net->events[i] = (network_event){.node = i,
                                           .change = NETWORK_FREE,
                                           .epoch = 2,
                                           .value = (double)(i == 0 ? local_bytes : global_bytes)};
}

typedef struct log_counts {
    int epochs[EPOCHS + 1];
    int64_t samples;
    int takeovers, lost, moves, ends;
} log_counts;

static void count_event(void *context, const meter_event *e)
{
    log_counts *c = context;
    if (e->kind == METER_EPOCH && e->measured.epoch >= 1 && e->measured.epoch <= EPOCHS) {
        c->epochs[e->measured.epoch]++;
        c->samples += e->measured.samples;
    }
    c->takeovers += e->kind == METER_TAKEOVER;
    c->lost += e->kind == METER_LOST;
    c->moves += e->kind == METER_MOVE;
    c->ends += e->kind == METER_END;
}

static log_counts read_log(void)
{
    log_counts c = {0};
    char path[128];
    bool cut = false;
    edgeps_diag diag = {.text = ""};
    snprintf(path, sizeof path, "%s/events.jsonl", f.dir);
    if (event_file_read(path, &diag, count_event, &c, &cut))
        fail_msg("%s", diag.text);
    assert_false(cut);
    for (int e = 1; e <= EPOCHS; e++)
        if (c.epochs[e] != 1)
            fail_msg("killed at %d: epoch %d is told %d times", kill_at, e, c.epochs[e]);
    return c;
}

static void find_end(void *context, const meter_event *e)
{
    *(bool *)context |= e->kind == METER_END;
}

static bool has_ended(void)
{
    char path[128];
    bool ended = false, cut = false;
    snprintf(path, sizeof path, "%s/events.jsonl", f.dir);
    assert_int_equal(event_file_read(path, NULL, find_end, &ended, &cut), EDGEPS_OK);
    return ended;
}

/* Two workers: their sum does not depend on who comes first, so runs agree to the last bit. */
static float *undisturbed(size_t nodes, void (*plan_moves)(void))
{
    make(nodes);
    plan_moves();
    assert_int_equal(coordinate(false, NEVER), 0);
    assert_int_equal(gather_agents(), nodes);
    assert_true(read_log().moves >= 1);
    float *model = fixture_model(&f);
    fixture_free(&f);
    return model;
}

/* At every event: before and after the first plan, the change of the scenario, each move (after its
 * state has arrived, before the commit), each plan (after the commit, before it is announced),
 * checkpoints and the ends of epochs. */
static void kill_at_each_event(size_t nodes, void (*plan_moves)(void))
{
    float *expected = undisturbed(nodes, plan_moves);
    int status = -1;
    const int step = 12 / (int)test_draws(12); /* a sanitizer's build: at each fourth */
    for (int at = 0; status == -1; at += step) {
        make(nodes);
        plan_moves();
        kill_at = at;
        status = coordinate(false, at);
        bool had_plan = shared->events > 1; /* start, plan */
        bool over = status == -1 && has_ended();
        if (status == -1)
            assert_int_equal(coordinate(true, NEVER), 0);
        int good = gather_agents();
        log_counts c = read_log();
        if (status == -1 && had_plan && !over) {
            assert_int_equal(shared->launches, 1);
            assert_true(good >= NODES); /* who has no role may be too late to be told the end */
            assert_int_equal(c.lost, 0);
        }
        assert_int_equal(c.samples, EPOCHS * SAMPLES);
        float *model = fixture_model(&f);
        if (memcmp(model, expected, (size_t)job_parameter_bytes(&f.options.job)) != 0)
            fail_msg("killed at event %d: the model is another", at);
        mem_free(model);
        fixture_free(&f);
    }
    mem_free(expected);
}

static void killed_at_each_event_nothing_is_lost_or_told_twice(void **state)
{
    (void)state;
    kill_at_each_event(NODES, plan_a_move);
}

static void killed_while_a_server_is_released_it_comes_back(void **state)
{
    (void)state;
    kill_at_each_event(NODES + 1, plan_a_swap);
}

/* The links are so slow that the state takes longer than a round. */
static void make_a_slow_move(size_t count)
{
    make(count);
    plan_a_move();
    f.options.emulate = true;
    for (size_t i = 0; i < count; i++) {
        f.net->nodes[i].up_bytes_per_s = f.net->nodes[i].down_bytes_per_s = 8e6;
        for (size_t k = 0; k < count; k++)
            if (k != i)
                network_set_cap_bytes_per_s(f.net, i, k, 3e6);
    }
}

static void killed_while_a_state_is_on_its_way_the_source_goes_on(void **state)
{
    (void)state;
    float *expected = undisturbed(NODES, plan_a_move);
    int status = -1, kills = 0;
    for (; status == -1; kills += status == -1) {
        make_a_slow_move(NODES);
        counts = rounds_meanwhile;
        status = coordinate(false, kills);
        if (status == -1)
            assert_int_equal(coordinate(true, NEVER), 0);
        assert_int_equal(gather_agents(), NODES);
        log_counts c = read_log();
        assert_int_equal(shared->launches, 1);
        assert_int_equal(c.lost, 0);
        assert_int_equal(c.takeovers, status == -1);
        assert_true(c.moves >= 1); /* before the third epoch, if not in the second */
        assert_int_equal(c.samples, EPOCHS * SAMPLES);
        float *model = fixture_model(&f);
        if (memcmp(model, expected, (size_t)job_parameter_bytes(&f.options.job)) != 0)
            fail_msg("killed at round %d of the move: the model is another", kills);
        mem_free(model);
        fixture_free(&f);
    }
    print_message("killed in %d rounds of a move\n", kills);
    assert_true(kills >= 1);
    mem_free(expected);
}

/* The source, the target, or a third. */
static void who_dies_in_a_move_is_replaced(void **state)
{
    (void)state;
    for (int victim = 0; victim < NODES + 1; victim++) {
        make_a_slow_move(NODES + 1);
        counts = rounds_meanwhile;
        struck = victim;
        assert_int_equal(coordinate(false, 0), 0);
        struck = -1;
        gather_agents();
        assert_int_equal(read_log().lost, 1);
        fixture_free(&f);
    }
}

static void killed_again_and_again_it_is_followed_each_time(void **state)
{
    (void)state;
    make(4);
    int status = -1, times = 0;
    for (; status == -1; times++)
        status = coordinate(times > 0, 3);
    assert_int_equal(status, 0);
    assert_true(times >= 3);
    assert_int_equal(shared->launches, 1);
    assert_int_equal(gather_agents(), 4);
    assert_int_equal(read_log().samples, EPOCHS * SAMPLES);
    fixture_free(&f);
}

/* A node that is gone together with the coordinator is lost, and the rest goes on. */
static void who_is_gone_when_it_is_followed_is_lost(void **state)
{
    (void)state;
    make(4);
    counts = first_round;
    assert_int_equal(coordinate(false, 0), -1);
    kill(shared->agents[3], SIGKILL);
    assert_int_equal(coordinate(true, NEVER), 0);
    assert_int_equal(gather_agents(), 3);
    log_counts c = read_log();
    assert_int_equal(c.takeovers, 1);
    assert_int_equal(c.lost, 1);
    fixture_free(&f);
}

/* Nobody is left to take over: it begins anew from the checkpoint. */
static void where_all_are_gone_the_last_checkpoint_goes_on(void **state)
{
    (void)state;
    make(2);
    counts = first_round;
    assert_int_equal(coordinate(false, 0), -1);
    for (int i = 0; i < 2; i++)
        kill(shared->agents[i], SIGKILL);
    gather_agents();
    memset(shared->agents, 0, sizeof shared->agents);
    assert_int_equal(coordinate(true, NEVER), 0);
    assert_int_equal(shared->launches, 2);
    assert_int_equal(gather_agents(), 2);
    assert_int_equal(read_log().takeovers, 0);
    fixture_free(&f);
}

/* As a crash of the whole machine may leave it. */
static void a_line_that_was_cut_off_spoils_no_other(void **state)
{
    (void)state;
    char path[128];
    make(2);
    counts = first_round;
    assert_int_equal(coordinate(false, 0), -1);
    snprintf(path, sizeof path, "%s/events.jsonl", f.dir);
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    fputs("{\"event\":\"ep", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(coordinate(true, NEVER), 0);
    assert_int_equal(gather_agents(), 2);
    assert_int_equal(read_log().takeovers, 1);
    fixture_free(&f);
}

static void agents_that_nobody_takes_over_end_by_themselves(void **state)
{
    (void)state;
    make(2);
    f.options.orphan_s = 0.3;
    counts = first_round;
    assert_int_equal(coordinate(false, 0), -1);
    assert_int_equal(gather_agents(), 0); /* with an error, but they end */
    fixture_free(&f);
}

/* It ends by itself, though stopped: the next one sees that nothing is missing. */
static void an_ended_run_is_not_followed(void **state)
{
    (void)state;
    make(2);
    assert_int_equal(coordinate(false, NEVER), 0);
    gather_agents();
    f.options.epochs = EPOCHS - 1;
    assert_int_equal(coordinate(true, NEVER), 0);
    gather_agents();
    assert_int_equal(read_log().ends, 2);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_each_event_nothing_is_lost_or_told_twice),
        cmocka_unit_test(killed_while_a_server_is_released_it_comes_back),
        cmocka_unit_test(killed_while_a_state_is_on_its_way_the_source_goes_on),
        cmocka_unit_test(who_dies_in_a_move_is_replaced),
        cmocka_unit_test(killed_again_and_again_it_is_followed_each_time),
        cmocka_unit_test(who_is_gone_when_it_is_followed_is_lost),
        cmocka_unit_test(where_all_are_gone_the_last_checkpoint_goes_on),
        cmocka_unit_test(a_line_that_was_cut_off_spoils_no_other),
        cmocka_unit_test(agents_that_nobody_takes_over_end_by_themselves),
        cmocka_unit_test(an_ended_run_is_not_followed),
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
