#include "proto/versions.h"

#include "base/mem.h"

edgeps_err versions_make(int64_t chunk_count, versions *out)
{
    versions v = {.count = chunk_count};
    v.of = mem_alloc((size_t)chunk_count, sizeof *v.of);
    if (!v.of)
        return EDGEPS_NOMEM;
    versions_fill(&v, PROTO_NOTHING);
    *out = v;
    return EDGEPS_OK;
}

void versions_free(versions *v)
{
    mem_free(v->of);
    *v = (versions){0};
}

void versions_fill(versions *v, int64_t version)
{
    for (int64_t c = 0; c < v->count; c++)
        v->of[c] = version;
    v->top = version;
    v->at_top = v->count;
}

void versions_set(versions *v, const int64_t *chunk_versions)
{
    versions_fill(v, PROTO_NOTHING);
    for (int64_t c = 0; c < v->count; c++)
        if (chunk_versions[c] != PROTO_NOTHING)
            versions_raise(v, c, chunk_versions[c]);
}

void versions_raise(versions *v, int64_t chunk, int64_t version)
{
    if (version > v->top) {
        v->top = version;
        v->at_top = 0;
    }
    v->of[chunk] = version;
    v->at_top += version == v->top;
}

bool versions_agree(const versions *v) { return v->at_top == v->count; }

int64_t versions_lowest(const versions *v)
{
    int64_t lowest = v->top;
    for (int64_t c = 0; c < v->count; c++)
        if (v->of[c] < lowest)
            lowest = v->of[c];
    return lowest;
}
