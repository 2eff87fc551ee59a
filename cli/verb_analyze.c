/* SPDX-License-Identifier: Apache-2.0 */
/* analyze: what packing a file's tensors would save, why, and where the bits are. Nothing is
 * packed: a sample of each tensor is read, at most LP_PLAN_SAMPLE_BYTES. */
#include "base/alloc.h"
#include "base/error.h"
#include "cli/analyze.h"
#include "cli/source.h"
#include "store/load.h"
#include "store/outfile.h"

#include <string.h>
#include <sys/types.h>

struct analyze {
    const struct lp_cli_args *args;
    struct lp_load_options source;
    struct lp_plan_params plan;
    json_t *results; /* --json */
    FILE *page;      /* --html */
    bool wide;
    struct lp_cli_analysis_sum sum;
};

/* Where --html goes. */
struct page {
    struct lp_outfile file;
    uint64_t bytes;
    int rc;
    struct lp_error *err;
};

static void tell(struct analyze *analyze, const struct lp_cli_analysis *analysis)
{
    if (analyze->results != NULL)
        (void)json_array_append_new(analyze->results, lp_cli_analysis_json(analysis));
    else if (analyze->page == NULL) {
        if (analyze->sum.tensors > 0)
            (void)putchar('\n');
        lp_cli_analysis_text(analysis, analyze->wide);
    }
    if (analyze->page != NULL)
        lp_cli_analysis_html(analyze->page, analysis);
    lp_cli_analysis_add(&analyze->sum, analysis);
}

/* For each word size that divides a record. */
static int tabulate_invariance(struct lp_ibp_invariance tables[2], uint32_t *ret_n,
                               const struct lp_geometry *geometry, uint32_t record_elements,
                               const void *sample, uint64_t n_records, struct lp_error *err)
{
    const uint32_t record_bytes = record_elements * geometry->elem_bytes;
    int rc;

    *ret_n = 0;
    for (uint32_t word = 4; word <= 8 && n_records > 0; word += 4) {
        if (record_bytes % word != 0)
            continue;
        LP_TRY(rc, lp_codec_ibp_invariance(&tables[*ret_n], word, record_bytes / word, sample,
                                           n_records, NULL, err));
        (*ret_n)++;
    }
    return 0;
}

/* sample: as its layout says. */
static int analyze_sample(struct analyze *analyze, const struct lp_load_tensor *tensor,
                          const struct lp_sample *layout, const void *sample, struct lp_error *err)
{
    const uint64_t records = layout->n_elements / layout->record_elements;
    struct lp_ibp_invariance invariance[2];
    struct lp_plan_params params = analyze->plan;
    struct lp_analysis *found = NULL;
    uint32_t n_invariance;
    struct lp_prices prices;
    struct lp_table chosen;
    int rc;

    memset(&prices, 0, sizeof(prices));
    params.sample_layout = layout;
    rc = lp_codec_analysis_new(&found, &tensor->geometry, layout, sample, err);
    if (rc < 0 && rc != LP_ENOTSUP)
        return rc;
    rc = tabulate_invariance(invariance, &n_invariance, &tensor->geometry, layout->record_elements,
                             sample, records, err);
    if (rc == 0)
        rc = lp_codec_plan(&chosen, &tensor->geometry, &params, sample, layout->n_elements, &prices,
                           err);
    if (rc == 0) {
        tell(analyze, &(struct lp_cli_analysis){.name = tensor->name,
                                                .geometry = &tensor->geometry,
                                                .found = found,
                                                .prices = &prices,
                                                .invariance = invariance,
                                                .n_invariance = n_invariance,
                                                .chosen = &chosen});
        lp_codec_table_fini(&chosen);
    }
    lp_codec_analysis_free(found);
    return rc;
}

static int analyze_tensor(struct analyze *analyze, struct lp_load_file *file, uint32_t i,
                          struct lp_error *err)
{
    const struct lp_load_tensor *const tensor = lp_load_tensor(file, i);
    struct lp_sample layout;
    uint32_t record_elements;
    void *sample;
    int rc;

    LP_TRY(rc, lp_codec_plan_record(&tensor->geometry, &analyze->plan, &record_elements, err));
    layout = lp_load_sample_layout(file, i, record_elements, LP_PLAN_SAMPLE_BYTES);
    sample = lp_mem_alloc(layout.n_elements * tensor->geometry.elem_bytes + 1);
    if (sample == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a sample of %s", tensor->name);
    rc = lp_load_sample(file, i, record_elements, LP_PLAN_SAMPLE_BYTES, sample, err);
    if (rc == 0)
        rc = analyze_sample(analyze, tensor, &layout, sample, err);
    lp_mem_free(sample);
    return rc;
}

static int analyze_file(struct analyze *analyze, const char *path, struct lp_error *err)
{
    const char *const name = analyze->args->value[LP_CLI_NAME];
    struct lp_load_file *file;
    int64_t only = -1;
    int rc;

    LP_TRY(rc, lp_load_open(&file, path, &analyze->source, err));
    if (name != NULL) {
        only = lp_load_find(file, name);
        if (only < 0)
            rc = lp_error_set(err, LP_ENOENT, "%s: no tensor %s", path, name);
    }
    analyze->wide = only >= 0 || lp_load_count(file) == 1;
    for (uint32_t i = 0; rc == 0 && i < lp_load_count(file); i++)
        if (only < 0 || only == (int64_t)i)
            rc = analyze_tensor(analyze, file, i, err);
    lp_load_close(file);
    return rc;
}

/* The page is written as it grows, and appears under its name when it is complete. */
static ssize_t write_page(void *user, const char *bytes, size_t n)
{
    struct page *const page = user;

    if (page->rc == 0)
        page->rc = lp_outfile_write(&page->file, bytes, n, page->bytes, page->err);
    page->bytes += n;
    return page->rc == 0 ? (ssize_t)n : -1;
}

static int open_page(struct analyze *analyze, struct page *page, const char *path,
                     struct lp_error *err)
{
    int rc;

    page->err = err;
    LP_TRY(rc, lp_outfile_open(&page->file, path, err));
    analyze->page = fopencookie(page, "w", (cookie_io_functions_t){.write = write_page});
    if (analyze->page == NULL) {
        lp_outfile_close(&page->file);
        return lp_error_set(err, LP_ENOMEM, "no memory for a page");
    }
    lp_cli_analysis_html_begin(analyze->page, analyze->args->items[0]);
    return 0;
}

static int close_page(struct analyze *analyze, struct page *page, int rc, struct lp_error *err)
{
    if (analyze->page == NULL)
        return rc;
    lp_cli_analysis_html_end(analyze->page, &analyze->sum);
    (void)fclose(analyze->page); /* what a write met stands in page->rc */
    if (rc == 0)
        rc = page->rc;
    if (rc == 0)
        rc = lp_outfile_commit(&page->file, err);
    if (rc < 0)
        lp_outfile_close(&page->file);
    return rc;
}

/* The last word: what all tensors together would need. */
static int tell_sum(const struct analyze *analyze)
{
    const struct lp_cli_analysis_sum *const sum = &analyze->sum;
    const char *const path = analyze->args->value[LP_CLI_HTML];
    char logical[LP_CLI_BYTES_TEXT], stored[LP_CLI_BYTES_TEXT];

    if (analyze->results != NULL)
        return lp_cli_print_json_take(json_pack(
            "{s:I, s:I, s:o}", "logical_bytes", (json_int_t)sum->logical_bytes,
            "stored_bytes_estimate", (json_int_t)sum->stored_bytes, "tensors", analyze->results));
    if (path != NULL)
        (void)printf("%s: %llu tensor%s\n", path, (unsigned long long)sum->tensors,
                     sum->tensors == 1 ? "" : "s");
    else if (sum->tensors != 1)
        (void)printf("\nin all: %llu tensors, %s, stored in about %s: %.1f %% saved\n",
                     (unsigned long long)sum->tensors, lp_cli_bytes(sum->logical_bytes, logical),
                     lp_cli_bytes(sum->stored_bytes, stored),
                     lp_cli_saving(sum->logical_bytes, sum->stored_bytes));
    return lp_cli_finish_output();
}

int lp_cli_verb_analyze(const struct lp_cli_args *args)
{
    const char *const path = args->value[LP_CLI_HTML];
    struct analyze analyze = {.args = args};
    struct page page = {.bytes = 0};
    struct lp_error err = LP_ERROR_INIT;
    int rc = lp_cli_read_source(args, &analyze.source);

    if (rc != LP_CLI_DONE || (rc = lp_cli_read_plan(args, &analyze.plan)) != LP_CLI_DONE)
        return rc;
    if (lp_cli_has(args, LP_CLI_JSON))
        analyze.results = json_array();
    for (int i = 0; path != NULL && rc == 0 && i < args->n_items; i++)
        rc = lp_cli_check_target(path, args->items[i], &err);
    if (path != NULL && rc == 0)
        rc = open_page(&analyze, &page, path, &err);
    for (int i = 0; rc == 0 && i < args->n_items; i++)
        rc = analyze_file(&analyze, args->items[i], &err);
    rc = close_page(&analyze, &page, rc, &err);
    if (rc < 0) {
        (void)fflush(stdout);
        json_decref(analyze.results);
        return lp_cli_fail(args, rc, &err);
    }
    return tell_sum(&analyze);
}
