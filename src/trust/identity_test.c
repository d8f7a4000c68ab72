#include "trust/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static bool reads(const char *uri, trust_identity *id)
{
    return trust_read_uri(uri, strlen(uri), id);
}

static void identities_are_spelled_as_documented(void **state)
{
    (void)state;
    char uri[TRUST_MAX_URI];
    trust_uri(&(trust_identity){"job-1", TRUST_COORDINATOR}, uri);
    assert_string_equal(uri, "edgeps://job-1/coordinator");
    trust_uri(&(trust_identity){"j", "node/edge \"14\" / S\xc3\xbc"}, uri);
    assert_string_equal(uri, "edgeps://j/node/edge%20%2214%22%20%2F%20S%C3%BC");
    trust_uri(&(trust_identity){"j", "node/coordinator"}, uri);
    assert_string_equal(uri, "edgeps://j/node/coordinator");
    trust_file_name("node/../../etc/passwd", uri);
    assert_string_equal(uri, "node-..%2F..%2Fetc%2Fpasswd.pem");
    trust_file_name(TRUST_COORDINATOR, uri);
    assert_string_equal(uri, "coordinator.pem");
}

static void every_name_comes_back_from_its_uri(void **state)
{
    (void)state;
    char name[TRUST_MAX_WHO + 1] = "", who[TRUST_MAX_WHO + 1], uri[TRUST_MAX_URI];
    trust_identity id;
    for (int c = 0x20; c < 256; c++) {
        if (c == 0x7f)
            continue;
        snprintf(name, sizeof name, "x%c", c);
        assert_true(trust_node(name, who));
        trust_identity made = {.job = "j"};
        memcpy(made.who, who, sizeof who);
        trust_uri(&made, uri);
        assert_true(reads(uri, &id));
        assert_string_equal(id.job, "j");
        assert_string_equal(id.who, who);
    }
    memset(name, 0xff, sizeof name - 1); /* the longest spelling there is */
    name[TRUST_MAX_WHO - 5] = '\0';
    assert_true(trust_node(name, who));
    trust_identity longest = {.job = ""};
    memset(longest.job, 'j', TRUST_MAX_JOB);
    memcpy(longest.who, who, sizeof who);
    trust_uri(&longest, uri);
    assert_true(reads(uri, &id));
    assert_string_equal(id.who, who);
}

static void names_that_cannot_be_are_refused(void **state)
{
    (void)state;
    char who[TRUST_MAX_WHO + 1], name[TRUST_MAX_WHO + 1] = "";
    memset(name, 'x', TRUST_MAX_WHO - 4);
    assert_false(trust_node("", who));
    assert_false(trust_node("a\nb", who));
    assert_false(trust_node(name, who));
    assert_true(trust_is_job("A-b_c.9"));
    assert_false(trust_is_job(""));
    assert_false(trust_is_job("a/b"));
    assert_false(trust_is_job("a b"));
    assert_false(trust_is_job("a~b"));
}

static void other_uris_are_nobody(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "edgeps://",
        "edgeps:///coordinator",
        "edgeps://j",
        "edgeps://j/",
        "edgeps://j/coordinato",
        "edgeps://j/coordinators",
        "edgeps://j/node/",
        "edgeps://j/node/a/b",
        "edgeps://j/node/a b",
        "edgeps://j/node/a%2",
        "edgeps://j/node/a%2f",
        "edgeps://j/node/%61",
        "edgeps://j/node/a%00b",
        "edgeps://j/node/a%0Ab",
        "edgeps://j k/coordinator",
        "http://j/coordinator",
        "EDGEPS://j/coordinator",
    };
    trust_identity id;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        if (reads(bad[k], &id))
            fail_msg("'%s' was read", bad[k]);
    assert_false(trust_read_uri("edgeps://j/coordinator\0x", 24, &id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identities_are_spelled_as_documented),
        cmocka_unit_test(every_name_comes_back_from_its_uri),
        cmocka_unit_test(names_that_cannot_be_are_refused),
        cmocka_unit_test(other_uris_are_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
