/* The main job on real data: LeNet-5 on MNIST through the six sites. Wants what `./dev setup`
 * fetches. */
#include "integration/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char network[] = EDGEPS_SOURCE_DIR "/examples/six-site.json";

static void lenet5_learns_mnist_through_six_sites_in_three_epochs(void **state)
{
    (void)state;
    char dir[64], out[96];
    command c;
    folder_make(dir);
    snprintf(out, sizeof out, "%s/run", dir);
    command_run(&c, (const char *const[]){"run", network, "--model", "lenet5", "--epochs", "3",
                                          "--rates", "off", "--out", out, NULL});
    if (c.status != 0)
        fail_msg("status %d:\n%s", c.status, c.text);
    const char *at = strstr(c.text, "accuracy    ");
    assert_non_null(at);
    double percent = strtod(at + 12, NULL);
    if (percent < 98.0)
        fail_msg("accuracy %.2f %%:\n%s", percent, c.text);
    folder_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lenet5_learns_mnist_through_six_sites_in_three_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
