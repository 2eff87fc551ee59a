/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduling: start the lanes of a block, hand over from one to the next, notice the end. */
#include "simt_block.hpp"

#include <cstdio>

namespace simt {

static const unsigned MAX_THREADS = 1024; /* per block: CUDA's limit on every device */

void Block::prepare(dim3 grid_dim, dim3 block_dim, size_t dynamic_bytes, void (*call)(void *),
                    void *arg)
{
    grid = grid_dim;
    dim = block_dim;
    dynamic_bytes_ = dynamic_bytes;
    call_ = call;
    call_arg_ = arg;
    const uint64_t threads = (uint64_t)dim.x * dim.y * dim.z;
    if (threads == 0 || threads > MAX_THREADS) {
        fail(nullptr, nullptr, "a block of %llu threads", (unsigned long long)threads);
    }
    threads_ = (unsigned)threads;
    if (capacity_ < threads_) {
        capacity_ = threads_;
        lanes_.reset(new Lane[capacity_]);
        warps_.reset(new Warp[(capacity_ + 31) / 32]);
    }
    stacks_.reserve(capacity_, config().stack_bytes);
}

void Block::start_lane(unsigned i)
{
    Lane &lane = lanes_[i];

    lane.block = this;
    lane.warp = &warps_[i / 32];
    lane.id = i % 32;
    lane.tid = {i % dim.x, i / dim.x % dim.y, i / (dim.x * dim.y)};
    lane.warp->present |= 1u << lane.id;
    lane.copies.clear();
    context_prepare(lane.context, stacks_.bottom(i), stacks_.bytes(), &Block::lane_entry);
#if SIMT_TSAN
    char label[64];
    snprintf(label, sizeof label, "block (%u,%u,%u) warp %u lane %u", index.x, index.y, index.z,
             i / 32, i % 32);
    lane.context.tsan_fiber = __tsan_create_fiber(0);
    __tsan_set_fiber_name(lane.context.tsan_fiber, label);
#endif
    set_ready(lane);
}

void Block::run(uint3 block_index)
{
    Untracked untracked;
    index = block_index;
    alive_ = threads_;
    at_barrier_ = ready_warps_ = yielded_ = 0;
    chooser_ = Chooser(config().order, config().seed * 0x9E3779B97F4A7C15ull + index.x +
                                           ((uint64_t)index.y << 20) + ((uint64_t)index.z << 40));
    shared_.reset(config().shared_limit_bytes);
    stacks_.renew();
    for (unsigned w = 0; w * 32 < threads_; w++) {
        warps_[w] = Warp{};
        warps_[w].index = w;
        warps_[w].lanes = &lanes_[w * 32];
    }
    for (unsigned i = 0; i < threads_; i++) {
        start_lane(i);
    }
#if SIMT_TSAN
    main_.tsan_fiber = __tsan_get_current_fiber();
#endif
    first_entry_ = true;
    run_next(nullptr);
    self = nullptr;
#if SIMT_TSAN
    for (unsigned i = 0; i < threads_; i++) {
        __tsan_destroy_fiber(lanes_[i].context.tsan_fiber);
    }
#endif
    stats.blocks++;
}

void Block::finish()
{
    order_acquire(&end_token_);
}

void Block::set_ready(Lane &lane)
{
    lane.state = State::ready;
    lane.at.op = Op::none;
    lane.warp->ready |= 1u << lane.id;
    ready_warps_ |= 1u << lane.warp->index;
}

/* Suspend from (NULL: the host thread) and go on with a runnable lane, or with the host thread when
 * none is left. Returns when from is chosen again. */
void Block::run_next(Lane *from, bool dying)
{
    Context &old = from ? from->context : main_;

    stats.switches++;
    if (!ready_warps_ && yielded_) {
        wake_yielded();
    }
    if (!ready_warps_) {
        if (alive_) {
            report_deadlock();
        }
        context_switch(old, main_, dying);
        return;
    }
    Warp &warp = warps_[chooser_.pick(ready_warps_)];
    Lane &to = warp.lanes[chooser_.pick(warp.ready)];
    warp.ready &= ~(1u << to.id);
    if (!warp.ready) {
        ready_warps_ &= ~(1u << warp.index);
    }
    if (&to != from) {
        self = &to;
        context_switch(old, to.context, dying);
    }
}

void Block::lane_entry()
{
    Lane &me = *self;
    Block &block = *me.block;

    context_entered(block.first_entry_ ? &block.main_ : nullptr);
    {
        Untracked untracked;
        block.first_entry_ = false;
    }
    block.call_(block.call_arg_);
    order_release(&block.end_token_);
    block.lane_exit(me);
}

void Block::lane_exit(Lane &me)
{
    Untracked::begin(); /* ended by the last switch */
    me.at.op = Op::none;
    if (me.copies.in_flight()) {
        fail(&me, nullptr, "the thread exits with cp.async copies it never waited for");
    }
    me.state = State::done;
    for (const Group &group : me.warp->groups) {
        if (group.op != Op::none && (group.mask >> me.id & 1)) {
            fail(&me, &me.warp->lanes[__builtin_ctz(group.arrived)],
                 "a lane exits while others of its mask wait for it");
        }
    }
    me.warp->done |= 1u << me.id;
    alive_--;
    release_barrier();
    run_next(&me, true);
    __builtin_trap(); /* a dead fiber is never resumed */
}

/* A lane that yields waits until nobody else can run: in a fixed order it would otherwise be chosen
 * again at once, and a spin loop would starve the lane that it waits for. */
void Block::yield(Site site)
{
    Untracked untracked;
    self->at = Meeting{Op::yield, 0, 0, 0, 32, site};
    self->state = State::waiting;
    yielded_++;
    run_next(self);
}

void Block::wake_yielded()
{
    yielded_ = 0;
    for (unsigned i = 0; i < threads_; i++) {
        if (lanes_[i].state == State::waiting && lanes_[i].at.op == Op::yield) {
            set_ready(lanes_[i]);
        }
    }
}

void *Block::shared_variable(const void *key, size_t bytes, size_t align)
{
    Untracked untracked;
    void *p = shared_.find(key);

    if (p) {
        return p;
    }
    const size_t used = shared_.used_with(bytes), limit = config().shared_limit_bytes;
    if (used > limit) {
        fail(self, nullptr, "the block needs %zu bytes of shared memory, the limit is %zu", used,
             limit);
    }
    if (!shared_.has_room(bytes)) {
        fail(self, nullptr, "too many shared variables in one block");
    }
    if (stats.shared_bytes < used) {
        stats.shared_bytes = used;
    }
    return shared_.add(key, bytes, align < 16 ? 16 : align, config().fill);
}

void *Block::dynamic_shared()
{
    return shared_variable(this, dynamic_bytes_, 128);
}

} /* namespace simt */
