#include "base/mem.h"
#include "trust/trust_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    trust_fixture_make(folder, "demo");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    trust_fixture_free(folder);
    return 0;
}

static const char *in(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void keys_are_their_owner_s_alone(void **state)
{
    (void)state;
    static const char *const secret[] = {"authority.key", "coordinator.pem", "node-a.pem"};
    struct stat about;
    for (int k = 0; k < 3; k++) {
        assert_int_equal(stat(in(secret[k]), &about), 0);
        assert_int_equal(about.st_mode & 07777, 0600);
    }
    assert_int_equal(stat(in("authority.pem"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0644);
}

static void certificates_say_whose_they_are_and_how_long(void **state)
{
    (void)state;
    cert_description d, authority;
    assert_int_equal(cert_describe(in("node-a.pem"), NULL, &d), EDGEPS_OK);
    assert_string_equal(d.id.job, "demo");
    assert_string_equal(d.id.who, "node/a");
    assert_true(d.in_date);
    assert_int_equal(strlen(d.fingerprint), 32 * 3 - 1);
    assert_int_equal(cert_describe(in("authority.pem"), NULL, &authority), EDGEPS_OK);
    assert_string_equal(authority.id.job, "demo");
    assert_string_equal(authority.id.who, "");
    assert_true(strcmp(d.until, authority.until) < 0);
    /* A member does not outlive who vouches for it. */
    assert_int_equal(cert_make_member(folder, "node/c", 300, false, NULL), EDGEPS_OK);
    assert_int_equal(cert_describe(in("node-c.pem"), NULL, &d), EDGEPS_OK);
    assert_string_equal(d.until, authority.until);
}

static void nothing_is_overwritten_unasked(void **state)
{
    (void)state;
    cert_description before, after;
    edgeps_diag diag;
    assert_int_equal(cert_describe(in("node-a.pem"), NULL, &before), EDGEPS_OK);
    assert_int_equal(cert_make_member(folder, "node/a", 1, false, &diag), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "node-a.pem: is there already; --force replaces it"));
    assert_int_equal(cert_make_authority(folder, "demo", 1, false, &diag), EDGEPS_USAGE);
    assert_int_equal(cert_describe(in("node-a.pem"), NULL, &after), EDGEPS_OK);
    assert_string_equal(before.fingerprint, after.fingerprint);
    assert_int_equal(cert_make_member(folder, "node/a", 1, true, &diag), EDGEPS_OK);
    assert_int_equal(cert_describe(in("node-a.pem"), NULL, &after), EDGEPS_OK);
    assert_string_not_equal(before.fingerprint, after.fingerprint);
}

static void expect_refusal(const char *who, edgeps_err err, const char *words)
{
    trust *t = NULL;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(trust_load(folder, who, &diag, &t), err);
    assert_null(t);
    if (!strstr(diag.text, words))
        fail_msg("'%s' is not in: %s", words, diag.text);
}

static void a_member_s_own_files_are_checked_before_use(void **state)
{
    (void)state;
    trust *t = NULL;
    assert_int_equal(trust_load(folder, "node/a", NULL, &t), EDGEPS_OK);
    assert_string_equal(trust_job(t), "demo");
    trust_free(t);
    expect_refusal("node/z", EDGEPS_USAGE, "node-z.pem: No such file");
    assert_int_equal(rename(in("node-b.pem"), "/tmp/edgeps-trust-b"), 0);
    assert_int_equal(rename("/tmp/edgeps-trust-b", in("node-a.pem")), 0);
    expect_refusal("node/a", EDGEPS_FORMAT, "node-a.pem: is not the certificate of node/a");
    trust_fixture_forge(folder, "node-a.pem", &(forgery){"edgeps://demo/node/a", -7200, -3600});
    expect_refusal("node/a", EDGEPS_USAGE, "node-a.pem: has expired (20");
    trust_fixture_forge(folder, "node-a.pem", &(forgery){"edgeps://demo/node/a", 3600, 7200});
    expect_refusal("node/a", EDGEPS_USAGE, "is not valid yet; check this host's clock");
    assert_int_equal(chmod(in("coordinator.pem"), 0644), 0);
    expect_refusal(TRUST_COORDINATOR, EDGEPS_USAGE, "every user can read this key; chmod 600");
    assert_int_equal(cert_make_authority(folder, "demo", 1, true, NULL), EDGEPS_OK);
    assert_int_equal(chmod(in("coordinator.pem"), 0600), 0);
    expect_refusal(TRUST_COORDINATOR, EDGEPS_FORMAT, "is not from the authority beside it");
}

static void damaged_files_are_named(void **state)
{
    (void)state;
    cert_description d;
    edgeps_diag diag;
    FILE *file = fopen(in("node-a.pem"), "we");
    fputs("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(cert_describe(in("node-a.pem"), &diag, &d), EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, "node-a.pem: holds no certificate in PEM"));
    expect_refusal("node/a", EDGEPS_FORMAT, "holds no certificate in PEM");
    trust_fixture_forge(folder, "node-a.pem", &(forgery){"http://example.org", -60, 60});
    assert_int_equal(cert_describe(in("node-a.pem"), &diag, &d), EDGEPS_FORMAT);
    assert_int_equal(cert_make_authority(folder, "two words", 1, true, &diag), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "job 'two words': 1 to 63 letters"));
    assert_int_equal(unlink(in("authority.key")), 0);
    assert_int_equal(cert_make_member(folder, "node/d", 1, false, &diag), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "authority.key: No such file"));
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err == EDGEPS_NOMEM; n++) {
        trust *t = NULL;
        mem_fail_at(n);
        err = trust_load(folder, "node/a", NULL, &t);
        mem_fail_at(0);
        trust_free(t);
    }
    assert_int_equal(err, EDGEPS_OK);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(keys_are_their_owner_s_alone),   UNIT(certificates_say_whose_they_are_and_how_long),
        UNIT(nothing_is_overwritten_unasked), UNIT(a_member_s_own_files_are_checked_before_use),
        UNIT(damaged_files_are_named),        UNIT(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
