/* SPDX-License-Identifier: Apache-2.0 */
/* What a client checks before it reads a chunk: docs/SHM.md, section 1. The daemon is played by a
 * link of this file, which hands out whatever memfd a test made. */
#include "client/session.h"
#include "codec/hash.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES LP_SHM_CHUNK_BYTES_MIN
#define EPOCH 77u
#define CHUNK 5u
#define RESIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/* What the daemon hands out. */
struct offer {
    struct lp_shm_chunk_header header;
    uint64_t file_bytes, said_bytes;
    int seals;
    bool bad_hash;
};

static const struct offer good = {
    .header = {.magic = LP_SHM_CHUNK_MAGIC,
               .version = LP_SHM_VERSION,
               .header_bytes = LP_SHM_CHUNK_HEADER_BYTES,
               .epoch = EPOCH,
               .pool = 0,
               .chunk = CHUNK,
               .chunk_bytes = BYTES},
    .file_bytes = BYTES,
    .said_bytes = BYTES,
    .seals = RESIZE_SEALS,
};

static int make_chunk(const struct offer *offer)
{
    struct lp_shm_chunk_header header = offer->header;
    const int fd = memfd_create("chunk", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    cr_assert(fd >= 0);
    header.hash = lp_codec_hash(&header, offsetof(struct lp_shm_chunk_header, hash));
    header.hash ^= offer->bad_hash;
    cr_assert_eq(ftruncate(fd, (off_t)offer->file_bytes), 0);
    cr_assert_eq(pwrite(fd, &header, sizeof(header), 0), (ssize_t)sizeof(header));
    cr_assert_eq(fcntl(fd, F_ADD_SEALS, offer->seals), 0);
    return fd;
}

static int hand_out(void *link, const uint32_t *chunks, size_t n, int *ret_fds, uint64_t *ret_bytes,
                    uint64_t deadline_ns, struct lp_error *err)
{
    const struct offer *offer = link;

    (void)deadline_ns;
    (void)err;
    cr_assert_eq(n, 1);
    cr_assert_eq(chunks[0], CHUNK);
    ret_fds[0] = make_chunk(offer);
    ret_bytes[0] = offer->said_bytes;
    return 0;
}

static void end_link(void *link, bool inherited)
{
    (void)link;
    (void)inherited;
}

static const struct lp_link_ops ops = {.chunks = hand_out, .close = end_link};

/* Map what the offer makes; word must stand in the sentence of a refusal. */
static void expect(struct offer offer, int code, const char *word)
{
    struct lp_session *session;
    struct lp_chunk_map *map = NULL;
    struct lp_error err = LP_ERROR_INIT;
    const uint32_t chunk = CHUNK;

    cr_assert_eq(lp_session_new(&ops, &offer, 1, &session, &err), 0);
    const int rc = lp_session_map_chunks(session, &chunk, 1, EPOCH, &map, UINT64_MAX, &err);
    cr_assert_eq(rc, code, "%d, expected %d: %s", rc, code, err.text);
    if (code == 0) {
        cr_assert_not_null(map);
        lp_session_unmap_chunk(session, map);
    } else {
        cr_assert_null(map);
        cr_assert_not_null(strstr(err.text, word), "%s", err.text);
    }
    cr_assert_null(session->chunks);
    lp_session_unref(session);
}

/* A chunk as docs/SHM.md draws it is mapped, with further seals or without. */
Test(client_session, maps_a_good_chunk)
{
    struct offer offer = good;

    expect(offer, 0, "");
    offer.seals |= F_SEAL_WRITE;
    expect(offer, 0, "");
    ASSERT_NO_LEAK();
}

/* Each seal against resizing is asked for: without one of them a read could meet a missing page. */
Test(client_session, refuses_what_can_be_resized)
{
    struct offer offer = good;

    offer.seals = 0;
    expect(offer, LP_EMAP, "not sealed");
    offer.seals = F_SEAL_SHRINK;
    expect(offer, LP_EMAP, "not sealed");
    offer.seals = F_SEAL_GROW;
    expect(offer, LP_EMAP, "not sealed");
    ASSERT_NO_LEAK();
}

/* The memfd must have the size that was said, within the limits of a chunk. */
Test(client_session, refuses_another_size)
{
    struct offer offer = good;

    offer.said_bytes = BYTES + 4096;
    expect(offer, LP_EMAP, "announced");
    offer.file_bytes = offer.said_bytes = BYTES / 2;
    expect(offer, LP_EMAP, "announced");
    offer = good;
    offer.file_bytes = BYTES - 4096;
    expect(offer, LP_EMAP, "announced");
    ASSERT_NO_LEAK();
}

/* Every field of the header is compared with what the control socket said. */
Test(client_session, refuses_another_header)
{
    struct offer offer = good;

    offer.header.magic[0] = 'X';
    expect(offer, LP_EMAP, "magic");
    offer = good;
    offer.header.version++;
    expect(offer, LP_EVERSION, "version");
    offer = good;
    offer.bad_hash = true;
    expect(offer, LP_EMAP, "hash");
    offer = good;
    offer.header.header_bytes++;
    expect(offer, LP_EMAP, "header says");
    offer = good;
    offer.header.pool++;
    expect(offer, LP_EMAP, "pool 1");
    offer = good;
    offer.header.chunk++;
    expect(offer, LP_EMAP, "chunk 6");
    offer = good;
    offer.header.chunk_bytes++;
    expect(offer, LP_EMAP, "bytes");
    offer = good;
    offer.header.epoch++;
    expect(offer, LP_ESTALE, "earlier daemon");
    ASSERT_NO_LEAK();
}
