/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks, warps, one step at a time, registers, branches and barriers. */
#include "ptx_execution.hpp"

#include <algorithm>

#include "ptx_alu.hpp"

namespace ptx {

static const uint64_t UNDEFINED = 0xDEADBEEFDEADBEEFull; /* a register before its first write */

Execution::Execution(const Program &program, const Kernel &kernel,
                     const std::vector<Machine::Range> &ranges, unsigned char fill)
    : program_(program), kernel_(kernel), ranges_(ranges), fill_(fill),
      issued_(kernel.code.size()), divergent_(kernel.code.size())
{
    for (unsigned i = 0; i < ranges.size(); i++) {
        const Machine::Range &r = ranges[i];
        const uint64_t first = r.begin / SECTOR_BYTES;
        const uint64_t past = (r.begin + r.bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
        by_address_.push_back(i);
        counts_.buffers.push_back({r.name, {}, {}, first, std::vector<uint32_t>(past - first)});
    }
    std::sort(by_address_.begin(), by_address_.end(),
              [&](unsigned a, unsigned b) { return ranges[a].begin < ranges[b].begin; });
}

Counts Execution::run(Dim grid, Dim block, const std::vector<unsigned char> &params,
                      size_t dynamic_bytes)
{
    grid_ = grid;
    dim_ = block;
    params_ = params;
    dynamic_bytes_ = dynamic_bytes;
    static_shared_ = (kernel_.shared_bytes + 15) / 16 * 16;
    for (block_.z = 0; block_.z < grid.z; block_.z++) {
        for (block_.y = 0; block_.y < grid.y; block_.y++) {
            for (block_.x = 0; block_.x < grid.x; block_.x++) {
                run_block();
            }
        }
    }
    return summary();
}

void Execution::start_warp(Warp &w, unsigned first, unsigned threads)
{
    w.first = first;
    w.present = threads - first >= 32 ? ~0u : (1u << (threads - first)) - 1;
    w.registers.assign((size_t)kernel_.registers * 32, UNDEFINED);
    w.local.assign(kernel_.local_bytes * 32, fill_);
    for (unsigned l = 0; l < 32; l++) {
        w.pc[l] = 0;
        w.groups[l] = 0;
        w.copies[l].clear();
        w.state[l] = w.present >> l & 1 ? LaneState::running : LaneState::done;
    }
}

void Execution::run_block()
{
    const unsigned threads = dim_.x * dim_.y * dim_.z;

    shared_.assign(static_shared_ + dynamic_bytes_, fill_);
    warps_.resize((threads + 31) / 32);
    for (unsigned i = 0; i < warps_.size(); i++) {
        start_warp(warps_[i], i * 32, threads);
    }
    counts_.blocks++;
    for (;;) {
        bool moved = false;
        for (Warp &w : warps_) {
            moved |= run_warp(w);
        }
        moved |= release_barriers();
        const bool all_done = std::all_of(warps_.begin(), warps_.end(), [](const Warp &w) {
            return std::all_of(w.state, w.state + 32,
                               [](LaneState s) { return s == LaneState::done; });
        });
        if (all_done) {
            return;
        }
        if (!moved) {
            fail(warps_[0], 0, "deadlock: the threads that are left wait at different barriers");
        }
    }
}

bool Execution::release_barriers()
{
    constexpr unsigned BARRIERS = 16;
    unsigned waiting[BARRIERS] = {}, wanted[BARRIERS] = {}, alive = 0;
    bool moved = false;

    for (const Warp &w : warps_) {
        for (unsigned l = 0; l < 32; l++) {
            alive += w.state[l] != LaneState::done;
            if (w.state[l] == LaneState::at_block) {
                waiting[w.barrier[l]]++;
                wanted[w.barrier[l]] = w.barrier_threads[l];
            }
        }
    }
    for (unsigned id = 0; id < BARRIERS; id++) {
        if (waiting[id] == 0 || waiting[id] != (wanted[id] ? wanted[id] : alive)) {
            continue;
        }
        counts_.block_barriers++;
        moved = true;
        for (Warp &w : warps_) {
            for (unsigned l = 0; l < 32; l++) {
                if (w.state[l] == LaneState::at_block && w.barrier[l] == id) {
                    w.state[l] = LaneState::running;
                }
            }
        }
    }
    return moved;
}

/* Until no lane of the warp can go on; false when none could at all. */
bool Execution::run_warp(Warp &w)
{
    bool moved = false;

    for (;;) {
        int pc = INT32_MAX;
        unsigned mask = 0;
        for (unsigned l = 0; l < 32; l++) {
            if (w.state[l] != LaneState::running || w.pc[l] > pc) {
                continue;
            }
            mask = w.pc[l] < pc ? 0 : mask;
            pc = w.pc[l];
            mask |= 1u << l;
        }
        if (mask) {
            step(w, pc, mask);
            moved = true;
        } else if (!release_warp(w)) {
            return moved;
        }
    }
}

unsigned Execution::guarded(const Warp &w, const Instruction &in, unsigned mask) const
{
    unsigned on = 0;

    if (in.guard < 0) {
        return mask;
    }
    for (unsigned left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        const bool p = w.registers[(size_t)in.guard * 32 + l] & 1;
        on |= (unsigned)(p != in.guard_negated) << l;
    }
    return on;
}

void Execution::count(unsigned lanes)
{
    issued_[(size_t)pc_]++;
    counts_.thread_instructions += (unsigned)__builtin_popcount(lanes);
}

void Execution::step(Warp &w, int pc, unsigned mask)
{
    const Instruction &in = kernel_.code[(size_t)pc];

    now_ = &in;
    pc_ = pc;
    const unsigned on = guarded(w, in, mask);
    if ((in.cls == Class::exchange && in.op != Op::activemask) || in.op == Op::bar_warp) {
        arrive(w, in, mask, on); /* counted when the lanes have met */
        return;
    }
    count(on);
    if (in.op == Op::bra || in.op == Op::brx) {
        branch(w, in, mask, on);
        return;
    }
    for (unsigned left = mask; left; left &= left - 1) {
        w.pc[__builtin_ctz(left)]++;
    }
    if (is_memory(in)) {
        access(w, in, on);
        return;
    }
    for (unsigned left = on; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        if (in.op == Op::activemask) {
            write(w, l, in.dst, mask, 4);
        } else {
            execute_lane(w, l, in);
        }
    }
}

void Execution::branch(Warp &w, const Instruction &in, unsigned mask, unsigned on)
{
    bool diverges = on != 0 && on != mask;
    int first_target = -1;

    for (unsigned left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        if (!(on >> l & 1)) {
            w.pc[l]++;
            continue;
        }
        if (in.op == Op::bra) {
            w.pc[l] = in.target;
            continue;
        }
        const uint64_t i = read(w, l, in.src[0], U32);
        if (i >= in.targets.size()) {
            fail(w, l, "branch index out of range");
        }
        w.pc[l] = in.targets[i];
        diverges |= first_target >= 0 && first_target != w.pc[l];
        first_target = w.pc[l];
    }
    counts_.branches++;
    counts_.divergent_branches += diverges;
    divergent_[(size_t)pc_] += diverges;
}

void Execution::execute_lane(Warp &w, unsigned lane, const Instruction &in)
{
    switch (in.op) {
    case Op::ret:
        if (!w.copies[lane].empty()) {
            fail(w, lane, "the thread exits with cp.async copies it never waited for");
        }
        w.state[lane] = LaneState::done;
        break;
    case Op::bar:
        w.barrier[lane] = (unsigned)read(w, lane, in.src[0], U32);
        w.barrier_threads[lane] = in.sources > 1 ? (unsigned)read(w, lane, in.src[1], U32) : 0;
        if (w.barrier[lane] > 15) {
            fail(w, lane, "barrier number above 15");
        }
        w.state[lane] = LaneState::at_block;
        break;
    case Op::fence: break; /* accesses are in order already */
    case Op::trap: fail(w, lane, "trap");
    case Op::cp_commit: w.groups[lane]++; break;
    case Op::cp_wait_group:
        async_wait(w, lane, (unsigned)read(w, lane, in.src[0], U32), false);
        break;
    case Op::cp_wait_all: async_wait(w, lane, 0, true); break;
    case Op::cvta: convert_address(w, lane, in); break;
    default: arithmetic(w, lane, in); break;
    }
}

void Execution::arithmetic(Warp &w, unsigned lane, const Instruction &in)
{
    uint64_t s[4] = {};

    if (in.op == Op::mov && (in.src[0].kind == Operand::VEC || in.dst.kind == Operand::VEC)) {
        move_vector(w, lane, in);
        return;
    }
    for (int i = 0; i < in.sources; i++) {
        s[i] = read(w, lane, in.src[i], in.from[i]);
    }
    if (in.op == Op::setp) {
        const bool p = compare(in, s[0], s[1]);
        const auto combined = [&](bool x) {
            return in.combine == Combine::and_  ? x && s[2]
                   : in.combine == Combine::or_ ? x || s[2]
                   : in.combine == Combine::xor_ ? x != (s[2] != 0)
                                                 : x;
        };
        write(w, lane, in.dst, combined(p), 1);
        write(w, lane, in.dst2, combined(!p), 1);
        return;
    }
    try {
        write(w, lane, in.dst, compute(in, s), in.result.bytes);
    } catch (const Error &e) {
        fail(w, lane, e.what());
    }
}

/* mov.b64 {lo, hi}, x and mov.b64 x, {lo, hi}. */
void Execution::move_vector(Warp &w, unsigned lane, const Instruction &in)
{
    const bool pack = in.src[0].kind == Operand::VEC;
    const std::vector<Operand> &parts = pack ? in.src[0].parts : in.dst.parts;
    const unsigned bytes = in.type.bytes / (unsigned)parts.size();
    const Type part{Kind::bits, (uint8_t)bytes};

    if (!pack) {
        const uint64_t v = read(w, lane, in.src[0], in.type);
        for (size_t i = 0; i < parts.size(); i++) {
            write(w, lane, parts[i], v >> (8 * bytes * i), bytes);
        }
        return;
    }
    uint64_t v = 0;
    for (size_t i = 0; i < parts.size(); i++) {
        v |= read(w, lane, parts[i], part) << (8 * bytes * i);
    }
    write(w, lane, in.dst, v, in.type.bytes);
}

uint64_t Execution::read(const Warp &w, unsigned lane, const Operand &o, Type type) const
{
    switch (o.kind) {
    case Operand::REG: {
        const uint64_t v = o.reg < 0 ? 0 : w.registers[(size_t)o.reg * 32 + lane];
        return extend(o.negate ? ~v : v, type);
    }
    case Operand::IMM: return extend((uint64_t)o.imm, type);
    case Operand::SPECIAL: return special(w, lane, o.special);
    default: return 0;
    }
}

uint64_t Execution::special(const Warp &w, unsigned lane, Special s) const
{
    const unsigned t = w.first + lane;
    const uint32_t lower = (1u << lane) - 1, self = 1u << lane;

    switch (s) {
    case Special::tid_x: return t % dim_.x;
    case Special::tid_y: return t / dim_.x % dim_.y;
    case Special::tid_z: return t / dim_.x / dim_.y;
    case Special::ntid_x: return dim_.x;
    case Special::ntid_y: return dim_.y;
    case Special::ntid_z: return dim_.z;
    case Special::ctaid_x: return block_.x;
    case Special::ctaid_y: return block_.y;
    case Special::ctaid_z: return block_.z;
    case Special::nctaid_x: return grid_.x;
    case Special::nctaid_y: return grid_.y;
    case Special::nctaid_z: return grid_.z;
    case Special::laneid: return lane;
    case Special::lanemask_lt: return lower;
    case Special::lanemask_le: return lower | self;
    case Special::lanemask_gt: return (uint32_t)~(lower | self);
    case Special::lanemask_ge: return (uint32_t)~lower;
    case Special::lanemask_eq: return self;
    case Special::warpid: return w.first / 32;
    case Special::nwarpid: return warps_.size();
    case Special::dynamic_smem_size: return dynamic_bytes_;
    case Special::total_smem_size: return shared_.size();
    default: return 32; /* WARP_SZ */
    }
}

void Execution::write(Warp &w, unsigned lane, const Operand &o, uint64_t v, unsigned bytes)
{
    if (o.kind == Operand::REG && o.reg >= 0) {
        const Type type{Kind::bits, (uint8_t)bytes};
        w.registers[(size_t)o.reg * 32 + lane] = extend(v, type);
    }
}

Counts Execution::summary() const
{
    Counts c = counts_;
    std::map<std::pair<int, int>, SourceLine> lines;

    for (size_t i = 0; i < issued_.size(); i++) {
        const Instruction &in = kernel_.code[i];
        if (!issued_[i]) {
            continue;
        }
        c.warp_instructions += issued_[i];
        c.by_class[(size_t)in.cls] += issued_[i];
        c.by_opcode[in.text] += issued_[i];
        SourceLine &line = lines[{in.file, in.line}];
        const auto file = program_.files.find(in.file);
        line.file = file == program_.files.end() ? "" : file->second;
        line.line = in.line;
        line.warp_instructions += issued_[i];
        line.divergent_branches += divergent_[i];
    }
    for (const auto &entry : lines) {
        c.lines.push_back(entry.second);
    }
    std::stable_sort(c.lines.begin(), c.lines.end(), [](const SourceLine &a, const SourceLine &b) {
        return a.warp_instructions > b.warp_instructions;
    });
    return c;
}

void Execution::fail(const Warp &w, unsigned lane, const std::string &what) const
{
    std::string s = "ptx: " + kernel_.name + " block (" + std::to_string(block_.x) + "," +
                    std::to_string(block_.y) + "," + std::to_string(block_.z) + ") thread " +
                    std::to_string(w.first + lane);
    if (now_) {
        s += ", instruction " + std::to_string(pc_) + " '" + now_->text + "'";
        const auto file = program_.files.find(now_->file);
        if (now_->line && file != program_.files.end()) {
            s += " at " + file->second + ":" + std::to_string(now_->line);
        }
    }
    throw Error(s + ": " + what);
}

} /* namespace ptx */
