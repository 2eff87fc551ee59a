/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/sample.h"

#include "base/bytes.h"

struct lp_sample lp_codec_sample(const struct lp_geometry *geometry, uint32_t record_elements,
                                 uint64_t limit_bytes, uint64_t run_bytes)
{
    const uint64_t limit = limit_bytes / geometry->elem_bytes;
    const uint64_t run_elements = LP_MIN(run_bytes / geometry->elem_bytes, limit);
    struct lp_sample sample = {.whole = geometry->n_elements <= limit || record_elements == 0 ||
                                        record_elements > geometry->n_elements,
                               .record_elements = record_elements,
                               .n_runs = 1,
                               .n_elements = geometry->n_elements};

    if (sample.whole)
        return sample;
    sample.records = geometry->n_elements / record_elements;
    sample.run_records = LP_MAX(run_elements / record_elements, 1);
    sample.n_runs = LP_MAX(limit / (sample.run_records * record_elements), 1);
    sample.n_elements = sample.n_runs * sample.run_records * record_elements;
    return sample;
}

struct lp_sample lp_codec_sample_first(uint32_t record_elements, uint64_t n_elements)
{
    return (struct lp_sample){
        .whole = true, .record_elements = record_elements, .n_runs = 1, .n_elements = n_elements};
}

bool lp_codec_sample_of_runs(struct lp_sample *ret_sample, const struct lp_geometry *geometry,
                             uint32_t record_elements, uint64_t n_elements, uint64_t run_elements)
{
    struct lp_sample sample = lp_codec_sample_first(record_elements, n_elements);

    if (n_elements == geometry->n_elements) {
        *ret_sample = sample;
        return true;
    }
    sample.whole = false;
    if (n_elements > geometry->n_elements || run_elements == 0 ||
        run_elements % record_elements != 0 || n_elements % run_elements != 0)
        return false;
    sample.records = geometry->n_elements / record_elements;
    sample.run_records = run_elements / record_elements;
    sample.n_runs = n_elements / run_elements;
    if (sample.n_runs == 0 || sample.run_records > sample.records)
        return false;
    *ret_sample = sample;
    return true;
}

uint64_t lp_codec_sample_run_elements(const struct lp_sample *sample)
{
    return sample->n_elements / sample->n_runs;
}

/* k * spread / steps would overflow; quotient and remainder do not, as n_runs and k are small. */
uint64_t lp_codec_sample_run_first(const struct lp_sample *sample, uint64_t k)
{
    const uint64_t spread = sample->records - sample->run_records;
    uint64_t record;

    if (sample->whole)
        return 0;
    if (sample->n_runs == 1)
        record = spread / 2;
    else
        record = k * (spread / (sample->n_runs - 1)) +
                 k * (spread % (sample->n_runs - 1)) / (sample->n_runs - 1);
    return record * sample->record_elements;
}

uint64_t lp_codec_sample_record(const struct lp_sample *sample, uint64_t r)
{
    if (sample->whole)
        return r;
    return lp_codec_sample_run_first(sample, r / sample->run_records) / sample->record_elements +
           r % sample->run_records;
}
