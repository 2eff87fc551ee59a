/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "config/config.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/lib/tmpdir.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

static struct lp_config config;

static void setup(void)
{
    json_set_alloc_funcs(lp_mem_alloc, lp_mem_free);
    lp_conf_init(&config);
}

TestSuite(config_config, .init = setup);

static int load(const char *text, struct lp_error *err)
{
    return lp_conf_load_text(&config, "x.json", text, strlen(text), err);
}

static void refuses(const char *text, int code, const char *sentence)
{
    struct lp_config before = config;
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(load(text, &err), code, "%s: %s", text, err.text);
    cr_assert_str_eq(err.text, sentence);
    cr_assert_eq(memcmp(&before, &config, sizeof(config)), 0, "changed by %s", text);
}

/* Each default of the table is a good value of its own option. */
Test(config_config, defaults_are_valid)
{
    for (int id = 0; id < LP_CONF_OPTIONS; id++) {
        struct lp_error err = LP_ERROR_INIT;
        const char *key = lp_conf_key((enum lp_conf_id)id);
        char text[LP_CONF_TEXT_BYTES];
        (void)snprintf(text, sizeof(text), "%s", lp_conf_text(&config, (enum lp_conf_id)id));
        cr_assert_eq(lp_conf_set(&config, key, text, LP_CONF_DEFAULT, &err), 0, "%s", err.text);
        cr_assert(lp_conf_is_default(&config, (enum lp_conf_id)id));
    }
    cr_assert_eq(lp_conf_size(&config, LP_CONF_POOL_SIZE).percent, 50);
    cr_assert_eq(lp_conf_number(&config, LP_CONF_CONTROL_MODE), 0660);
}

/* The file in the tree is what the table dumps, byte for byte, and reads back as the defaults. */
Test(config_config, shipped_file_equals_the_dump)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_config shipped;
    char *text;

    cr_assert_eq(lp_conf_dump(&config, &text, &err), 0);
    FILE *file = fopen(LP_TEST_SHIPPED, "rb");
    cr_assert_not_null(file, "%s", LP_TEST_SHIPPED);
    char bytes[8192];
    const size_t n = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    cr_assert_eq(n, strlen(text));
    cr_assert_eq(memcmp(bytes, text, n), 0, "run: lanepackd --dump-config > %s", LP_TEST_SHIPPED);
    lp_mem_free(text);

    lp_conf_init(&shipped);
    cr_assert_eq(lp_conf_load_file(&shipped, LP_TEST_SHIPPED, &err), 0, "%s", err.text);
    for (int id = 0; id < LP_CONF_OPTIONS; id++)
        cr_assert_str_eq(shipped.value[id].text, config.value[id].text);
    ASSERT_NO_LEAK();
}

Test(config_config, reads_a_file)
{
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(load("{\"pool\": {\"size\": \"64MiB\", \"chunk\": 8388608, \"lock\": \"off\"},"
                      " \"control\": {\"max_clients\": 12, \"mode\": \"0600\"}}",
                      &err),
                 0, "%s", err.text);
    cr_assert_eq(lp_conf_number(&config, LP_CONF_POOL_SIZE), 64 * LP_MIB);
    cr_assert_eq(lp_conf_number(&config, LP_CONF_POOL_CHUNK), 8 * LP_MIB);
    cr_assert_eq(lp_conf_number(&config, LP_CONF_POOL_LOCK), 2);
    cr_assert_eq(lp_conf_number(&config, LP_CONF_CONTROL_MAX_CLIENTS), 12);
    cr_assert_eq(lp_conf_number(&config, LP_CONF_CONTROL_MODE), 0600);
    cr_assert_str_eq(lp_conf_origin_name(config.value[LP_CONF_POOL_SIZE].origin), "file");
    cr_assert_str_eq(lp_conf_origin_name(config.value[LP_CONF_LOG_LEVEL].origin), "default");
    ASSERT_NO_LEAK();
}

/* Every mistake is refused with file, key and cause; nothing of such a file counts. */
Test(config_config, refuses_mistakes_by_name)
{
    refuses("{\"pool\": {\"size\": \"1GiB\", \"chunks\": \"1GiB\"}}", LP_ENAME,
            "x.json: unknown key 'pool.chunks'; nearest is 'pool.chunk'");
    refuses("{\"pol\": {}}", LP_ENAME, "x.json: unknown key 'pol'");
    refuses("{\"pool\": {}, \"qqqqqqqqqqqqqqqqqqq\": 1}", LP_ENAME,
            "x.json: unknown key 'qqqqqqqqqqqqqqqqqqq'");
    refuses("{\"pool.size\": \"1GiB\"}", LP_ENAME,
            "x.json: unknown key 'pool.size': write {\"a\": {\"b\": ...}}");
    refuses("{\"pool\": {\"size\": {}}}", LP_EINVAL,
            "x.json: pool.size: must be a string or an integer");
    refuses("{\"pool\": {\"size\": \"1GB\"}}", LP_EINVAL,
            "x.json: pool.size: '1GB' has unknown unit 'GB'; KiB MiB GiB TiB are known");
    refuses("{\"pool\": {\"size\": 1.5}}", LP_EINVAL,
            "x.json: pool.size: must be a string or an integer");
    refuses("{\"pool\": {\"chunk\": \"10%\"}}", LP_EINVAL,
            "x.json: pool.chunk: '10%' is a share where a size belongs");
    refuses("{\"pool\": {\"chunk\": \"1MiB\"}}", LP_ERANGE,
            "x.json: pool.chunk: '1MiB' is not 8MiB to 64GiB");
    refuses("{\"pool\": {\"lock\": \"maybe\"}}", LP_EINVAL,
            "x.json: pool.lock: 'maybe' is none of auto|on|off");
    refuses("{\"pool\": {\"lock\": true}}", LP_EINVAL,
            "x.json: pool.lock: must be a string or an integer");
    refuses("{\"control\": {\"max_clients\": \"12\"}}", LP_EINVAL,
            "x.json: control.max_clients: must be an integer");
    refuses("{\"control\": {\"max_clients\": 0}}", LP_ERANGE,
            "x.json: control.max_clients: '0' is not 1 to 65536");
    refuses("{\"control\": {\"mode\": 660}}", LP_EINVAL, "x.json: control.mode: must be a string");
    refuses("{\"control\": {\"mode\": \"0888\"}}", LP_EINVAL,
            "x.json: control.mode: '0888' is no octal number");
    refuses("{\"control\": {\"mode\": \"7777\"}}", LP_ERANGE,
            "x.json: control.mode: '7777' is not 0 to 777");
    refuses("{\"control\": {\"socket\": \"\"}}", LP_ERANGE,
            "x.json: control.socket: 0 bytes, not 1 to 107");
    refuses("[]", LP_EINVAL, "x.json: must be one JSON object");
    refuses("{\"pool\": {\"size\": \"1G\", \"size\": \"2G\"}}", LP_EINVAL,
            "x.json: line 1, column 30: duplicate object key near '\"size\"'");
    ASSERT_NO_LEAK();
}

/* flag > environment > file > default, in whatever order they are loaded. */
Test(config_config, keeps_precedence)
{
    const char *const environment[] = {"PATH=/bin", "LANEPACK_POOL_SIZE=3G", "LANEPACK_SOCKET=/x",
                                       "LANEPACK_LOG_LEVEL=warn", NULL};

    cr_assert_eq(lp_conf_set(&config, "pool.size", "4G", LP_CONF_FROM_FLAG, NULL), 0);
    cr_assert_eq(lp_conf_load_environment(&config, environment, NULL), 0);
    cr_assert_eq(load("{\"pool\": {\"size\": \"1G\"}, \"log\": {\"level\": \"error\"}}", NULL), 0);
    cr_assert_str_eq(lp_conf_text(&config, LP_CONF_POOL_SIZE), "4G");
    cr_assert_eq(config.value[LP_CONF_POOL_SIZE].origin, LP_CONF_FROM_FLAG);
    cr_assert_str_eq(lp_conf_text(&config, LP_CONF_LOG_LEVEL), "warn");
    cr_assert_eq(config.value[LP_CONF_LOG_LEVEL].origin, LP_CONF_FROM_ENVIRONMENT);
}

/* Variables of a section that no option has are mistakes; those of other programs are not. */
Test(config_config, refuses_misspelt_variables)
{
    const char *const misspelt[] = {"LANEPACK_POOL_SIZ=3G", NULL};
    const char *const bad[] = {"LANEPACK_POOL_SIZE=lots", NULL};
    const char *const others[] = {"LANEPACK_CPU_MASK=avx512", "LANEPACK_=1", "LANEPACK_POOL", NULL};
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(lp_conf_load_environment(&config, misspelt, &err), LP_ENAME);
    cr_assert_str_eq(err.text, "environment: unknown variable LANEPACK_POOL_SIZ; nearest is "
                               "LANEPACK_POOL_SIZE");
    cr_assert_eq(lp_conf_load_environment(&config, bad, &err), LP_EINVAL);
    cr_assert_str_eq(err.text,
                     "environment: pool.size: 'lots' is no size: it begins with no digit");
    cr_assert_eq(lp_conf_load_environment(&config, others, &err), 0);
}

Test(config_config, knows_flags)
{
    cr_assert_str_eq(lp_conf_flag_key("pool-size", 9), "pool.size");
    cr_assert_str_eq(lp_conf_flag_key("store-create-ttl-ms=5", 19), "store.create_ttl_ms");
    cr_assert_null(lp_conf_flag_key("pool.size", 9));
    cr_assert_null(lp_conf_flag_key("pool-siz", 8));
    cr_assert_null(lp_conf_flag_key("", 0));
}

/* A file that is not there, is a folder or is too large is told apart. */
Test(config_config, tells_what_is_wrong_with_a_file)
{
    struct lp_error err = LP_ERROR_INIT;
    struct tmpdir dir;
    char path[128];

    tmpdir_init(&dir);
    cr_assert_eq(lp_conf_load_file(&config, tmpdir_join(&dir, "none", path, sizeof(path)), &err),
                 LP_ENOENT);
    cr_assert_eq(lp_conf_load_file(&config, dir.path, &err), LP_EIO);
    char *large = lp_mem_zalloc(LP_CONF_FILE_BYTES_MAX + 1);
    tmpdir_write(&dir, "large", large, LP_CONF_FILE_BYTES_MAX + 1);
    lp_mem_free(large);
    cr_assert_eq(lp_conf_load_file(&config, tmpdir_join(&dir, "large", path, sizeof(path)), &err),
                 LP_ESIZE);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

Test(config_config, survives_failing_allocations)
{
    struct fault_loop loop;
    char *text = NULL;

    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        struct lp_error err = LP_ERROR_INIT;
        const int rc = lp_conf_dump(&config, &text, &err);
        cr_assert_eq(rc, fault_loop_hit(&loop) ? LP_ENOMEM : 0, "%s", err.text);
        if (rc == 0)
            lp_mem_free(text);
    }
    FAULT_LOOP(&loop, LP_FAULT_ALLOC) {
        struct lp_config other;
        lp_conf_init(&other);
        const int rc = lp_conf_load_file(&other, LP_TEST_SHIPPED, NULL);
        cr_assert_eq(rc == 0, !fault_loop_hit(&loop));
    }
    cr_assert_gt(loop.nth, 10);
    ASSERT_NO_LEAK();
}
