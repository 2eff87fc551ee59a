/* SPDX-License-Identifier: Apache-2.0 */
/* One running block: its lanes and warps, their meetings, and the reports when a rule is broken.
 *
 * Lane: ready -> running -> waiting (at a collective or barrier) -> ready ... -> done.
 * Happy path: prepare() once, run() per block; run() starts the first lane, each lane that stops
 * hands over to the next runnable one, and the last to end returns to run().
 * Failures: fail() prints a sentence, the lanes concerned and their source lines, and ends the
 * process (abort, or status 3 with exit_on_failure): a broken kernel has no state to go on from.
 * Owners: a host thread owns one Block; lanes, warps, stacks and shared memory belong to it. */
#ifndef LP_TESTS_SIMT_BLOCK_HPP
#define LP_TESTS_SIMT_BLOCK_HPP

#include <cstdint>
#include <memory>

#include "simt_async_copy.hpp"
#include "simt_config.hpp"
#include "simt_context.hpp"
#include "simt_cuda_types.hpp"
#include "simt_order.hpp"
#include "simt_shared.hpp"

namespace simt {

struct Site { /* where in the kernel a lane stands */
    const char *file;
    int line;
};

/* A last parameter of every device function that meets or checks: the caller's own place. */
#define SIMT_SITE ::simt::Site site = {__builtin_FILE(), __builtin_LINE()}

enum class Op : uint8_t {
    none,
    shfl, shfl_up, shfl_down, shfl_xor,
    ballot, any, all, match_any, reduce_add, reduce_min, reduce_max, reduce_and, reduce_or,
    reduce_xor,
    syncwarp, syncthreads, yield
};

struct Meeting { /* what a lane brings to a collective */
    Op op = Op::none;
    unsigned mask = 0;
    uint64_t value = 0;
    int arg = 0, width = 32; /* of shuffles: lane, distance or xor mask; segment */
    Site site{};
};

struct Warp;
class Block;

enum class State : uint8_t { ready, waiting, done };

struct Lane {
    Context context;
    uint3 tid{};
    unsigned id = 0; /* within the warp */
    Warp *warp = nullptr;
    Block *block = nullptr;
    State state = State::ready;
    Meeting at;
    uint64_t result = 0;
    AsyncCopies copies;
};

struct Group { /* lanes of one mask that have begun to gather at a collective */
    unsigned mask = 0, arrived = 0;
    Op op = Op::none; /* none: free */
    Site site{};
    char *token = nullptr;
};

struct Warp {
    Lane *lanes = nullptr;
    unsigned index = 0, present = 0, ready = 0, done = 0; /* bit masks of lanes, but for index */
    Group groups[8]; /* more disjoint or nested masks at a time than any kernel of ours uses */
};

/* The lane that runs now, on this host thread. */
inline thread_local Lane *self = nullptr;

/* Order tokens: addresses that TSan hangs happens-before on. A ring, so after 8192 meetings one is
 * taken again and orders a little more than it should, which can only hide a race, never invent
 * one. */
class Tokens {
  public:
    char *take() { return &ring_[(next_++ % COUNT) * 8]; }

  private:
    static constexpr size_t COUNT = 8192;
    char ring_[COUNT * 8] = {};
    size_t next_ = 0;
};

class Block {
  public:
    Stats stats;
    dim3 grid, dim;
    uint3 index{};

    /* call(arg) is the kernel with its parameters; dynamic_bytes of shared memory come first. */
    void prepare(dim3 grid_dim, dim3 block_dim, size_t dynamic_bytes, void (*call)(void *),
                 void *arg);
    void run(uint3 block_index);
    void finish(); /* orders all lanes before what the host thread does next */

    /* Of the running lane. */
    uint64_t meet(const Meeting &meeting);
    void barrier(Site site);
    void yield(Site site);
    void *shared_variable(const void *key, size_t bytes, size_t align);
    void *dynamic_shared();
    SharedMemory &shared_memory() { return shared_; }

    [[noreturn]] void fail(const Lane *who, const Lane *other, const char *fmt, ...) const
        __attribute__((format(printf, 4, 5)));

  private:
    static void lane_entry();
    void lane_exit(Lane &me);
    void start_lane(unsigned i);
    void set_ready(Lane &lane);
    void run_next(Lane *from, bool dying = false);
    void check_meeting(const Lane &me) const;
    Group &join_group(Lane &me);
    void complete(Warp &warp, Op op, unsigned mask);
    uint64_t outcome(Warp &warp, Lane &lane, unsigned votes);
    uint64_t shuffle_source(Warp &warp, Lane &lane);
    void release_barrier();
    void wake_yielded();
    void describe(const Lane &lane) const;
    [[noreturn]] void report_deadlock() const;

    unsigned threads_ = 0, capacity_ = 0, alive_ = 0, ready_warps_ = 0, yielded_ = 0;
    std::unique_ptr<Lane[]> lanes_;
    std::unique_ptr<Warp[]> warps_;
    Stacks stacks_;
    Context main_;
    bool first_entry_ = true;
    Chooser chooser_;
    SharedMemory shared_;
    size_t dynamic_bytes_ = 0;
    void (*call_)(void *) = nullptr;
    void *call_arg_ = nullptr;
    unsigned at_barrier_ = 0;
    Site barrier_site_{};
    char *barrier_token_ = nullptr;
    Tokens tokens_;
    char end_token_ = 0;
};

const char *op_name(Op op);
bool same_site(const Site &a, const Site &b);

} /* namespace simt */

#endif
