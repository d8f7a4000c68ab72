/* Errors: one table of codes, and a diagnosis that says what, where and what to do.
 *
 * A function that can fail returns an `edgeps_err` and, when the caller passed a diagnosis, fills
 * it with one line for a person. The innermost function names the fact, each caller may put a
 * prefix in front (`diag_wrap`): "run/plan.json: line 4: parent: no node is called 'lyon'".
 */
#ifndef EDGEPS_BASE_ERR_H
#define EDGEPS_BASE_ERR_H

#include "base/api.h"

EDGEPS_API_BEGIN

/* code, text, exit status of the command */
#define EDGEPS_ERR_TABLE(X)                                                                        \
    X(OK, "ok", 0)                                                                                 \
    X(NOMEM, "out of memory", 1)                                                                   \
    X(IO, "input/output error", 1)                                                                 \
    X(FULL, "no space left", 1)                                                                    \
    X(PROTOCOL, "the peer broke the protocol", 1)                                                  \
    X(UNSUPPORTED, "not supported here", 1)                                                        \
    X(INTERNAL, "internal error", 1)                                                               \
    X(FORMAT, "bad input", 2)                                                                      \
    X(USAGE, "bad usage", 2)                                                                       \
    X(INFEASIBLE, "no feasible answer", 3)                                                         \
    X(CANCELLED, "interrupted", 130)

typedef enum edgeps_err {
#define EDGEPS_ERR_ENUM(name, text, status) EDGEPS_##name,
    EDGEPS_ERR_TABLE(EDGEPS_ERR_ENUM)
#undef EDGEPS_ERR_ENUM
} edgeps_err;

/* One line for a person; `line` and `column` count from 1 and are 0 where they mean nothing. */
typedef struct edgeps_diag {
    char text[512];
    int line;
    int column;
} edgeps_diag;

/* The text of a code, never NULL. */
const char *err_text(edgeps_err err);

/* The exit status that the command ends with for a code. */
int err_exit_status(edgeps_err err);

/* Writes the formatted message into `diag` (which may be NULL), control characters in it as "?",
 * and returns `err`. */
edgeps_err diag_fail(edgeps_diag *diag, edgeps_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "<formatted prefix>: " in front of the message in `diag`; returns `err` unchanged. */
edgeps_err diag_wrap(edgeps_diag *diag, edgeps_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* clang's analyzer reads one file at a time; this tells it that both return the error given. */
#ifdef __clang_analyzer__
#define diag_fail(diag, err, ...) ((void)(diag_fail)((diag), (err), __VA_ARGS__), (err))
#define diag_wrap(diag, err, ...) ((void)(diag_wrap)((diag), (err), __VA_ARGS__), (err))
#endif

EDGEPS_API_END

#endif
