/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor of an .lpk file beside its source, and out as .npy. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "store/lpk_file.h"
#include "store/save_npy.h"

#include <string.h>

/* Elements of the tensor and of its source, side by side. */
struct pair {
    uint8_t *ours, *theirs; /* owned; LP_LPK_BUFFER_BYTES each */
};

static int pair_init(struct pair *pair, struct lp_error *err)
{
    pair->ours = lp_mem_alloc(LP_LPK_BUFFER_BYTES);
    pair->theirs = lp_mem_alloc(LP_LPK_BUFFER_BYTES);
    if (pair->ours == NULL || pair->theirs == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for two buffers of %u bytes",
                            LP_LPK_BUFFER_BYTES);
    return 0;
}

static void pair_fini(struct pair *pair)
{
    lp_mem_free(pair->ours);
    lp_mem_free(pair->theirs);
}

/* n elements of each bytes, of which one at least differs. Returns which one. */
static uint64_t pair_differs(const struct pair *pair, uint64_t n, uint32_t each)
{
    uint64_t e = 0;

    while (e + 1 < n && memcmp(pair->ours + e * each, pair->theirs + e * each, each) == 0)
        e++;
    return e;
}

static bool same_shape(const struct lp_geometry *a, const struct lp_geometry *b)
{
    return a->dtype == b->dtype && a->ndim == b->ndim &&
           memcmp(a->dims, b->dims, sizeof(a->dims)) == 0;
}

static int compare_all(struct lp_lpk_tensor *tensor, struct lp_load_file *source, uint32_t i,
                       struct pair *pair, struct lp_progress *progress, struct lp_error *err)
{
    const struct lp_geometry *geometry = &lp_load_tensor(source, i)->geometry;
    const uint64_t most = LP_LPK_BUFFER_BYTES / geometry->elem_bytes;
    int rc;

    for (uint64_t first = 0; first < geometry->n_elements;) {
        const uint64_t n = LP_MIN(most, geometry->n_elements - first);
        const size_t bytes = (size_t)(n * geometry->elem_bytes);

        LP_TRY(rc, lp_lpk_tensor_read(tensor, first, n, pair->ours, err));
        LP_TRY(rc, lp_load_read(source, i, first, n, pair->theirs, err));
        if (memcmp(pair->ours, pair->theirs, bytes) != 0)
            return lp_error_set(
                err, LP_ECORRUPT, "tensor '%.48s': element %llu differs from the source",
                lp_load_tensor(source, i)->name,
                (unsigned long long)(first + pair_differs(pair, n, geometry->elem_bytes)));
        lp_progress_add(progress, bytes);
        first += n;
    }
    return lp_load_check_unchanged(source, err);
}

int lp_lpk_tensor_compare(struct lp_lpk_tensor *tensor, struct lp_load_file *source, uint32_t i,
                          struct lp_progress *progress, struct lp_error *err)
{
    const struct lp_load_tensor *other = lp_load_tensor(source, i);
    struct pair pair = {0};
    struct lp_lpk_info info;
    int rc;

    if (other == NULL)
        return lp_error_set(err, LP_ERANGE, "tensor %u of %u", i, lp_load_count(source));
    lp_lpk_tensor_info(tensor, &info);
    if (!same_shape(&info.geometry, &other->geometry))
        return lp_error_set(err, LP_EFINGERPRINT,
                            "tensor '%.48s': dtype or shape differ from the source's '%.48s'",
                            info.name, other->name);
    rc = pair_init(&pair, err);
    if (rc == 0)
        rc = compare_all(tensor, source, i, &pair, progress, err);
    pair_fini(&pair);
    return rc;
}

static int unpack_all(struct lp_lpk_tensor *tensor, const struct lp_geometry *geometry,
                      struct lp_save_npy *save, uint8_t *buffer, struct lp_progress *progress,
                      struct lp_error *err)
{
    const uint64_t most = LP_LPK_BUFFER_BYTES / geometry->elem_bytes;
    int rc;

    for (uint64_t first = 0; first < geometry->n_elements;) {
        const uint64_t n = LP_MIN(most, geometry->n_elements - first);
        const size_t bytes = (size_t)(n * geometry->elem_bytes);

        LP_TRY(rc, lp_lpk_tensor_read(tensor, first, n, buffer, err));
        LP_TRY(rc, lp_save_npy_append(save, buffer, bytes, err));
        lp_progress_add(progress, bytes);
        first += n;
    }
    return lp_save_npy_commit(save, err);
}

int lp_lpk_tensor_unpack(struct lp_lpk_tensor *tensor, const char *path,
                         struct lp_progress *progress, struct lp_error *err)
{
    uint8_t *buffer = lp_mem_alloc(LP_LPK_BUFFER_BYTES);
    struct lp_save_npy save;
    struct lp_lpk_info info;
    int rc;

    if (buffer == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a buffer of %u bytes",
                            LP_LPK_BUFFER_BYTES);
    lp_lpk_tensor_info(tensor, &info);
    LP_TRY_GOTO(rc, lp_save_npy_open(&save, path, &info.geometry, err), done);
    rc = unpack_all(tensor, &info.geometry, &save, buffer, progress, err);
    lp_save_npy_close(&save);

done:
    lp_mem_free(buffer);
    return rc;
}
