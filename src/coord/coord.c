#include "coord/coord.h"

#include "base/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define APPLICATION_ID 0x45444750 /* "EDGP", in the header of the file */
#define BUSY_MS 5000              /* another process commits in milliseconds */

#define REMEDY "; restore it from a copy or choose another"

struct coord {
    sqlite3 *db;
    char *path;
};

static edgeps_err failure(const coord *c, int status, edgeps_diag *diag)
{
    const char *text = c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(status);
    switch (status & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return diag_fail(diag, EDGEPS_FORMAT, "%s: %s" REMEDY, c->path, text);
    case SQLITE_FULL:
        return diag_fail(diag, EDGEPS_FULL, "%s: %s", c->path, text);
    case SQLITE_NOMEM:
        return diag_fail(diag, EDGEPS_NOMEM, "%s: %s", c->path, text);
    default:
        return diag_fail(diag, EDGEPS_IO, "%s: %s", c->path, text);
    }
}

static edgeps_err run(const coord *c, const char *sql, edgeps_diag *diag)
{
    int status = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
    return status == SQLITE_OK ? EDGEPS_OK : failure(c, status, diag);
}

static edgeps_err prepare(const coord *c, const char *sql, edgeps_diag *diag, sqlite3_stmt **out)
{
    int status = sqlite3_prepare_v2(c->db, sql, -1, out, NULL);
    return status == SQLITE_OK ? EDGEPS_OK : failure(c, status, diag);
}

/* The one whole number that a query gives; `missing` when it gives none. */
static edgeps_err ask_number(const coord *c, const char *sql, int64_t missing, edgeps_diag *diag,
                             int64_t *out)
{
    sqlite3_stmt *query = NULL;
    edgeps_err err = prepare(c, sql, diag, &query);
    if (err)
        return err;
    int status = sqlite3_step(query);
    if (status == SQLITE_ROW)
        *out = sqlite3_column_int64(query, 0);
    else if (status == SQLITE_DONE)
        *out = missing;
    else
        err = failure(c, status, diag);
    sqlite3_finalize(query);
    return err;
}

/* A copy of a text column, or NULL where the query gives no row. Finalizes the query. */
static edgeps_err take_text(const coord *c, sqlite3_stmt *query, edgeps_diag *diag, char **out)
{
    edgeps_err err = EDGEPS_OK;
    char *copy = NULL;
    int status = sqlite3_step(query);
    if (status == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(query, 0);
        copy = text ? mem_copy_text(text) : NULL;
        if (!copy)
            err = diag_fail(diag, EDGEPS_NOMEM, "%s: out of memory", c->path);
    } else if (status != SQLITE_DONE) {
        err = failure(c, status, diag);
    }
    sqlite3_finalize(query);
    if (!err)
        *out = copy;
    return err;
}

/* Steps a statement that gives no rows, and finalizes it. */
static edgeps_err finish(const coord *c, sqlite3_stmt *change, edgeps_diag *diag)
{
    int status = sqlite3_step(change);
    edgeps_err err = status == SQLITE_DONE ? EDGEPS_OK : failure(c, status, diag);
    sqlite3_finalize(change);
    return err;
}

/* Refuses a database of something else; an empty one becomes ours. */
static edgeps_err make_tables(const coord *c, edgeps_diag *diag)
{
    int64_t id = 0, tables = 0;
    char sql[512];
    edgeps_err err = ask_number(c, "PRAGMA application_id", 0, diag, &id);
    if (!err)
        err = ask_number(c, "SELECT count(*) FROM sqlite_master", 0, diag, &tables);
    if (err || (id == APPLICATION_ID && tables > 0))
        return err;
    if (id != 0 || tables != 0)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: a database of something else; choose another",
                         c->path);
    snprintf(sql, sizeof sql,
             "PRAGMA application_id = %d;"
             "CREATE TABLE record (generation INTEGER PRIMARY KEY, json TEXT NOT NULL);"
             "CREATE TABLE fact (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;",
             APPLICATION_ID);
    return run(c, sql, diag);
}

/* SQLite notices damage where it reads; this reads all of the file, which is small. */
static edgeps_err check_pages(const coord *c, edgeps_diag *diag)
{
    sqlite3_stmt *query = NULL;
    char *verdict = NULL;
    edgeps_err err = prepare(c, "PRAGMA quick_check(1)", diag, &query);
    if (!err)
        err = take_text(c, query, diag, &verdict);
    if (!err && verdict && strcmp(verdict, "ok") != 0)
        err = diag_fail(diag, EDGEPS_FORMAT, "%s: the database is damaged" REMEDY, c->path);
    mem_free(verdict);
    return err;
}

static edgeps_err rolled_back(const coord *c, edgeps_err err)
{
    /* The failure is the caller's news; SQLite may have rolled back by itself. */
    sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    return err;
}

static edgeps_err set_up(const coord *c, edgeps_diag *diag)
{
    edgeps_err err = run(c, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL", diag);
    if (!err)
        err = check_pages(c, diag);
    if (!err)
        err = run(c, "BEGIN IMMEDIATE", diag);
    if (err)
        return err;
    err = make_tables(c, diag);
    if (!err)
        err = run(c, "COMMIT", diag);
    return err ? rolled_back(c, err) : EDGEPS_OK;
}

edgeps_err coord_open(const char *path, edgeps_diag *diag, coord **out)
{
    edgeps_err err = EDGEPS_NOMEM;
    coord *c = mem_alloc(1, sizeof *c);
    if (c)
        c->path = mem_copy_text(path);
    if (!c || !c->path) {
        diag_fail(diag, err, "%s: out of memory", path);
        goto out;
    }
    int status = sqlite3_open_v2(
        path, &c->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (status != SQLITE_OK) {
        err = failure(c, status, diag);
        goto out;
    }
    sqlite3_busy_timeout(c->db, BUSY_MS);
    err = set_up(c, diag);
    if (err)
        goto out;
    *out = c;
    c = NULL;
out:
    coord_close(c);
    return err;
}

void coord_close(coord *c)
{
    if (!c)
        return;
    sqlite3_close(c->db);
    mem_free(c->path);
    mem_free(c);
}

static edgeps_err latest_generation(const coord *c, edgeps_diag *diag, uint64_t *generation)
{
    int64_t stored = 0;
    edgeps_err err = ask_number(c, "SELECT max(generation) FROM record", 0, diag, &stored);
    if (!err)
        *generation = (uint64_t)stored;
    return err;
}

static edgeps_err insert(const coord *c, uint64_t generation, const char *record_json,
                         edgeps_diag *diag)
{
    sqlite3_stmt *change = NULL;
    edgeps_err err = prepare(c, "INSERT INTO record VALUES (?1, ?2)", diag, &change);
    if (err)
        return err;
    sqlite3_bind_int64(change, 1, (int64_t)generation);
    sqlite3_bind_text(change, 2, record_json, -1, SQLITE_STATIC);
    return finish(c, change, diag);
}

edgeps_err coord_commit(coord *c, uint64_t expected_generation, uint64_t generation,
                        const char *record_json, edgeps_diag *diag)
{
    uint64_t stored = 0;
    assert(generation > expected_generation && generation <= INT64_MAX);
    edgeps_err err = run(c, "BEGIN IMMEDIATE", diag);
    if (err)
        return err;
    err = latest_generation(c, diag, &stored);
    if (!err && stored != expected_generation)
        err = diag_fail(diag, EDGEPS_PROTOCOL,
                        "%s: generation %" PRIu64 " is stored, not %" PRIu64
                        ": another coordinator has gone on",
                        c->path, stored, expected_generation);
    if (!err)
        err = insert(c, generation, record_json, diag);
    if (!err)
        err = run(c, "COMMIT", diag);
    return err ? rolled_back(c, err) : EDGEPS_OK;
}

edgeps_err coord_record(coord *c, uint64_t generation, edgeps_diag *diag, char **record_json)
{
    sqlite3_stmt *query = NULL;
    edgeps_err err = prepare(c, "SELECT json FROM record WHERE generation = ?1", diag, &query);
    if (err)
        return err;
    sqlite3_bind_int64(query, 1, (int64_t)generation);
    return take_text(c, query, diag, record_json);
}

edgeps_err coord_latest(coord *c, edgeps_diag *diag, uint64_t *generation, char **record_json)
{
    /* Records are never changed or removed, so two queries see the same one. */
    uint64_t stored = 0;
    edgeps_err err = latest_generation(c, diag, &stored);
    if (!err)
        err = coord_record(c, stored, diag, record_json);
    if (!err)
        *generation = stored;
    return err;
}

edgeps_err coord_set(coord *c, const char *key, const char *value, edgeps_diag *diag)
{
    sqlite3_stmt *change = NULL;
    edgeps_err err = prepare(c, "INSERT OR REPLACE INTO fact VALUES (?1, ?2)", diag, &change);
    if (err)
        return err;
    sqlite3_bind_text(change, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(change, 2, value, -1, SQLITE_STATIC);
    return finish(c, change, diag);
}

edgeps_err coord_get(coord *c, const char *key, edgeps_diag *diag, char **value)
{
    sqlite3_stmt *query = NULL;
    edgeps_err err = prepare(c, "SELECT value FROM fact WHERE key = ?1", diag, &query);
    if (err)
        return err;
    sqlite3_bind_text(query, 1, key, -1, SQLITE_STATIC);
    return take_text(c, query, diag, value);
}
