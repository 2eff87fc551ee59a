/* SPDX-License-Identifier: Apache-2.0 */
/* What the PTX executor counts. */
#ifndef LP_TESTS_PTX_COUNTS_HPP
#define LP_TESTS_PTX_COUNTS_HPP

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace ptx {

constexpr unsigned SECTOR_BYTES = 32, BANKS = 32;

enum class Class : uint8_t { /* of instructions; each is in exactly one */
    move,     /* mov, cvta, ld.param, ld.const */
    integer,  /* arithmetic, logic, compare, select, convert */
    floating,
    global,   /* ld, st of global or generic addresses */
    shared,
    local,
    atomic,   /* atom, red, in any space */
    async,    /* cp.async, its commit and wait */
    exchange, /* shfl, vote, match, redux */
    sync,     /* barriers and fences */
    control,  /* branches, ret */
    COUNT
};
const char *class_name(Class c);

struct Access { /* of warp-wide requests to global memory */
    uint64_t requests = 0;
    uint64_t sectors = 0; /* distinct 32-byte sectors, summed over requests */
    uint64_t bytes = 0;   /* distinct bytes asked for, summed over requests */
};

struct BufferCounts { /* one range that Machine::allow() was given */
    std::string name;
    Access read, written;
    uint64_t first_sector = 0;          /* address / 32 of sector_reads[0] */
    std::vector<uint32_t> sector_reads; /* requests that read each sector, in address order */

    uint64_t distinct_sectors_read() const;
    uint64_t most_reads_of_a_sector() const;
    /* True when the sectors that [begin, end) touches (addresses) were read by exactly one request
     * each, and no other sector was read. */
    bool read_exactly_once(const void *begin, const void *end) const;
};

struct Shared { /* requests to shared memory, cp.async's writes into it not included */
    uint64_t requests = 0;
    uint64_t passes = 0;     /* what bank conflicts make of them */
    uint64_t passes_min = 0; /* what the distinct words would need without any */
};

struct SourceLine {
    std::string file;
    int line = 0; /* 0: nvcc ran without -lineinfo */
    uint64_t warp_instructions = 0, divergent_branches = 0;
};

struct Counts { /* of one launch */
    uint64_t blocks = 0;
    uint64_t warp_instructions = 0;   /* issued once per warp, whatever lanes take part */
    uint64_t thread_instructions = 0; /* lanes whose guard held, summed */
    uint64_t branches = 0, divergent_branches = 0; /* divergent: some active lanes go, some stay */
    uint64_t shuffles = 0, votes = 0, block_barriers = 0;
    Access read, written; /* all global requests; atomics are in both */
    Access async_read;    /* the part of read that cp.async made */
    Shared shared;
    std::array<uint64_t, (size_t)Class::COUNT> by_class{};
    std::map<std::string, uint64_t> by_opcode; /* full text, "ld.global.v4.u32" */
    std::vector<SourceLine> lines;             /* most instructions first */
    std::vector<BufferCounts> buffers;         /* in the order of allow() */

    uint64_t of(Class c) const { return by_class[(size_t)c]; }
    void print(FILE *to) const;
};

/* Distinct sectors and bytes of one warp-wide request. Lanes of mask ask for bytes[l] at
 * address[l]; sectors (may be NULL) gets the distinct sector numbers. */
void count_global(Access &access, const uint64_t address[32], const unsigned bytes[32],
                  unsigned mask, std::vector<uint64_t> *sectors);

/* Passes of one warp-wide request of `bytes` per lane. Lanes are served in groups of 128 bytes in
 * all; within a group each pass serves one word per bank; equal words are broadcast. The model of
 * the CUDA C++ Best Practices Guide, "Shared memory and memory banks". */
void count_shared(Shared &shared, const uint64_t address[32], unsigned mask, unsigned bytes);

} /* namespace ptx */

#endif
