#include "lab/lab.h"

#include "base/file.h"
#include "base/mem.h"
#include "formats/network_json.h"
#include "lab/docker_int.h"
#include "lab/group_int.h"
#include "lab/storage_int.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PORT 7700
#define GATEWAY "10.77.255.253"

/* Texts of JSON are texts of YAML; Compose reads a dollar in them as the name of a variable. */
static void put_text(FILE *to, const char *text)
{
    json_t *value = json_string(text);
    char *quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    for (const char *at = quoted ? quoted : "\"\""; *at; at++)
        fputs(*at == '$' ? "$$" : (char[]){*at, '\0'}, to);
    free(quoted);
    json_decref(value);
}

static void put_coordinator(FILE *to)
{
    char hub[LAB_ADDRESS_BYTES];
    lab_address(LAB_HUB, hub);
    fprintf(to,
            "  coordinator:\n    <<: *edgeps\n"
            "    command: [run, /network.json, --await-agents, --address, %s, --port, \"%d\",\n"
            "              --insecure, --data, /data, --out, /out/run, --force]\n"
            "    volumes: [*data, \"./network.json:/network.json:ro\", \"./out:/out\"]\n"
            "    networks: {edge: {ipv4_address: %s}}\n",
            hub, PORT, hub);
}

static void put_node(FILE *to, const network *net, size_t index, const lab_options *o)
{
    const network_node *node = &net->nodes[index];
    int64_t storage = storage_whole_bytes(node->free_bytes > 0 ? node->free_bytes : 1);
    int64_t memory = o->memory_bytes > 0 ? o->memory_bytes : LAB_MEMORY_BYTES;
    char hub[LAB_ADDRESS_BYTES], address[LAB_ADDRESS_BYTES];
    lab_address(LAB_HUB, hub);
    lab_address(index, address);
    fprintf(to,
            "  n%zu:\n    <<: *edgeps\n    command: [agent, --coordinator, \"%s:%d\", "
            "--storage, " DOCKER_STORAGE ", --wait, \"600\",\n              --enclosed, --node, ",
            index, hub, PORT);
    put_text(to, node->name);
    fprintf(to, "]\n    tmpfs: [\"" DOCKER_STORAGE ":size=%" PRId64 ",mode=755\"]\n", storage);
    if (storage < INT64_MAX - memory)
        fprintf(to, "    mem_limit: %" PRId64 "\n", memory + storage);
    if (o->core_samples_per_s > 0)
        fprintf(to, "    cpus: %.3f\n", group_share(node, o->core_samples_per_s));
    fprintf(to, "    networks: {edge: {ipv4_address: %s}}\n", address);
}

static edgeps_err put_all(const char *path, const network *net, const lab_options *options,
                          edgeps_diag *diag)
{
    char program[4096], *text = NULL;
    size_t size;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    FILE *to = length > 0 ? open_memstream(&text, &size) : NULL;
    if (!to)
        return diag_fail(diag, EDGEPS_IO, "%s: cannot be put together: %s", path, strerror(errno));
    program[length] = '\0';
    fprintf(to, "name: edgeps\n"
                "x-data: &data \"${EDGEPS_DATA:?the folder with the four IDX files}:/data:ro\"\n"
                "x-edgeps: &edgeps\n  image: edgeps\n  entrypoint: [");
    put_text(to, program);
    fprintf(to, "]\n  volumes: [*data]\nservices:\n");
    put_coordinator(to);
    for (size_t i = 0; i < net->count; i++)
        put_node(to, net, i, options);
    fprintf(to, "networks:\n  edge: {ipam: {config: [{subnet: 10.77.0.0/16, gateway: " GATEWAY
                "}]}}\n");
    bool good = fclose(to) == 0;
    edgeps_err err = good ? file_write_text(path, text, diag)
                          : diag_fail(diag, EDGEPS_NOMEM, "no memory for %s", path);
    free(text);
    return err;
}

/* With the addresses that the containers will have. */
static edgeps_err put_network(const char *path, const network *net, edgeps_diag *diag)
{
    network *placed = NULL;
    char *text = NULL, address[LAB_ADDRESS_BYTES];
    bool good = network_copy(net, &placed) == EDGEPS_OK;
    for (size_t i = 0; good && i < placed->count; i++) {
        lab_address(i, address);
        mem_free(placed->nodes[i].address);
        placed->nodes[i].address = mem_copy_text(address);
        good = placed->nodes[i].address != NULL;
    }
    good = good && network_json_text(placed, &text) == EDGEPS_OK;
    edgeps_err err = good ? file_write_text(path, text, diag)
                          : diag_fail(diag, EDGEPS_NOMEM, "no memory for a network");
    mem_free(text);
    network_free(placed);
    return err;
}

edgeps_err lab_compose(const network *net, const char *dir, const lab_options *options,
                       edgeps_diag *diag)
{
    char path[4096];
    if (mkdir(dir, 0777) && errno != EEXIST)
        return diag_fail(diag, EDGEPS_IO, "%s: cannot make this folder: %s", dir, strerror(errno));
    snprintf(path, sizeof path, "%s/network.json", dir);
    edgeps_err err = put_network(path, net, diag);
    snprintf(path, sizeof path, "%s/compose.yaml", dir);
    if (!err)
        err = put_all(path, net, options, diag);
    snprintf(path, sizeof path, "%s/image.tar", dir);
    return err ? err : docker_pack(path, diag);
}
