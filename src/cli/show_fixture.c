#include "cli/show_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

void page_open(page *p)
{
    p->seen = 0;
    p->out = open_memstream(&p->text, &p->size);
    assert_non_null(p->out);
}

void page_expect(page *p, const char *expected)
{
    assert_int_equal(fflush(p->out), 0);
    assert_string_equal(p->text + p->seen, expected);
    p->seen = p->size;
}

void page_close(page *p)
{
    fclose(p->out);
    free(p->text);
}
