#include "store/safetensors.h"

#include "base/mem.h"
#include "store/disk_int.h"
#include "store/test_folder.h"

/* A file in memory: header text, then `data_bytes` zeros. */
static size_t make_file(const char *header, size_t data_bytes, uint8_t *file)
{
    size_t length = strlen(header);
    memset(file, 0, 8 + length + data_bytes);
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)(length >> (8 * i));
    memcpy(file + 8, header, length);
    return 8 + length + data_bytes;
}

/* The file stands at the end of a block of its own, so a sanitizer sees one byte too far. */
static edgeps_err parse(const char *header, size_t data_bytes, edgeps_diag *diag, safetensors *out)
{
    uint8_t *file = mem_alloc(8 + strlen(header) + data_bytes, 1);
    size_t count = make_file(header, data_bytes, file);
    edgeps_err err = safetensors_parse(file, count, diag, out);
    mem_free(file);
    return err;
}

static void expect_refusal(const char *header, size_t data_bytes, const char *words)
{
    edgeps_diag diag = {.text = ""};
    safetensors s = {.note_count = 77};
    assert_int_equal(parse(header, data_bytes, &diag, &s), EDGEPS_FORMAT);
    assert_int_equal(s.note_count, 77);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

#define A_F32(shape, from, to)                                                                     \
    "\"a\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" #from "," #to "]}"
#define B_F32(shape, from, to)                                                                     \
    "\"b\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" #from "," #to "]}"

static void reads_tensors_in_the_order_of_their_bytes(void **state)
{
    (void)state;
    uint8_t file[400];
    safetensors s;
    size_t count = make_file("{" B_F32("2,3", 4, 28) "," A_F32("", 0, 4) ",\"__metadata__\":"
                                                                         "{\"by\":\"hand\"}}   ",
                             28, file);
    assert_int_equal(safetensors_parse(file, count, NULL, &s), EDGEPS_OK);
    assert_int_equal(s.tensor_count, 2);
    assert_string_equal(s.tensors[0].name, "a");
    assert_int_equal(s.tensors[0].rank, 0);
    assert_ptr_equal(s.tensors[0].start, file + count - 28);
    const safetensors_tensor *b = safetensors_find(&s, "b");
    assert_ptr_equal(b, &s.tensors[1]);
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->shape[1], 3);
    assert_int_equal(b->bytes, 24);
    assert_string_equal(b->dtype, "F32");
    assert_ptr_equal(b->start, file + count - 24);
    assert_string_equal(safetensors_note_text(&s, "by"), "hand");
    assert_null(safetensors_note_text(&s, "to"));
    assert_null(safetensors_find(&s, "c"));
    safetensors_free(&s);
}

static void says_what_is_wrong_with_a_header(void **state)
{
    (void)state;
    expect_refusal("{" A_F32("2", 0, 8) "}", 7, "bytes 0 to 8 are not in the file");
    expect_refusal("{" A_F32("2", 0, 8) "}", 9, "1 bytes at the end belong to no tensor");
    expect_refusal("{" A_F32("2", 0, 4) "}", 4, "not what its shape asks for");
    expect_refusal("{" A_F32("2", 1, 9) "}", 9, "bytes before it belong to none");
    expect_refusal("{" A_F32("2", 0, 8) "," B_F32("1", 4, 8) "}", 8, "overlaps another one");
    expect_refusal("{" A_F32("1", 0, 4) "," B_F32("1", 8, 12) "}", 12, "belong to none");
    expect_refusal("{" A_F32("1", 0, 4) "," A_F32("1", 0, 4) "}", 4, "duplicate");
    expect_refusal("{" A_F32("-1", 0, 4) "}", 4, "not a size");
    expect_refusal("{" A_F32("1.5", 0, 4) "}", 4, "not a size");
    expect_refusal("{" A_F32("1", 4, 0) "}", 4, "not in the file");
    expect_refusal("{" A_F32("1", -4, 0) "}", 4, "not in the file");
    expect_refusal("{" A_F32("4611686018427387904,4", 0, 0) "}", 0, "shape asks for");
    expect_refusal("{" A_F32("1,1,1,1,1,1,1,1,1", 0, 4) "}", 4, "at most 8");
    expect_refusal("{\"a\":{\"dtype\":\"F31\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, "dtype");
    expect_refusal("{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 4, "must have");
    expect_refusal("{\"a\":7}", 4, "must have");
    expect_refusal("{\"__metadata__\":{\"a\":7}}", 0, "must be a text");
    expect_refusal("{\"__metadata__\":7}", 0, "must be an object");
    expect_refusal("[]", 0, "not an object");
    expect_refusal(" {}", 0, "not an object");
    expect_refusal("{", 0, "safetensors header");
    expect_refusal("", 0, "safetensors header");
}

static void a_length_beyond_the_file_is_refused(void **state)
{
    (void)state;
    static const uint8_t lengths[][9] = {
        {1},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        {2, 0, 0, 0, 0, 0, 0, 0, '{'},
    };
    safetensors s;
    for (int i = 0; i < 3; i++)
        assert_int_equal(safetensors_parse(lengths[i], 9, NULL, &s), EDGEPS_FORMAT);
    for (size_t count = 0; count < 8; count++)
        assert_int_equal(safetensors_parse(lengths[0], count, NULL, &s), EDGEPS_FORMAT);
}

static void an_empty_file_of_tensors_is_fine(void **state)
{
    (void)state;
    safetensors s;
    assert_int_equal(parse("{}", 0, NULL, &s), EDGEPS_OK);
    assert_int_equal(s.tensor_count + s.note_count, 0);
    safetensors_free(&s);
    assert_int_equal(parse("{" A_F32("0", 0, 0) "," B_F32("7,0", 0, 0) "}", 0, NULL, &s),
                     EDGEPS_OK);
    assert_int_equal(s.tensor_count, 2);
    safetensors_free(&s);
}

static const float weights[] = {1.0f, -2.5f, 3.25f, 0.0f, 1e-30f, -1e30f};
static const float bias[] = {0.5f};

static safetensors sample(void)
{
    static safetensors_tensor tensors[2];
    static safetensors_note notes[] = {{"made by", "a \"test\""}};
    tensors[0] = (safetensors_tensor){"weights", "F32", 2, {2, 3}, weights, sizeof weights};
    tensors[1] = (safetensors_tensor){"bias", "F32", 1, {1}, bias, sizeof bias};
    return (safetensors){tensors, 2, notes, 1};
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    const safetensors made = sample();
    safetensors s;
    uint8_t *header = NULL, file[1000];
    size_t count = 0;
    assert_int_equal(safetensors_header(&made, &header, &count), EDGEPS_OK);
    assert_int_equal(count % 64, 0);
    memcpy(file, header, count);
    memcpy(file + count, weights, sizeof weights);
    memcpy(file + count + sizeof weights, bias, sizeof bias);
    count += sizeof weights + sizeof bias;
    assert_int_equal(safetensors_parse(file, count, NULL, &s), EDGEPS_OK);
    assert_int_equal(s.tensor_count, 2);
    assert_memory_equal(safetensors_find(&s, "weights")->start, weights, sizeof weights);
    assert_memory_equal(safetensors_find(&s, "bias")->start, bias, sizeof bias);
    assert_string_equal(safetensors_note_text(&s, "made by"), "a \"test\"");
    for (size_t cut = 0; cut < count; cut++)
        assert_int_equal(safetensors_parse(file, cut, NULL, &(safetensors){0}), EDGEPS_FORMAT);
    safetensors_free(&s);
    mem_free(header);
}

/* Python's own json and struct, which share no code with us. */
static void python_reads_the_same_numbers(void **state)
{
    const test_folder *folder = *state;
    const safetensors made = sample();
    uint8_t *header = NULL;
    size_t count = 0;
    int fd = -1;
    char path[600], command[2000];
    if (system("python3 -c 'import json, struct' 2>/dev/null") != 0) {
        print_message("there is no python3 here\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/sample.safetensors", folder->path);
    assert_int_equal(safetensors_header(&made, &header, &count), EDGEPS_OK);
    assert_int_equal(disk_create(path, NULL, &fd), EDGEPS_OK);
    assert_int_equal(disk_write(fd, header, count, path, NULL), EDGEPS_OK);
    assert_int_equal(disk_write(fd, weights, sizeof weights, path, NULL), EDGEPS_OK);
    assert_int_equal(disk_write(fd, bias, sizeof bias, path, NULL), EDGEPS_OK);
    close(fd);
    mem_free(header);
    snprintf(command, sizeof command,
             "python3 -c \"\n"
             "import json, struct\n"
             "raw = open('%s', 'rb').read()\n"
             "n = struct.unpack('<Q', raw[:8])[0]\n"
             "head, data = json.loads(raw[8:8 + n]), raw[8 + n:]\n"
             "assert head['__metadata__'] == {'made by': 'a \\\"test\\\"'}\n"
             "def get(name):\n"
             "    e = head[name]\n"
             "    a, b = e['data_offsets']\n"
             "    assert e['dtype'] == 'F32'\n"
             "    return e['shape'], struct.unpack('<%%df' %% ((b - a) // 4), data[a:b])\n"
             "shape, w = get('weights')\n"
             "assert shape == [2, 3] and w[:4] == (1.0, -2.5, 3.25, 0.0), w\n"
             "assert abs(w[4] / 1e-30 - 1) < 1e-6 and abs(w[5] / -1e30 - 1) < 1e-6, w\n"
             "assert get('bias') == ([1], (0.5,))\n"
             "\"",
             path);
    assert_int_equal(system(command), 0);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    const safetensors made = sample();
    uint8_t file[400], *header = NULL;
    size_t header_bytes = 0;
    safetensors s = {.note_count = 77};
    size_t count = make_file("{" A_F32("1", 0, 4) ",\"__metadata__\":{\"k\":\"v\"}}", 4, file);
    long nth = 0;
    edgeps_err err = EDGEPS_NOMEM;
    while (err) {
        mem_fail_at(++nth);
        err = safetensors_parse(file, count, NULL, &s);
        mem_fail_at(0);
        if (err)
            assert_true(err == EDGEPS_NOMEM && s.note_count == 77);
    }
    assert_int_equal(nth, 6);
    safetensors_free(&s);
    mem_fail_at(1);
    assert_int_equal(safetensors_header(&made, &header, &header_bytes), EDGEPS_NOMEM);
    mem_fail_at(0);
    assert_null(header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tensors_in_the_order_of_their_bytes),
        cmocka_unit_test(says_what_is_wrong_with_a_header),
        cmocka_unit_test(a_length_beyond_the_file_is_refused),
        cmocka_unit_test(an_empty_file_of_tensors_is_fine),
        cmocka_unit_test(what_is_written_is_read),
        WITH_FOLDER(python_reads_the_same_numbers),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
