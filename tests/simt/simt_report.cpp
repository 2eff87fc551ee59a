/* SPDX-License-Identifier: Apache-2.0 */
/* Failure reports: the sentence, the lanes concerned, where each of them stands. */
#include "simt_block.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace simt {

const char *op_name(Op op)
{
    static const char *const names[] = {
        "nothing", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync",
        "__ballot_sync", "__any_sync", "__all_sync", "__match_any_sync", "__reduce_add_sync",
        "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",
        "__reduce_xor_sync", "__syncwarp", "__syncthreads", "__nanosleep",
    };
    static_assert(sizeof names / sizeof *names == (size_t)Op::yield + 1, "one name for each Op");
    return names[(size_t)op];
}

void Block::describe(const Lane &lane) const
{
    fprintf(stderr, "  block (%u,%u,%u) thread (%u,%u,%u) warp %u lane %u: ", index.x, index.y,
            index.z, lane.tid.x, lane.tid.y, lane.tid.z, lane.warp->index, lane.id);
    if (lane.state == State::done) {
        fprintf(stderr, "has exited\n");
    } else if (lane.at.op == Op::none) {
        fprintf(stderr, "running\n");
    } else if (lane.at.op == Op::syncthreads) {
        fprintf(stderr, "at __syncthreads, %s:%d\n", lane.at.site.file, lane.at.site.line);
    } else {
        fprintf(stderr, "at %s(mask 0x%08x), %s:%d\n", op_name(lane.at.op), lane.at.mask,
                lane.at.site.file, lane.at.site.line);
    }
}

void Block::fail(const Lane *who, const Lane *other, const char *fmt, ...) const
{
    va_list ap;

    fprintf(stderr, "simt: ");
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    if (who) {
        describe(*who);
    }
    if (other) {
        describe(*other);
    }
    fflush(nullptr);
    if (config().exit_on_failure) {
        _Exit(3);
    }
    abort();
}

/* One line per distinct place: a block has up to 1024 threads, and most stand at the same one. */
void Block::report_deadlock() const
{
    const Lane *last = nullptr;
    unsigned shown = 0;

    fprintf(stderr, "simt: deadlock: every thread that is left waits for another one\n");
    for (unsigned i = 0; i < threads_ && shown < 40; i++) {
        const Lane &lane = lanes_[i];
        if (last && lane.state == last->state && lane.at.op == last->at.op &&
            lane.at.mask == last->at.mask && lane.at.site.line == last->at.site.line) {
            continue;
        }
        describe(lane);
        last = &lane;
        shown++;
    }
    fail(nullptr, nullptr, "(the first thread of each run of equal waits is shown)");
}

} /* namespace simt */
