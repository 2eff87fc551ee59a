/* SPDX-License-Identifier: Apache-2.0 */
/* One launch: blocks one after another, the warps of a block in turn, each until it has to wait.
 *
 * Lane: running -> at_warp (a collective) or at_block (a barrier) -> running ... -> done.
 * step() runs one instruction for the lanes of a warp that stand at the lowest program counter;
 * those that wait are counted and released when the last lane of their mask has come. */
#ifndef LP_TESTS_PTX_EXECUTION_HPP
#define LP_TESTS_PTX_EXECUTION_HPP

#include <vector>

#include "ptx.hpp"
#include "ptx_program.hpp"

namespace ptx {

enum class LaneState : uint8_t { running, at_warp, at_block, done };

struct PendingCopy { /* cp.async that has not been waited for */
    size_t dst;      /* offset in shared memory */
    uint64_t src;
    unsigned bytes, from_src, group;
};

struct Warp {
    unsigned first = 0;   /* thread number of lane 0 */
    unsigned present = 0; /* lanes */
    std::vector<uint64_t> registers; /* [register * 32 + lane] */
    std::vector<unsigned char> local; /* [lane * local_bytes + address] */
    int pc[32];
    LaneState state[32];
    unsigned barrier[32], barrier_threads[32]; /* 0 threads: all of the block */
    unsigned groups[32];                       /* cp.async groups committed */
    std::vector<PendingCopy> copies[32];
};

struct Place { /* where an address leads */
    unsigned char *memory;
    Space space; /* never generic */
    int range;   /* of Space::global: index of the allowed range */
};

class Execution {
  public:
    Execution(const Program &program, const Kernel &kernel,
              const std::vector<Machine::Range> &ranges, unsigned char fill);

    Counts run(Dim grid, Dim block, const std::vector<unsigned char> &params, size_t dynamic_bytes);

  private:
    /* ptx_execution.cpp */
    void run_block();
    void start_warp(Warp &w, unsigned first, unsigned threads);
    bool run_warp(Warp &w);
    bool release_barriers();
    void step(Warp &w, int pc, unsigned mask);
    unsigned guarded(const Warp &w, const Instruction &in, unsigned mask) const;
    void count(unsigned lanes);
    void branch(Warp &w, const Instruction &in, unsigned mask, unsigned on);
    void execute_lane(Warp &w, unsigned lane, const Instruction &in);
    void arithmetic(Warp &w, unsigned lane, const Instruction &in);
    void move_vector(Warp &w, unsigned lane, const Instruction &in);
    uint64_t read(const Warp &w, unsigned lane, const Operand &o, Type type) const;
    uint64_t special(const Warp &w, unsigned lane, Special s) const;
    void write(Warp &w, unsigned lane, const Operand &o, uint64_t v, unsigned bytes);
    Counts summary() const;
    [[noreturn]] void fail(const Warp &w, unsigned lane, const std::string &what) const;

    /* ptx_exchange.cpp */
    void arrive(Warp &w, const Instruction &in, unsigned mask, unsigned on);
    bool release_warp(Warp &w);
    unsigned member_mask(const Warp &w, unsigned lane, const Instruction &in) const;
    void exchange(Warp &w, const Instruction &in, unsigned mask);
    void shuffle(Warp &w, unsigned lane, const Instruction &in, unsigned mask,
                 const uint64_t values[32]);

    /* ptx_memory.cpp */
    bool is_memory(const Instruction &in) const;
    void access(Warp &w, const Instruction &in, unsigned on);
    uint64_t address(const Warp &w, unsigned lane, const Operand &o, Space space) const;
    Place locate(Warp &w, unsigned lane, Space space, uint64_t address, unsigned bytes, bool write);
    Place locate_global(Warp &w, unsigned lane, bool generic, uint64_t address, unsigned bytes,
                        bool write);
    unsigned char *locate_shared(const Warp &w, unsigned lane, uint64_t address, unsigned bytes);
    void load(Warp &w, unsigned lane, const Instruction &in, const unsigned char *from);
    void store(Warp &w, unsigned lane, const Instruction &in, unsigned char *to);
    void atomic(Warp &w, unsigned lane, const Instruction &in, unsigned char *at);
    void convert_address(Warp &w, unsigned lane, const Instruction &in);
    void async_copy(Warp &w, const Instruction &in, unsigned on);
    void async_wait(Warp &w, unsigned lane, unsigned keep, bool all);
    void count_request(const Instruction &in, const uint64_t address[32], const unsigned bytes[32],
                       const int range[32], unsigned mask, bool reads, bool writes);

    const Program &program_;
    const Kernel &kernel_;
    const std::vector<Machine::Range> &ranges_;
    std::vector<unsigned> by_address_; /* ranges_ in address order */
    unsigned char fill_;

    Dim grid_, dim_, block_;
    std::vector<unsigned char> params_, shared_;
    size_t static_shared_ = 0, dynamic_bytes_ = 0;
    std::vector<Warp> warps_;
    const Instruction *now_ = nullptr;
    int pc_ = 0;

    Counts counts_;
    std::vector<uint64_t> issued_, divergent_; /* per instruction */
};

} /* namespace ptx */

#endif
