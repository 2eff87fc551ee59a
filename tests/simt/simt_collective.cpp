/* SPDX-License-Identifier: Apache-2.0 */
/* Warp collectives and the block barrier: who has to come, what each lane gets. */
#include "simt_block.hpp"

#include <cstring>

namespace simt {

bool same_site(const Site &a, const Site &b)
{
    return a.line == b.line && (a.file == b.file || !strcmp(a.file, b.file));
}

static bool is_shuffle(Op op)
{
    return op >= Op::shfl && op <= Op::shfl_xor;
}

void Block::check_meeting(const Lane &me) const
{
    const Warp &warp = *me.warp;
    const unsigned mask = me.at.mask, width = (unsigned)me.at.width;

    if (!(mask >> me.id & 1)) {
        fail(&me, nullptr, "the mask does not name the calling lane");
    }
    if (mask & ~warp.present) {
        fail(&me, nullptr, "the mask names lanes that the block does not have (0x%08x)",
             mask & ~warp.present);
    }
    if (mask & warp.done) {
        fail(&me, &warp.lanes[__builtin_ctz(mask & warp.done)],
             "the mask names lanes that have exited (0x%08x)", mask & warp.done);
    }
    if (is_shuffle(me.at.op) && (width == 0 || width > 32 || (width & (width - 1)))) {
        fail(&me, nullptr, "a shuffle of width %d (1, 2, 4, 8, 16 or 32)", me.at.width);
    }
}

/* The group of the lane's mask, made by the first lane to arrive. */
Group &Block::join_group(Lane &me)
{
    Warp &warp = *me.warp;
    Group *group = nullptr, *unused = nullptr;

    for (Group &g : warp.groups) {
        if (g.op == Op::none) {
            unused = unused ? unused : &g;
        } else if (g.mask == me.at.mask) {
            group = &g;
        }
    }
    if (!group) {
        if (!unused) {
            fail(&me, nullptr, "too many collectives of different masks are open in one warp");
        }
        group = unused;
        *group = Group{me.at.mask, 0, me.at.op, me.at.site, tokens_.take()};
    }
    if (group->op != me.at.op ||
        (config().same_site && !same_site(group->site, me.at.site))) {
        fail(&me, &warp.lanes[__builtin_ctz(group->arrived)],
             "diverged lanes meet at different collectives of one mask");
    }
    return *group;
}

uint64_t Block::meet(const Meeting &meeting)
{
    Lane &me = *self;
    const bool orders_memory = meeting.op == Op::syncwarp; /* shuffles and votes do not, in CUDA */
    Group *group;
    char *token;

    {
        Untracked untracked;
        me.at = meeting;
        check_meeting(me);
        group = &join_group(me);
        token = group->token;
    }
    if (orders_memory) {
        order_release(token);
    }
    {
        Untracked untracked;
        me.state = State::waiting;
        group->arrived |= 1u << me.id;
        if (group->arrived == group->mask) {
            complete(*me.warp, group->op, group->mask);
            group->op = Op::none;
        }
        run_next(&me);
    }
    if (orders_memory) {
        order_acquire(token);
    }
    return me.result;
}

void Block::complete(Warp &warp, Op op, unsigned mask)
{
    unsigned votes = 0;

    stats.shuffles += is_shuffle(op);
    stats.votes += op > Op::shfl_xor && op < Op::syncwarp;
    stats.syncwarps += op == Op::syncwarp;
    for (unsigned left = mask; left; left &= left - 1) {
        const Lane &lane = warp.lanes[__builtin_ctz(left)];
        votes |= (unsigned)(lane.at.value != 0) << lane.id;
    }
    for (unsigned left = mask; left; left &= left - 1) {
        Lane &lane = warp.lanes[__builtin_ctz(left)];
        lane.result = outcome(warp, lane, votes);
    }
    for (unsigned left = mask; left; left &= left - 1) {
        set_ready(warp.lanes[__builtin_ctz(left)]);
    }
}

/* The lane whose value a shuffle reads: PTX ISA, "shfl.sync", with CUDA's width for the segment. */
uint64_t Block::shuffle_source(Warp &warp, Lane &lane)
{
    const int id = (int)lane.id, width = lane.at.width, arg = lane.at.arg & 31;
    const int base = id & -width;
    int source = id;

    switch (lane.at.op) {
    case Op::shfl:
        source = base + (arg & (width - 1));
        break;
    case Op::shfl_up:
        source = id - base - arg < 0 ? id : id - arg;
        break;
    case Op::shfl_down:
        source = id - base + arg >= width ? id : id + arg;
        break;
    default:
        source = (id ^ arg) >= base + width ? id : id ^ arg;
        break;
    }
    if (!(lane.at.mask >> source & 1)) {
        fail(&lane, &warp.lanes[source], "shuffle reads lane %d, which is not in the mask", source);
    }
    return warp.lanes[source].at.value;
}

static uint32_t reduce(Op op, const Warp &warp, unsigned mask)
{
    uint32_t total = (uint32_t)warp.lanes[__builtin_ctz(mask)].at.value;

    for (unsigned left = mask & (mask - 1); left; left &= left - 1) {
        const uint32_t v = (uint32_t)warp.lanes[__builtin_ctz(left)].at.value;
        switch (op) {
        case Op::reduce_add: total += v; break;
        case Op::reduce_min: total = v < total ? v : total; break;
        case Op::reduce_max: total = v > total ? v : total; break;
        case Op::reduce_and: total &= v; break;
        case Op::reduce_or: total |= v; break;
        default: total ^= v; break;
        }
    }
    return total;
}

static unsigned matching_lanes(const Warp &warp, const Lane &lane)
{
    unsigned same = 0;

    for (unsigned left = lane.at.mask; left; left &= left - 1) {
        const Lane &other = warp.lanes[__builtin_ctz(left)];
        same |= (unsigned)(other.at.value == lane.at.value) << other.id;
    }
    return same;
}

uint64_t Block::outcome(Warp &warp, Lane &lane, unsigned votes)
{
    switch (lane.at.op) {
    case Op::shfl:
    case Op::shfl_up:
    case Op::shfl_down:
    case Op::shfl_xor:
        return shuffle_source(warp, lane);
    case Op::ballot:
        return votes;
    case Op::any:
        return votes != 0;
    case Op::all:
        return votes == lane.at.mask;
    case Op::match_any:
        return matching_lanes(warp, lane);
    case Op::syncwarp:
        return 0;
    default:
        return reduce(lane.at.op, warp, lane.at.mask);
    }
}

void Block::barrier(Site site)
{
    Lane &me = *self;
    char *token;

    {
        Untracked untracked;
        me.at = Meeting{Op::syncthreads, 0, 0, 0, 32, site};
        if (at_barrier_ == 0) {
            barrier_site_ = site;
            barrier_token_ = tokens_.take();
        } else if (config().same_site && !same_site(barrier_site_, site)) {
            fail(&me, nullptr,
                 "threads of one block meet at different __syncthreads (the other one is %s:%d)",
                 barrier_site_.file, barrier_site_.line);
        }
        token = barrier_token_;
    }
    order_release(token);
    {
        Untracked untracked;
        me.state = State::waiting;
        at_barrier_++;
        release_barrier();
        run_next(&me);
    }
    order_acquire(token);
}

/* Exited threads are not waited for, as on the hardware. */
void Block::release_barrier()
{
    if (at_barrier_ == 0 || at_barrier_ != alive_) {
        return;
    }
    at_barrier_ = 0;
    stats.syncthreads++;
    for (unsigned i = 0; i < threads_; i++) {
        if (lanes_[i].state == State::waiting && lanes_[i].at.op == Op::syncthreads) {
            set_ready(lanes_[i]);
        }
    }
}

} /* namespace simt */
