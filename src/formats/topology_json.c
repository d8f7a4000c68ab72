#include "formats/topology_json.h"

#include "formats/json_int.h"

edgeps_err topology_report_json(const topology_report *report, const char *source,
                                const network *net, char **text)
{
    json_t *root = json_object(), *lines = json_array();
    for (size_t k = 0; k < report->count; k++)
        json_array_append_new(lines, json_string(report->lines[k]));
    json_object_set_new(root, "edgeps", json_string("import/1"));
    json_object_set_new(root, "source", json_string(source));
    json_object_set_new(root, "nodes", json_integer((json_int_t)net->count));
    json_object_set_new(root, "sites", json_integer((json_int_t)net->site_count));
    json_object_set_new(root, "filled", lines);
    return json_take_text(root, JSON_INDENT(1), text);
}
