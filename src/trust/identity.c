#include "trust/identity.h"

#include <stdio.h>
#include <string.h>

#define SCHEME "edgeps://"
#define NODE "node/"

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~", c));
}

static bool is_control(char c) { return (unsigned char)c < 0x20 || c == 0x7f; }

bool trust_node(const char *name, char who[TRUST_MAX_WHO + 1])
{
    size_t length = strlen(name);
    if (length == 0 || length > TRUST_MAX_WHO - strlen(NODE))
        return false;
    for (size_t k = 0; k < length; k++)
        if (is_control(name[k]))
            return false;
    snprintf(who, TRUST_MAX_WHO + 1, NODE "%s", name);
    return true;
}

bool trust_is_job(const char *text)
{
    size_t length = strlen(text);
    for (size_t k = 0; k < length; k++)
        if ((!is_plain(text[k]) || text[k] == '~') && text[k] != '_')
            return false;
    return length > 0 && length <= TRUST_MAX_JOB;
}

/* Appends `text`, spelled for a URI; the longest identity fits. */
static void spell(const char *text, char uri[TRUST_MAX_URI])
{
    size_t used = strlen(uri);
    for (const char *c = text; *c && used + 4 < TRUST_MAX_URI; c++)
        used += (size_t)snprintf(uri + used, TRUST_MAX_URI - used, is_plain(*c) ? "%c" : "%%%02X",
                                 (unsigned char)*c);
}

static const char *name_of(const char *who)
{
    return strncmp(who, NODE, strlen(NODE)) == 0 ? who + strlen(NODE) : NULL;
}

void trust_uri(const trust_identity *id, char uri[TRUST_MAX_URI])
{
    const char *name = name_of(id->who);
    snprintf(uri, TRUST_MAX_URI, SCHEME "%s/%s", id->job, name ? NODE : TRUST_COORDINATOR);
    if (name)
        spell(name, uri);
}

static int hex_digit(char c)
{
    const char *digits = "0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The name that is spelled in `text`; false where it does not fit or is not well spelled. */
static bool read_name(const char *text, char *name, size_t size)
{
    size_t used = 0;
    for (const char *c = text; *c; c++) {
        char plain = *c;
        if (*c == '%') {
            int high = hex_digit(c[1]), low = high < 0 ? -1 : hex_digit(c[2]);
            if (low < 0)
                return false;
            plain = (char)(high * 16 + low);
            c += 2;
        }
        if (used + 1 >= size)
            return false;
        name[used++] = plain;
    }
    name[used] = '\0';
    return true;
}

/* Splits "JOB/REST" behind the scheme. */
static bool read_parts(const char *text, trust_identity *id)
{
    const char *slash = strchr(text, '/');
    char name[TRUST_MAX_WHO + 1];
    if (!slash || (size_t)(slash - text) > TRUST_MAX_JOB)
        return false;
    snprintf(id->job, sizeof id->job, "%.*s", (int)(slash - text), text);
    const char *rest = slash + 1, *spelled = name_of(rest);
    if (spelled)
        return read_name(spelled, name, sizeof name) && trust_node(name, id->who);
    snprintf(id->who, sizeof id->who, TRUST_COORDINATOR);
    return strcmp(rest, TRUST_COORDINATOR) == 0;
}

bool trust_read_uri(const char *uri, size_t length, trust_identity *out)
{
    char text[TRUST_MAX_URI], again[TRUST_MAX_URI];
    trust_identity id = {.job = ""};
    if (length >= sizeof text || length < strlen(SCHEME) || memchr(uri, '\0', length))
        return false;
    memcpy(text, uri, length);
    text[length] = '\0';
    if (memcmp(text, SCHEME, strlen(SCHEME)) != 0 || !read_parts(text + strlen(SCHEME), &id) ||
        !trust_is_job(id.job))
        return false;
    trust_uri(&id, again);
    if (strcmp(text, again) != 0)
        return false;
    *out = id;
    return true;
}

void trust_file_name(const char *who, char name[TRUST_MAX_URI])
{
    const char *node = name_of(who);
    snprintf(name, TRUST_MAX_URI, "%s", node ? "node-" : TRUST_COORDINATOR);
    if (node)
        spell(node, name);
    size_t used = strlen(name);
    snprintf(name + used, TRUST_MAX_URI - used, ".pem");
}
