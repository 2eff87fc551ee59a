/* SPDX-License-Identifier: Apache-2.0 */
/* Sectors of a request, bank conflicts, and printing. */
#include "ptx_counts.hpp"

#include <algorithm>

namespace ptx {

const char *class_name(Class c)
{
    static const char *const names[] = {"move", "integer", "floating", "global", "shared", "local",
                                        "atomic", "async", "exchange", "sync", "control"};
    static_assert(sizeof names / sizeof *names == (size_t)Class::COUNT, "one name for each Class");
    return names[(size_t)c];
}

static void sort_unique(std::vector<uint64_t> &v)
{
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

void count_global(Access &access, const uint64_t address[32], const unsigned bytes[32],
                  unsigned mask, std::vector<uint64_t> *ret_sectors)
{
    std::vector<uint64_t> sectors;
    std::vector<std::pair<uint64_t, unsigned>> ranges; /* address, bytes */
    uint64_t covered_to = 0;

    sectors.reserve(64);
    for (unsigned left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        if (bytes[l] == 0) {
            continue; /* cp.async that only writes zeros */
        }
        const uint64_t last = (address[l] + bytes[l] - 1) / SECTOR_BYTES;
        for (uint64_t s = address[l] / SECTOR_BYTES; s <= last; s++) {
            sectors.push_back(s);
        }
    }
    sort_unique(sectors);
    for (unsigned left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        ranges.emplace_back(address[l], bytes[l]);
    }
    std::sort(ranges.begin(), ranges.end());
    for (const auto &[begin, n] : ranges) {
        const uint64_t from = std::max(begin, covered_to), end = begin + n;
        if (end > from) {
            access.bytes += end - from;
            covered_to = end;
        }
    }
    access.requests++;
    access.sectors += sectors.size();
    if (ret_sectors) {
        *ret_sectors = std::move(sectors);
    }
}

/* One group of lanes: the fullest bank says how many passes. */
static uint64_t group_passes(const uint64_t address[32], unsigned mask, unsigned words)
{
    std::vector<uint64_t> distinct;
    unsigned per_bank[BANKS] = {};
    unsigned worst = 0;

    for (unsigned left = mask; left; left &= left - 1) {
        const uint64_t first = address[__builtin_ctz(left)] / 4;
        for (unsigned w = 0; w < words; w++) {
            distinct.push_back(first + w);
        }
    }
    sort_unique(distinct);
    for (const uint64_t word : distinct) {
        worst = std::max(worst, ++per_bank[word % BANKS]);
    }
    return worst;
}

void count_shared(Shared &shared, const uint64_t address[32], unsigned mask, unsigned bytes)
{
    const unsigned words = std::max(1u, bytes / 4), lanes = std::min(32u, 128u / (4 * words));
    std::vector<uint64_t> distinct;

    if (!mask) {
        return;
    }
    shared.requests++;
    for (unsigned first = 0; first < 32; first += lanes) {
        const unsigned group = lanes == 32 ? ~0u : ((1u << lanes) - 1) << first;
        shared.passes += group_passes(address, mask & group, words);
    }
    for (unsigned left = mask; left; left &= left - 1) {
        for (unsigned w = 0; w < words; w++) {
            distinct.push_back(address[__builtin_ctz(left)] / 4 + w);
        }
    }
    sort_unique(distinct);
    shared.passes_min += (distinct.size() + BANKS - 1) / BANKS;
}

uint64_t BufferCounts::distinct_sectors_read() const
{
    return (uint64_t)std::count_if(sector_reads.begin(), sector_reads.end(),
                                   [](uint32_t n) { return n != 0; });
}

uint64_t BufferCounts::most_reads_of_a_sector() const
{
    const auto most = std::max_element(sector_reads.begin(), sector_reads.end());
    return most == sector_reads.end() ? 0 : *most;
}

bool BufferCounts::read_exactly_once(const void *begin, const void *end) const
{
    const uint64_t first = (uint64_t)begin / SECTOR_BYTES;
    const uint64_t past = ((uint64_t)end + SECTOR_BYTES - 1) / SECTOR_BYTES;

    for (uint64_t i = 0; i < sector_reads.size(); i++) {
        const uint64_t sector = first_sector + i;
        const bool wanted = begin != end && sector >= first && sector < past;
        if (sector_reads[i] != (wanted ? 1u : 0u)) {
            return false;
        }
    }
    return begin == end || (first >= first_sector && past <= first_sector + sector_reads.size());
}

static void print_access(FILE *to, const char *name, const Access &a)
{
    if (a.requests) {
        fprintf(to,
                "  %-14s %10llu requests, %.2f sectors each, %llu bytes, %.0f%% of the sectors\n",
                name, (unsigned long long)a.requests, (double)a.sectors / (double)a.requests,
                (unsigned long long)a.bytes,
                100.0 * (double)a.bytes / ((double)SECTOR_BYTES * (double)a.sectors));
    }
}

void Counts::print(FILE *to) const
{
    fprintf(to, "  %llu warp instructions, %.1f lanes each, in %llu blocks:",
            (unsigned long long)warp_instructions,
            warp_instructions ? (double)thread_instructions / (double)warp_instructions : 0.0,
            (unsigned long long)blocks);
    for (size_t c = 0; c < by_class.size(); c++) {
        if (by_class[c]) {
            fprintf(to, " %s %llu", class_name((Class)c), (unsigned long long)by_class[c]);
        }
    }
    fprintf(to,
            "\n  branches %llu, divergent %llu; shuffles %llu, votes %llu, block barriers %llu\n",
            (unsigned long long)branches, (unsigned long long)divergent_branches,
            (unsigned long long)shuffles, (unsigned long long)votes,
            (unsigned long long)block_barriers);
    print_access(to, "read", read);
    print_access(to, "written", written);
    for (const BufferCounts &b : buffers) {
        print_access(to, (b.name + " read").c_str(), b.read);
        print_access(to, (b.name + " written").c_str(), b.written);
    }
    if (shared.requests) {
        fprintf(to, "  shared         %10llu requests, %.2f passes each, %.2f of the least\n",
                (unsigned long long)shared.requests,
                (double)shared.passes / (double)shared.requests,
                (double)shared.passes / (double)shared.passes_min);
    }
    for (size_t i = 0; i < lines.size() && i < 12 && lines[i].line; i++) {
        fprintf(to, "  %10llu  %s:%d%s\n", (unsigned long long)lines[i].warp_instructions,
                lines[i].file.c_str(), lines[i].line,
                lines[i].divergent_branches ? "  (divergent)" : "");
    }
}

} /* namespace ptx */
