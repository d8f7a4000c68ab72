/* What the placement algorithms share: the constraints (ground), the assignment of workers to open
 * servers (match), the search for any feasible plan (find), the closed-form times of the threshold
 * problem (times, view) and the local search. Private to this room.
 *
 * Matrices are count x count and row-major with the server first: [server * count + worker].
 */
#ifndef EDGEPS_PLACE_PLACE_INT_H
#define EDGEPS_PLACE_PLACE_INT_H

#include "base/rng.h"
#include "cost/moment.h"
#include "cost/search.h"
#include "cover/question.h"
#include "place/place.h"

#define PLACE_BOUND_US 0.12 /* about what the bound of a plan takes per node, in microseconds */

/* ---- deadline and progress ---- */

typedef struct place_watch {
    const place_options *options;
    int64_t end_ns; /* 0: no deadline */
    place_stop stopped;
    place_progress now;
} place_watch;

place_watch place_watch_start(const place_options *options);

/* False once the deadline has passed or `progress` has said stop. */
bool place_watch_go_on(place_watch *w, double done_fraction);

/* `share` of the seconds until the deadline, never quite 0; 0: there is no deadline. */
double place_watch_share_s(const place_watch *w, double share);

/* A plan of this round time is known. */
void place_watch_best(place_watch *w, double round_s);

/* What place_run refuses whatever the network: EDGEPS_USAGE, or EDGEPS_INFEASIBLE for a problem
 * without workers. */
edgeps_err place_check_request(const char *name, const problem *p, const place_options *options,
                               edgeps_diag *diag);

/* ---- constraints that do not depend on time ---- */

typedef struct place_ground {
    const problem *p;
    size_t count;
    bool *linked;      /* per node: it sends and receives */
    bool *sites;       /* [site * sites + site]: data can pass both ways; symmetric */
    int32_t *room;     /* most children that the free storage holds; 0: not even one */
    int32_t *fan;      /* most local servers that a global server's storage holds, <= max_locals */
    uint32_t *workers; /* the nodes that train */
    size_t worker_count;
} place_ground;

/* O(nodes + sites^2) memory. */
edgeps_err place_ground_make(const problem *p, place_ground *out);
void place_ground_free(place_ground *gr);

/* Computes room and fan of one node anew, whose free storage has changed. */
void place_ground_room(place_ground *gr, size_t node);

/* The server may serve the worker, storage aside. */
static inline bool place_path(const place_ground *gr, size_t server, size_t worker)
{
    const problem_node *nodes = gr->p->nodes;
    return nodes[server].serve &&
           (server == worker ||
            (gr->linked[server] && gr->linked[worker] &&
             gr->sites[nodes[server].site * gr->p->site_count + nodes[worker].site]));
}

/* Room of `server` for children when `global` has `locals` local servers. */
int32_t place_room(const place_ground *gr, size_t global, int32_t locals, size_t server);

/* May `server` be a local server of `global`? Storage is not asked. */
bool place_joins(const place_ground *gr, size_t global, size_t server);

/* There and back without other traffic, latencies included; 0 on one node, INFINITY without a
 * path. */
double place_distance_s(const problem *p, size_t worker, size_t server);

/* ---- assignment: bipartite b-matching by augmenting paths ---- */

typedef struct place_match {
    const place_ground *gr;
    int32_t *parent; /* the matching: per node, PLAN_NONE where unserved */
    int32_t *load;   /* children per server */
    /* A worker that cannot be served together with all whom the servers in its reach serve: more
     * workers than those servers hold (Hall's theorem). Empty when all are served. */
    uint32_t *stuck;
    size_t stuck_count;
    uint32_t *open; /* servers with cap > 0 */
    size_t open_count;
    bool *seen;
    bool *dead;
    uint32_t *from;
    uint32_t *queue;
} place_match;

edgeps_err place_match_make(const place_ground *gr, place_match *out);
void place_match_free(place_match *m);

/* Serves as many workers as possible: server j takes at most cap[j] workers, and worker i only
 * when path and time_s[j][i] <= limit_s (time_s may be NULL: paths alone decide; it is asked only
 * for servers with cap[j] > 0). Prefers small
 * times. Returns the number served. O(workers x open x workers). */
size_t place_match_run(place_match *m, double *const *time_s, double limit_s, const int32_t *cap);

/* ---- any feasible plan ---- */

typedef enum place_found {
    PLACE_FOUND,
    PLACE_NONE,   /* proved: there is none with this global server */
    PLACE_GAVE_UP /* the budget of the search is spent */
} place_found;

/* Looks for local servers of `global` that hold all workers; `prefer` ranks the nodes (larger
 * first; NULL: by room). On PLACE_FOUND pl->parent and pl->global are set. Complete for small
 * instances: branches over the servers that relieve a stuck set of workers. */
edgeps_err place_find(const place_ground *gr, size_t global, const double *prefer, plan *pl,
                      place_found *found);

/* Tries every global server in the order of their free storage. *found is PLACE_NONE only when
 * that is proved for each. */
edgeps_err place_find_any(const place_ground *gr, plan *pl, place_found *found);

/* Writes which constraint leaves no plan. */
void place_infeasible_reason(const place_ground *gr, place_found found, char *text, size_t size);

/* ---- closed-form times: lower bounds of what the evaluator finds ---- */

/* A node as the times read it, in the order of use: seconds per byte where problem_node has bytes
 * per second, so that no division is left in the innermost loops. */
typedef struct place_pace {
    double compute_s, access_s;
    double up_s, down_s, sum_s; /* per byte */
    uint32_t site;
    bool serve, linked;
} place_pace;

/* Workers of other nodes at a server: when their chunks have passed its down link. Flows on one
 * link of which the t-th to start does not start before c_t end no earlier than max over t of c_t +
 * (m - t + 1) times what each takes alone. */
typedef struct place_crowd {
    size_t m;
    moment passed;
} place_crowd;

/* Where local servers take turns at the global server's links. */
typedef enum place_turns {
    PLACE_TURNS_IN,
    PLACE_TURNS_OUT,
    PLACE_TURNS_BOTH,
    PLACE_TURNS
} place_turns;

/* A worker's way through a server when there is one chunk, without what is between that and the
 * global one; INFINITY without path. */
typedef struct place_way {
    double in_s;  /* from the start of the round to the server's sum */
    double out_s; /* from the server back to the worker */
} place_way;

typedef struct place_rank {
    double value;
    uint32_t server;
} place_rank;

typedef struct place_times {
    const place_ground *gr;
    place_pace *pace; /* per node */
    double *cap_s;    /* per pair of sites, from the first: seconds per byte of the pair cap */
    amounts sent, added;
    bool one_chunk;      /* store-and-forward */
    double *compute_s;   /* of the workers, ascending */
    place_crowd *crowds; /* per server, of 1 .. most_crowd workers */
    size_t most_crowd;
    place_way *ways;  /* [server * workers + worker's number]; NULL: with several chunks, or where
                         they would take too much memory */
    double *start_s;  /* per server: its first chunk cannot be complete earlier */
    double *lat_in_s; /* per server: least latency from and to a worker of another node */
    double *lat_out_s;
    place_rank *starts;             /* all servers by start_s, ascending */
    place_rank *rates[PLACE_TURNS]; /* all servers by the workers per second that they can take in,
                                       give parameters to, and both, descending */
    uint32_t *hard;                 /* workers whose fastest way, there or back, is slow */
    size_t hard_count;
    double *hard_s; /* [h * count + server]: chain of hard[h] through a local server at no cost
                       between it and the global one; INFINITY without path */
} place_times;

/* Seconds per byte of a lone flow; 0 on one node, INFINITY where there is no path. */
static inline double place_pace_s(const place_times *t, size_t from, size_t to)
{
    const place_pace *a = &t->pace[from], *b = &t->pace[to];
    double slower_s = larger_of(a->up_s, b->down_s);
    return from == to ? 0 : larger_of(slower_s, t->cap_s[a->site * t->gr->p->site_count + b->site]);
}

/* One way; 0 on one node. */
static inline double place_latency_s(const place_times *t, size_t from, size_t to)
{
    const place_pace *a = &t->pace[from], *b = &t->pace[to];
    return from == to ? 0
                      : a->access_s + b->access_s +
                            t->gr->p->latency_s[a->site * t->gr->p->site_count + b->site];
}

/* O(count^2). */
edgeps_err place_times_make(const place_ground *gr, place_times *out);
void place_times_free(place_times *t);

/* When what was `before` has passed a link and one more gradient queues behind it, pace_s seconds
 * per byte. */
moment place_queue(const amounts *a, moment before, double pace_s);

/* Of m >= 1 workers. */
place_crowd place_times_crowd(const place_times *t, size_t server, size_t m);

/* A bound for every plan with this global server, without any search: each hard worker by its
 * fastest chain. INFINITY when one has none. O(count x hard); `tail_s` is scratch for count values.
 */
double place_quick_bound_s(const place_times *t, size_t global, double *tail_s);

/* A node that may be the global server, and a bound of its plans. */
typedef struct place_candidate {
    uint32_t global;
    double bound_s;
    double open_s; /* the least round time known not to be refuted; INFINITY: none is */
} place_candidate;

/* All candidates with storage and their quick bounds, best first; the caller frees the list with
 * mem_free. */
edgeps_err place_candidates(const place_times *t, place_candidate **out, size_t *count);

void place_sort_candidates(place_candidate *list, size_t count);

/* Times of a round: as limits, what a plan keeps; as needs, what an element of a plan (a worker at
 * a server, a server's number of workers, a number of servers) takes at least. A round is in two
 * halves at the global server, by each of its moments: its sums of the first chunk, of all but the
 * last, and of all. With one chunk these are the same, and the second is not looked at. */
typedef struct place_limits {
    double round_s;  /* of the whole */
    moment in_s;     /* until the global server has the sums ... */
    moment out_s;    /* ... and from there to the end of the round */
    double spread_s; /* only a limit: from its sum on, no local server on another node has the
                        parameters earlier (store-and-forward) ... */
    double purse;    /* ... as the local servers' shares of its up link add up to no more */
} place_limits;

/* The round alone is limited. */
place_limits place_whole_round(double round_s);

/* The round's global server has its sums between `from` and `to`. */
place_limits place_halves(double round_s, moment from, moment to);

bool place_keeps(const place_limits *need, const place_limits *limits);

/* What passes between a local server and the global one. */
typedef struct place_relay {
    moment_way in;  /* from complete at the local one to the sum */
    moment_way out; /* from the sum to the local one */
    double here_s;  /* latency of the way from the global one */
    double share;   /* of the global server's up link, while all pull: it uses at least this part of
                       what an equal share is */
    bool local;     /* may be one */
} place_relay;

/* All of it for one global server. */
typedef struct place_view {
    const place_times *t;
    size_t global;
    int32_t most_locals;
    place_relay *relay; /* per node */
    place_limits *fan;  /* needs of k local servers, k = 0..most_locals */
    place_limits least; /* needs of every plan */
    double *rate;   /* store-and-forward, per place_turns: workers per second of the possible local
                       servers on other nodes, descending, most_locals each */
    double **chain; /* per node, once asked for with place_view_rows: per worker's node, the
                       round's need if it is there; INFINITY where not allowed ... */
    double **load;  /* ... and per number of workers of other nodes */
} place_view;

edgeps_err place_view_make(const place_times *t, size_t global, place_view *out);
void place_view_free(place_view *v);

/* The same with one chunk, and the local servers' shares of the global server's up link adding up
 * so that their pulls take between spread_s[0] and spread_s[1]
 * seconds. */
place_limits place_spread(const place_view *v, place_limits halves, const double spread_s[2]);

/* No bound, but what a plan with these local servers is like, with one chunk: each of their pulls,
 * which start together, waits for all, and the round is longer by that. */
place_limits place_waiting(const place_view *v, const place_limits *halves, const bool *open);

/* Fills in the rows of one server, or of all. */
edgeps_err place_view_rows(place_view *v, size_t server);
edgeps_err place_view_all_rows(place_view *v);

/* May the worker be there, storage aside, in a plan that keeps the limits? */
bool place_view_serves(const place_view *v, const place_limits *limits, size_t server,
                       size_t worker);

/* Whom of the listed workers, given by their numbers among the workers, it may serve; see
 * cover_question. */
size_t place_view_reach(const place_view *v, const place_limits *limits, size_t server,
                        const cover_list *of, size_t most, uint32_t *served);

/* What a plan needs that has the worker there, or where the server has m workers of other nodes, if
 * the pulls of its local servers take at least spread_s. */
place_limits place_view_chain(const place_view *v, double spread_s, size_t server, size_t worker);
place_limits place_view_load(const place_view *v, double spread_s, size_t server, size_t m);

/* Most workers (its own included) that `server` takes within the limits. */
int32_t place_view_cap(const place_view *v, const place_limits *limits, size_t server);

/* No less, and quicker. */
int32_t place_view_most(const place_view *v, const place_limits *limits, size_t server);

/* Most local servers that any plan within the limits can have; 0: there is no such plan. All but
 * the turns at the global server (store-and-forward) changes only where the limits cross a value of
 * `fan`; the turns are judged by `turns`, limits that are no tighter. */
int32_t place_view_locals(const place_view *v, const place_limits *limits,
                          const place_limits *turns);

/* ---- bounds for all global servers ---- */

typedef struct place_threshold {
    double bound_s;      /* no plan with this global server is faster: proved */
    double r_s;          /* a threshold that was not refuted */
    place_limits limits; /* ... for these halves of it */
    int32_t locals;      /* servers allowed there; 0: all below the upper limit is refuted */
    double *open;        /* per node: the LP's share of a local server there */
} place_threshold;

/* Where to search. */
typedef struct place_hunt {
    double lower_s; /* all below is refuted already; 0: nothing is */
    double upper_s; /* what is slower does not matter; INFINITY: everything does */
    double first_s; /* this is tried first; 0: nothing is known */
    bool exact;     /* whole local servers (place_whole_search) */
} place_hunt;

/* Refutes round times for any global server, and keeps the prices that did it: what refutes one
 * often refutes the next. */
typedef struct place_refuter place_refuter;

edgeps_err place_refuter_make(const place_ground *gr, place_refuter **out);
void place_refuter_free(place_refuter *rf);

/* LPs solved so far. */
size_t place_refuter_lps(const place_refuter *rf);

/* The least round time, to within a part in a thousand, that is not refuted for the view's global
 * server. The caller frees out->open with mem_free. */
edgeps_err place_threshold_search(place_refuter *rf, const place_view *v, const place_hunt *limits,
                                  place_threshold *out);

/* How narrow the boxes of moments get, relative to the round. */
#define PLACE_FINE 0.004

/* Is there no plan within a round time of r_s? A no proves nothing: the moments are told apart to
 * `fine` of the round, and the local servers may be fractional. */
edgeps_err place_refute_round(place_refuter *rf, const place_view *v, double r_s, double fine,
                              bool *refuted);

/* Raises the bounds of all candidates, given best first, as far as the least of them needs, and
 * sorts them again. Bounds of upper_s and more are high enough. Ends early when `w` says so. */
edgeps_err place_raise_bounds(place_refuter *rf, const place_times *t, place_watch *w,
                              double upper_s, place_candidate *list, size_t count);

/* ---- capturing vertices and the Expanding Front ---- */

#define PLACE_FRONT_PHASES 24

typedef struct place_front {
    uint32_t *picks; /* the capturing vertices first */
    size_t capturing;
    size_t pick_count;
    size_t steps;  /* arcs of the threshold graph that one arc of the front stands for */
    size_t phases; /* of the front, and what the proof says about each: */
    double mass[PLACE_FRONT_PHASES];   /* LP value of what was uncovered at its start */
    double left[PLACE_FRONT_PHASES];   /* part of that LP's mass that its picks left uncovered */
    size_t wanted[PLACE_FRONT_PHASES]; /* picks it was to make */
} place_front;

/* Vertices that reach every worker in the graph of the arcs with chain <= r_s, over few steps: at
 * most `locals` of them when any step length does, else more. The caller frees out->picks with
 * mem_free. pick_count is 0 when some worker has no arc. */
edgeps_err place_front_run(const place_ground *gr, double *const *chain, double r_s, size_t locals,
                           place_front *out);

/* ---- from open servers to a plan ---- */

/* Not open yet, and it may be: paths and storage allow a local server there. */
bool place_may_open(const place_view *v, const bool *open, size_t server);

/* Opens servers in the order of the LP's shares until there are th->locals. */
void place_open_by_share(const place_view *v, const place_threshold *th, bool *open);

/* The assignment to the open servers that keeps the limits when they are stretched by the least
 * factor, under the storage; *settled is false, and pl untouched, when they cannot hold all
 * workers.
 */
edgeps_err place_settle(const place_view *v, const place_limits *limits, const bool *open,
                        place_match *match, plan *pl, bool *settled);

/* ---- algorithms that only choose servers ---- */

/* What they share: the assignment to the chosen servers, the judgement, the best plan so far. */
typedef struct place_choice {
    const place_ground *gr;
    place_watch *watch;
    uint32_t *servers; /* nodes with room for a server, local or global */
    size_t server_count;
    place_times times;
    place_refuter *refuter; /* once needed */
    place_view view;        /* of the global server tried last, when `viewed` */
    bool viewed;
    place_match match;
    plan trial;
    plan best;
    double best_s; /* INFINITY: none yet */
    bool *tried;   /* per node: as the global server */
    double work_us;
    double *scratch;
} place_choice;

typedef edgeps_err place_chooser(place_choice *c, uint64_t seed);

/* Runs a chooser. Where none of its choices gave a plan, the answer is any feasible one. */
edgeps_err place_choose(const problem *p, const place_options *options, place_chooser *choose,
                        place_result *out);

/* False when the effort (by a count) is spent, the deadline has passed or `progress` said stop. */
bool place_choice_go_on(place_choice *c, double done_fraction);

/* Makes c->view that of this global server. */
edgeps_err place_choice_view(place_choice *c, size_t global);

/* The least round time below the best so far that the covering LP cannot refute for this global
 * server, and the LP's shares there; out->locals is 0 when there is none. The caller frees
 * out->open with mem_free. */
edgeps_err place_choice_threshold(place_choice *c, size_t global, place_threshold *out);

/* Makes the best plan of `global` with the open servers and keeps it if it is the best so far.
 * First closes servers that may not be open, and after that opens more while the open ones cannot
 * hold all workers. *round_s: its time, or a bound of it; INFINITY where there is no plan. */
edgeps_err place_choice_try(place_choice *c, size_t global, bool *open, double *round_s);

/* The same for c->trial, which must be feasible. */
edgeps_err place_choice_offer(place_choice *c, double *round_s);

/* Opens the server that can take most of the workers stuck in c->match; false when none can, or
 * `global` has as many as it may have. */
bool place_choice_relieve(const place_choice *c, size_t global, bool *open);

/* Sorts c->servers by a value per node, largest first; equals keep their order. */
void place_choice_rank(place_choice *c, const double *value);

/* For a ranking of servers, best first: the first that can be the global server of any plan is, and
 * the first k that may be local servers are, for growing k. */
edgeps_err place_choice_prefixes(place_choice *c, const uint32_t *order, size_t count);

/* Servers that open by chance, independently. */
typedef struct place_draw {
    size_t server_count;
    size_t worker_count;
    const double *chance; /* per server */
    const bool *reach;    /* [server * worker_count + worker]: it can serve the worker */
    const int32_t *cap;   /* workers per server, >= 0 */
    size_t most;          /* servers that may be open */
} place_draw;

/* Opens servers so that workers without an open server in reach, places that the open ones lack for
 * all workers, and open servers above the most are together no more than is expected of the draw:
 * *before is the expectation, *after what came out. O(drawn x (workers + drawn)) in time and
 * memory. */
edgeps_err place_draw_expected(const place_draw *d, bool *open, double *before, double *after);

/* ---- the algorithms ---- */

place_function place_approx;
place_function place_greedy;
place_function place_random;
place_function place_brute;
place_function place_exact;
place_function place_uniform;
place_function place_degree;
place_function place_storage;
place_function place_gonzalez;
place_function place_kmedian;
place_function place_genetic;
place_function place_pso;
place_function place_rounding;
place_function place_rounding_derandomized;
place_function place_rounding_min_t;

/* Asks an outside command, given to /bin/sh -c: the problem as JSON in, its plan out (formats). The
 * plan is checked like any other and not improved. Exit status 3 says that there is none;
 * everything else is an error of the call. */
edgeps_err place_exec(const char *command, const problem *p, const place_options *options,
                      edgeps_diag *diag, place_result *out);

/* ---- neighbours of a plan ---- */

typedef enum place_move_kind {
    PLACE_MOVE_ATTACH, /* worker a to server b, which may be closed so far */
    PLACE_MOVE_SWAP,   /* the servers of workers a and b */
    PLACE_MOVE_SERVER, /* all workers of a to b */
    PLACE_MOVE_SPLIT,  /* half of the workers of a to b, those nearest to b */
    PLACE_MOVE_CLOSE,  /* the workers of a to the other open servers */
    PLACE_MOVE_OPEN,   /* a takes its share of all workers, the nearest */
    PLACE_MOVE_GLOBAL, /* a becomes the global server */
    PLACE_MOVE_KINDS
} place_move_kind;

/* A plan and its neighbours. */
typedef struct place_moves {
    const place_ground *gr;
    cost_search *search;
    struct place_near *near; /* scratch: workers by distance */
    edgeps_err err;          /* of the last call that failed; moves then fail too */
} place_moves;

edgeps_err place_moves_make(const place_ground *gr, const plan *pl, place_moves *out);
void place_moves_free(place_moves *m);

/* Changes the plan in m->search into this neighbour; false, and nothing changed, when there is no
 * such neighbour or it breaks a constraint. The plan must be as it was kept. */
bool place_move(place_moves *m, place_move_kind kind, size_t a, size_t b);

/* Descends on the bound alone, looking where it is made: to workers and links of the servers that
 * hold it up. Cheap, and the larger the network the more it does of the work. Keeps the plan it
 * arrives at. `effort` moves at most; the moves made are taken off. */
void place_relieve(place_moves *m, rng *r, place_watch *w, double *effort);

/* Local search from pl (feasible, of cost *round_s): replaces it by what it finds. `work_us` is
 * about the time it may take in microseconds, by a count that does not depend on the machine; 0:
 * 0.3 s. */
edgeps_err place_polish(const place_ground *gr, const place_options *options, place_watch *w,
                        double work_us, plan *pl, double *round_s);

/* Judges a plan that has others beside it. */
typedef struct place_judge {
    edgeps_err (*round_s)(void *context, const plan *pl, double *round_s);
    double (*bound_s)(void *context, const plan *pl); /* of what round_s says */
    void *context;
    double bound_us; /* what a bound, and a round cost roughly */
    double evaluation_us;
    double work_us; /* for the search; what it takes is taken off */
    uint64_t seed;
} place_judge;

/* The same by this judge; that the plan alone is fast only guides the search. */
edgeps_err place_polish_among(const place_ground *gr, place_watch *w, place_judge *judge, plan *pl,
                              double *round_s);

/* Replaces the best plan by `pl` when it is feasible and faster. */
typedef struct place_best {
    const problem *p;
    plan plan;
    double round_s;     /* INFINITY: none yet */
    double *scratch;    /* for cost_bound_s */
    place_watch *watch; /* is told of better plans; may be NULL */
    double work_us;     /* about what its evaluations took, by counts */
} place_best;

edgeps_err place_best_make(const problem *p, place_best *out);
void place_best_free(place_best *b);

/* *round_s is pl's time when it was evaluated, else a lower bound of it that excludes pl. `pl`
 * must be feasible. */
edgeps_err place_best_offer(place_best *b, const plan *pl, double *round_s);

/* The same where its time, or a bound that excludes it, is known. */
void place_best_keep(place_best *b, const plan *pl, double round_s);

/* Offers greedy's plan, polished for work_us (0: not at all). Stays without plan when there is
 * none; *found says whether that is proved. */
edgeps_err place_best_start(place_best *b, const place_ground *gr, const place_options *options,
                            place_watch *w, double work_us, place_found *found);

#endif
