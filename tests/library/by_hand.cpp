// libedgeps from C++: a network built by hand, and the answer worked out on paper.
#include <edgeps/adapt/adapt.h>
#include <edgeps/base/mem.h>
#include <edgeps/place/place.h>

#include <cmath>
#include <cstdio>
#include <memory>

// Defined here, too, and of no use: the library keeps to its own.
extern "C" void *mem_resize(void *, size_t, size_t) { return nullptr; }

namespace
{

struct release {
    void operator()(network *net) const { network_free(net); }
    void operator()(problem *p) const { problem_free(p); }
};

int failed(const char *what)
{
    std::printf("failed: %s\n", what);
    return 1;
}

} // namespace

// Three workers of 1 MB/s around a hub of 4 MB/s up and down that does not train; one chunk.
int main()
{
    network *made = nullptr;
    if (network_make(4, nullptr, &made))
        return failed("network_make");
    std::unique_ptr<network, release> net(made);
    const char *const names[] = {"hub", "a", "b", "c"};
    for (size_t i = 0; i < 4; i++) {
        network_node &node = net->nodes[i];
        node.name = mem_copy_text(names[i]);
        node.up_bytes_per_s = node.down_bytes_per_s = i ? 1e6 : 4e6;
        node.compute_samples_per_s = 1000;
        node.sum_bytes_per_s = INFINITY;
        node.free_bytes = 100000000;
        node.train = i > 0;
        node.serve = i == 0;
    }
    job j;
    problem *stated = nullptr;
    edgeps_diag diag = {};
    if (job_make("lenet5", 6000, 50, JOB_STORE_AND_FORWARD, &diag, &j) ||
        problem_make(net.get(), &j, nullptr, &diag, &stated))
        return failed(diag.text);
    std::unique_ptr<problem, release> p(stated);
    place_result r;
    for (size_t a = 0; a < place_algorithm_count; a++) {
        if (place_run(place_algorithms[a].name, p.get(), nullptr, &diag, &r))
            return failed(diag.text);
        const double bytes = 61706 * 4 + 64, by_hand_s = 50 / 1000.0 + 2 * bytes / 1e6;
        if (std::fabs(r.cost.round_s - by_hand_s) > 1e-9)
            return failed(place_algorithms[a].name);
        place_result_free(&r);
    }
    std::printf("%zu algorithms agree\n", place_algorithm_count);
    return 0;
}
