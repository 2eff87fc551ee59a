/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that lanes of a warp meet at: shuffles, votes, match, redux, bar.warp. */
#include "ptx_alu.hpp"
#include "ptx_execution.hpp"

namespace ptx {

unsigned Execution::member_mask(const Warp &w, unsigned lane, const Instruction &in) const
{
    const int at = in.op == Op::bar_warp ? 0 : in.op == Op::shfl ? 3 : 1;
    return (unsigned)read(w, lane, in.src[at], B32);
}

void Execution::arrive(Warp &w, const Instruction &in, unsigned mask, unsigned on)
{
    for (unsigned left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        if (!(on >> l & 1)) {
            w.pc[l]++;
            continue;
        }
        const unsigned members = member_mask(w, l, in);
        if (!(members >> l & 1)) {
            fail(w, l, "the member mask does not name the lane itself");
        }
        w.state[l] = LaneState::at_warp;
    }
}

/* Complete one collective whose lanes have all come. False: nobody waits at one. */
bool Execution::release_warp(Warp &w)
{
    int stuck = -1;

    for (unsigned l = 0; l < 32; l++) {
        if (w.state[l] != LaneState::at_warp) {
            continue;
        }
        pc_ = w.pc[l];
        now_ = &kernel_.code[(size_t)pc_];
        const unsigned members = member_mask(w, l, *now_);
        unsigned here = 0;
        for (unsigned left = members; left; left &= left - 1) {
            const unsigned j = (unsigned)__builtin_ctz(left);
            if (w.state[j] == LaneState::done && w.present >> j & 1) {
                fail(w, l, "lane " + std::to_string(j) + " of the member mask has exited");
            }
            const bool came = w.state[j] == LaneState::at_warp && w.pc[j] == w.pc[l] &&
                              member_mask(w, j, *now_) == members;
            here |= (unsigned)came << j;
        }
        if (here == (members & w.present)) {
            exchange(w, *now_, here);
            return true;
        }
        stuck = (int)l;
    }
    if (stuck < 0) {
        return false;
    }
    /* A block barrier cannot free the others: it waits for the lanes that stand here. */
    pc_ = w.pc[stuck];
    now_ = &kernel_.code[(size_t)pc_];
    fail(w, (unsigned)stuck, "the lanes of its member mask never meet here");
}

static uint64_t reduce(const Instruction &in, const uint64_t values[32], unsigned mask)
{
    uint64_t total = values[__builtin_ctz(mask)];

    for (unsigned left = mask & (mask - 1); left; left &= left - 1) {
        total = atomic_result(in, total, values[__builtin_ctz(left)], 0);
        total = extend(total, in.type);
    }
    return total;
}

static uint64_t vote(const Instruction &in, unsigned votes, unsigned mask)
{
    switch (in.exchange) {
    case Exchange::ballot: return votes;
    case Exchange::any: return votes != 0;
    case Exchange::all: return votes == mask;
    default: return votes == 0 || votes == mask; /* uni */
    }
}

static unsigned lanes_with(uint64_t value, const uint64_t values[32], unsigned mask)
{
    unsigned same = 0;
    for (unsigned left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        same |= (unsigned)(values[l] == value) << l;
    }
    return same;
}

/* PTX ISA, "shfl.sync": segment mask and clamp come packed in the third operand. */
void Execution::shuffle(Warp &w, unsigned lane, const Instruction &in, unsigned mask,
                        const uint64_t values[32])
{
    const unsigned b = (unsigned)read(w, lane, in.src[1], B32) & 31;
    const unsigned c = (unsigned)read(w, lane, in.src[2], B32);
    const unsigned segment = c >> 8 & 31, clamp = c & 31;
    const int most = (int)((lane & segment) | (clamp & ~segment)), least = (int)(lane & segment);
    int from = 0;
    bool in_range = false;

    switch (in.exchange) {
    case Exchange::up:
        from = (int)lane - (int)b;
        in_range = from >= most;
        break;
    case Exchange::down:
        from = (int)(lane + b);
        in_range = from <= most;
        break;
    case Exchange::bfly:
        from = (int)(lane ^ b);
        in_range = from <= most;
        break;
    default:
        from = least | (int)(b & ~segment);
        in_range = from <= most;
        break;
    }
    const unsigned source = in_range ? (unsigned)from : lane;
    if (!(mask >> source & 1)) {
        fail(w, lane,
             "shuffle reads lane " + std::to_string(source) + ", which is not in the mask");
    }
    write(w, lane, in.dst, values[source], 4);
    write(w, lane, in.dst2, in_range, 1);
}

void Execution::exchange(Warp &w, const Instruction &in, unsigned mask)
{
    uint64_t values[32] = {}, reduced = 0;
    unsigned votes = 0;

    count(mask);
    counts_.shuffles += in.op == Op::shfl;
    counts_.votes += in.op == Op::vote || in.op == Op::match || in.op == Op::redux;
    for (unsigned left = mask; left && in.op != Op::bar_warp; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        values[l] = read(w, l, in.src[0], in.from[0]);
        votes |= (unsigned)(values[l] != 0) << l;
    }
    if (in.op == Op::redux) {
        reduced = reduce(in, values, mask);
    }
    for (unsigned left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        switch (in.op) {
        case Op::shfl: shuffle(w, l, in, mask, values); break;
        case Op::vote: write(w, l, in.dst, vote(in, votes, mask), in.result.bytes); break;
        case Op::match: write(w, l, in.dst, lanes_with(values[l], values, mask), 4); break;
        case Op::redux: write(w, l, in.dst, reduced, 4); break;
        default: break;
        }
        w.state[l] = LaneState::running;
        w.pc[l]++;
    }
}

} /* namespace ptx */
