/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores, atomics and cp.async: where addresses lead, what moves, what it costs. */
#include <algorithm>

#include "ptx_alu.hpp"
#include "ptx_execution.hpp"

namespace ptx {

bool Execution::is_memory(const Instruction &in) const
{
    return in.op == Op::ld || in.op == Op::st || in.op == Op::atom || in.op == Op::red ||
           in.op == Op::cp_async;
}

/* Shared and local addresses are 32 bits wide; wrapping around is the hardware's business. */
uint64_t Execution::address(const Warp &w, unsigned lane, const Operand &o, Space space) const
{
    uint64_t a = read(w, lane, o, B64);
    if (o.kind == Operand::REG) {
        a += (uint64_t)o.imm;
    }
    return space == Space::shared || space == Space::local ? a & 0xffffffffu : a;
}

unsigned char *Execution::locate_shared(const Warp &w, unsigned lane, uint64_t a, unsigned bytes)
{
    const bool dynamic = a >= DYNAMIC_SHARED;
    const uint64_t offset = dynamic ? a - DYNAMIC_SHARED : a;
    const size_t limit = dynamic ? dynamic_bytes_ : kernel_.shared_bytes;

    if (offset + bytes > limit) {
        fail(w, lane, std::string("access at ") + std::to_string(offset) + " of " +
                          std::to_string(limit) + " bytes of " + (dynamic ? "dynamic" : "static") +
                          " shared memory");
    }
    return shared_.data() + (dynamic ? static_shared_ : 0) + offset;
}

Place Execution::locate_global(Warp &w, unsigned lane, bool generic, uint64_t a, unsigned bytes,
                               bool write)
{
    const auto after = std::upper_bound(
        by_address_.begin(), by_address_.end(), a,
        [&](uint64_t x, unsigned range) { return x < ranges_[range].begin; });

    if (after != by_address_.begin()) {
        const unsigned i = *(after - 1);
        const Machine::Range &r = ranges_[i];
        if (a - r.begin <= r.bytes && bytes <= r.bytes - (a - r.begin)) {
            if (write && !r.writable) {
                fail(w, lane, "write to '" + r.name + "', which may only be read");
            }
            return {reinterpret_cast<unsigned char *>(a), Space::global, (int)i};
        }
    }
    const uint64_t shared = (uint64_t)shared_.data();
    const uint64_t local = (uint64_t)w.local.data() + lane * kernel_.local_bytes;
    if (generic && a >= shared && a + bytes <= shared + shared_.size()) {
        return {reinterpret_cast<unsigned char *>(a), Space::shared, -1};
    }
    if (generic && a >= local && a + bytes <= local + kernel_.local_bytes) {
        return {reinterpret_cast<unsigned char *>(a), Space::local, -1};
    }
    const uint64_t params = (uint64_t)params_.data(); /* of __grid_constant__ parameters */
    if (generic && !write && a >= params && a + bytes <= params + params_.size()) {
        return {reinterpret_cast<unsigned char *>(a), Space::param, -1};
    }
    std::string where;
    for (const Machine::Range &r : ranges_) { /* name the neighbour: most mistakes are near */
        if (a + 4096 >= r.begin && a < r.begin + r.bytes + 4096) {
            where = "; '" + r.name + "' has " + std::to_string(r.bytes) + " bytes, this is byte " +
                    std::to_string((int64_t)(a - r.begin));
        }
    }
    fail(w, lane, "access of " + std::to_string(bytes) + " bytes outside every buffer" + where);
}

Place Execution::locate(Warp &w, unsigned lane, Space space, uint64_t a, unsigned bytes, bool write)
{
    if (a % bytes) {
        fail(w, lane, "misaligned access of " + std::to_string(bytes) + " bytes");
    }
    switch (space) {
    case Space::shared: return {locate_shared(w, lane, a, bytes), Space::shared, -1};
    case Space::local:
        if (a + bytes > kernel_.local_bytes) {
            fail(w, lane, "access past local memory");
        }
        return {&w.local[lane * kernel_.local_bytes + a], Space::local, -1};
    case Space::param:
        if (write || a + bytes > params_.size()) {
            fail(w, lane, "access past the parameters");
        }
        return {&params_[a], Space::param, -1};
    default: return locate_global(w, lane, space == Space::generic, a, bytes, write);
    }
}

void Execution::load(Warp &w, unsigned lane, const Instruction &in, const unsigned char *from)
{
    for (unsigned i = 0; i < in.vec; i++) {
        uint64_t v = 0;
        memcpy(&v, from + (size_t)i * in.type.bytes, in.type.bytes);
        /* A register may be wider than the load; readers cut to their own type. */
        write(w, lane, in.vec == 1 ? in.dst : in.dst.parts[i], extend(v, in.type), 8);
    }
}

void Execution::store(Warp &w, unsigned lane, const Instruction &in, unsigned char *to)
{
    for (unsigned i = 0; i < in.vec; i++) {
        const uint64_t v = read(w, lane, in.vec == 1 ? in.src[1] : in.src[1].parts[i], in.type);
        memcpy(to + (size_t)i * in.type.bytes, &v, in.type.bytes);
    }
}

void Execution::atomic(Warp &w, unsigned lane, const Instruction &in, unsigned char *at)
{
    uint64_t old = 0;

    memcpy(&old, at, in.type.bytes);
    const uint64_t b = read(w, lane, in.src[1], in.type);
    const uint64_t c = in.sources > 2 ? read(w, lane, in.src[2], in.type) : 0;
    const uint64_t next = atomic_result(in, extend(old, in.type), b, c);
    memcpy(at, &next, in.type.bytes);
    if (in.op == Op::atom) {
        write(w, lane, in.dst, old, in.type.bytes);
    }
}

void Execution::access(Warp &w, const Instruction &in, unsigned on)
{
    const bool reads = in.op != Op::st, writes = in.op != Op::ld;
    const unsigned bytes = in.type.bytes * in.vec;
    uint64_t address_of[32] = {};
    unsigned bytes_of[32] = {}, global = 0, shared = 0;
    int range[32] = {};

    if (in.op == Op::cp_async) {
        async_copy(w, in, on);
        return;
    }
    for (unsigned left = on; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        const uint64_t a = address(w, l, in.src[0], in.space);
        const Place place = locate(w, l, in.space, a, bytes, writes);
        address_of[l] = a;
        bytes_of[l] = bytes;
        range[l] = place.range;
        global |= (unsigned)(place.space == Space::global && in.space != Space::constant) << l;
        if (place.space == Space::shared) {
            shared |= 1u << l;
            address_of[l] = (uint64_t)(place.memory - shared_.data());
        }
        if (in.op == Op::ld) {
            load(w, l, in, place.memory);
        } else if (in.op == Op::st) {
            store(w, l, in, place.memory);
        } else {
            atomic(w, l, in, place.memory);
        }
    }
    count_shared(counts_.shared, address_of, shared, bytes);
    count_request(in, address_of, bytes_of, range, global, reads, writes);
}

/* One warp-wide request, and each buffer's part of it. */
void Execution::count_request(const Instruction &in, const uint64_t address_of[32],
                              const unsigned bytes[32], const int range[32], unsigned mask,
                              bool reads, bool writes)
{
    Access whole;

    if (!mask) {
        return;
    }
    count_global(whole, address_of, bytes, mask, nullptr);
    const auto add = [](Access &to, const Access &a) {
        to.requests += a.requests;
        to.sectors += a.sectors;
        to.bytes += a.bytes;
    };
    if (reads) {
        add(counts_.read, whole);
    }
    if (writes) {
        add(counts_.written, whole);
    }
    if (in.op == Op::cp_async) {
        add(counts_.async_read, whole);
    }
    while (mask) {
        const int r = range[__builtin_ctz(mask)];
        BufferCounts &buffer = counts_.buffers[(size_t)r];
        unsigned part = 0;
        for (unsigned left = mask; left; left &= left - 1) {
            const unsigned l = (unsigned)__builtin_ctz(left);
            part |= (unsigned)(range[l] == r) << l;
        }
        std::vector<uint64_t> sectors;
        Access one;
        count_global(one, address_of, bytes, part, &sectors);
        if (reads) {
            add(buffer.read, one);
            for (const uint64_t s : sectors) {
                buffer.sector_reads[s - buffer.first_sector]++;
            }
        }
        if (writes) {
            add(buffer.written, one);
        }
        mask &= ~part;
    }
}

/* Shared and local addresses are offsets; generic ones are addresses of the host. */
void Execution::convert_address(Warp &w, unsigned lane, const Instruction &in)
{
    uint64_t a = read(w, lane, in.src[0], B64);
    uint64_t base = 0;

    if (in.space == Space::shared) {
        /* Dynamic addresses begin at DYNAMIC_SHARED and stand behind the static ones. */
        const uint64_t memory = (uint64_t)shared_.data(), split = memory + static_shared_;
        if (in.to) {
            a = a >= split ? a - split + DYNAMIC_SHARED : a - memory;
        } else {
            a = a >= DYNAMIC_SHARED ? a - DYNAMIC_SHARED + split : a + memory;
        }
    } else if (in.space == Space::local) {
        base = (uint64_t)w.local.data() + lane * kernel_.local_bytes;
        a = in.to ? a - base : a + base;
    } else if (in.space == Space::param) {
        base = (uint64_t)params_.data();
        a = in.to ? a - base : a + base;
    }
    write(w, lane, in.dst, a, 8);
}

/* The target is undefined until the wait; the source is read there, too. */
void Execution::async_copy(Warp &w, const Instruction &in, unsigned on)
{
    const unsigned bytes = (unsigned)in.src[2].imm;
    uint64_t src_of[32] = {};
    unsigned bytes_of[32] = {};
    int range[32] = {};
    unsigned reading = 0;

    for (unsigned left = on; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        if (bytes != 4 && bytes != 8 && bytes != 16) {
            fail(w, l, "cp.async of " + std::to_string(bytes) + " bytes");
        }
        const uint64_t given = in.sources > 3 ? read(w, l, in.src[3], U32) : bytes;
        const unsigned from_src = (unsigned)std::min<uint64_t>(bytes, given);
        const uint64_t dst = address(w, l, in.src[0], Space::shared);
        const Place to = locate(w, l, Space::shared, dst, bytes, true);
        src_of[l] = address(w, l, in.src[1], Space::global);
        bytes_of[l] = from_src;
        memset(to.memory, fill_, bytes);
        if (from_src) {
            if (src_of[l] % bytes) {
                fail(w, l, "misaligned source of cp.async");
            }
            range[l] = locate_global(w, l, false, src_of[l], from_src, false).range;
            reading |= 1u << l;
        }
        w.copies[l].push_back({(size_t)(to.memory - shared_.data()), src_of[l], bytes, from_src,
                               w.groups[l]});
    }
    count_request(in, src_of, bytes_of, range, reading, true, false);
}

void Execution::async_wait(Warp &w, unsigned lane, unsigned keep, bool all)
{
    std::vector<PendingCopy> &copies = w.copies[lane];
    size_t kept = 0;

    for (const PendingCopy &c : copies) {
        if (!all && c.group + keep >= w.groups[lane]) {
            copies[kept++] = c;
            continue;
        }
        memcpy(&shared_[c.dst], reinterpret_cast<const void *>(c.src), c.from_src);
        memset(&shared_[c.dst + c.from_src], 0, c.bytes - c.from_src);
    }
    copies.resize(kept);
}

} /* namespace ptx */
