/* SPDX-License-Identifier: Apache-2.0 */
/* Codec ibp: metadata from anywhere, records from anywhere, and words that must come back; every
 * tier must say the same.
 *
 * Input: 1 byte word size, alignment and groups, 1 byte words of the record, the metadata of 32
 * words, then the record. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/codec_ibp.h"
#include "codec/ops.h"
#include "tests/fuzz/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define WORDS 32u
#define RECORD_MAX 1024u

struct input {
    struct lp_ibp ibp;
    uint32_t n, align_bytes;
    const uint8_t *record;
    size_t record_bytes;
};

/* Values are cut down to their masks, so that most inputs get past the metadata. */
static bool read_input(struct input *ret_input, const uint8_t *data, size_t size)
{
    static const uint32_t groups[4] = {0, 2, 3, LP_FORMAT_IBP_GROUPS_MAX};
    const uint32_t s = size > 0 && data[0] & 1 ? 8 : 4;
    const uint32_t n_groups = groups[size > 0 ? data[0] >> 2 & 3 : 0], n_sets = LP_MAX(n_groups, 1);
    const size_t half_bytes = WORDS * s, sets_bytes = 2 * n_sets * half_bytes;
    uint8_t meta[LP_FORMAT_IBP_META_FIXED + 2 * WORDS * 8 * LP_FORMAT_IBP_GROUPS_MAX] = {0};
    uint8_t *const sets = meta + LP_FORMAT_IBP_META_FIXED;

    if (size < 2 + sets_bytes)
        return false;
    meta[0] = (uint8_t)s;
    meta[1] = (uint8_t)n_groups;
    lp_store_u32(meta + 4, WORDS);
    memcpy(sets, data + 2, sets_bytes);
    for (size_t i = 0; i < n_sets * half_bytes; i++) {
        const size_t at = i / half_bytes * half_bytes + i;

        sets[at + half_bytes] &= sets[at];
    }
    if (lp_codec_ibp_meta_parse(&ret_input->ibp, WORDS * s, meta,
                                LP_FORMAT_IBP_META_FIXED + sets_bytes, NULL) < 0)
        abort();
    ret_input->n = 1 + data[1] % WORDS;
    ret_input->align_bytes = data[0] & 2 ? 32 : 4;
    ret_input->record = data + 2 + sets_bytes;
    ret_input->record_bytes = LP_MIN(size - 2 - sets_bytes, RECORD_MAX);
    return true;
}

static void decode(const struct input *input)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t bytes = input->n * input->ibp.word_bytes;
    const uint32_t stored = (uint32_t)input->record_bytes & ~(input->align_bytes - 1);
    uint8_t *const src = lp_mem_zalloc(stored + LP_CODEC_SLACK_BYTES);
    uint8_t first[WORDS * 8], dst[WORDS * 8];
    int first_rc = 0;

    if (src == NULL)
        abort();
    memcpy(src, input->record, stored);
    for (int t = 0; t < n_tiers; t++) {
        const int rc = tiers[t]->ibp_decode(&input->ibp, src, stored, input->align_bytes,
                                            t == 0 ? first : dst, input->n);

        if (t == 0)
            first_rc = rc;
        else if (rc != first_rc || (rc == 0 && memcmp(first, dst, bytes) != 0))
            abort();
    }
    lp_mem_free(src);
}

static void round_trip(const struct input *input)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n_tiers = lp_codec_ops_tiers(tiers);
    const uint32_t bytes = input->n * input->ibp.word_bytes;
    uint8_t words[WORDS * 8] = {0}, back[WORDS * 8];
    uint8_t packed[2 * WORDS * 8 + LP_CODEC_SLACK_BYTES];

    memcpy(words, input->record, LP_MIN(input->record_bytes, sizeof(words)));
    for (int t = 0; t < n_tiers; t++) {
        const uint32_t size =
            tiers[t]->ibp_encode(&input->ibp, words, input->n, packed, UINT32_MAX);

        if (size != lp_codec_ibp_size(&input->ibp, words, input->n) ||
            size > sizeof(packed) - LP_CODEC_SLACK_BYTES)
            abort();
        if (tiers[t]->ibp_decode(&input->ibp, packed, size, 4, back, input->n) != 0 ||
            memcmp(back, words, bytes) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    struct lp_ibp ibp;

    if (lp_codec_ibp_meta_parse(&ibp, WORDS * 4, data, size, NULL) == 0)
        lp_codec_ibp_fini(&ibp);
    if (!read_input(&input, data, size))
        return 0;
    decode(&input);
    round_trip(&input);
    lp_codec_ibp_fini(&input.ibp);
    return 0;
}
