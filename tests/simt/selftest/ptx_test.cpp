/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX executor's own rules on small hand-written texts: what it counts, stops and refuses. */
#include "ptx.hpp"
#include "ptx_alu.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

unsigned failures;

void expect(bool ok, const std::string &what)
{
    if (!ok) {
        printf("FAILED: %s\n", what.c_str());
        failures++;
    }
}

/* An entry k(u64 in, u64 out) around a body; thread number in %r0, addresses in %rd0 and %rd1. */
std::string entry(const std::string &body, const std::string &module = "")
{
    return ".version 8.0\n.target sm_80\n.address_size 64\n" + module +
           ".visible .entry k(.param .u64 k_0, .param .u64 k_1)\n{\n"
           ".reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>;\n"
           ".reg .f32 %f<8>;\n"
           "ld.param.u64 %rd0, [k_0]; ld.param.u64 %rd1, [k_1]; mov.u32 %r0, %tid.x;\n" +
           body + "\nret;\n}\n";
}

struct Bench { /* one warp over two buffers of 4 KiB */
    alignas(128) uint32_t in[1024];
    alignas(128) uint32_t out[1024];
    ptx::Counts counts;

    Bench()
    {
        for (uint32_t i = 0; i < 1024; i++) {
            in[i] = i * 2654435761u;
            out[i] = 0;
        }
    }
    /* The error's text; empty when it ran. */
    std::string run(const std::string &text, unsigned threads = 32, size_t dynamic = 0)
    {
        try {
            const ptx::Module module(text);
            ptx::Machine machine(module);
            machine.allow("in", static_cast<const void *>(in), sizeof in);
            machine.allow("out", static_cast<void *>(out), sizeof out);
            counts = machine.launch("k", {1}, {threads}, {(const void *)in, (void *)out}, dynamic);
        } catch (const ptx::Error &e) {
            return e.what();
        }
        return "";
    }
};

void expect_error(const std::string &text, const char *part)
{
    Bench b;
    const std::string error = b.run(text);
    expect(error.find(part) != std::string::npos, "'" + error + "' should say '" + part + "'");
}

void refuses_what_it_does_not_know()
{
    expect_error(entry("tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0, %r1}];"), "tex.2d");
    expect_error(entry("add.sat.s32 %r1, %r0, %r0;"), ".sat");
    expect_error(entry("mov.u64 %rd2, %clock64;"), "%clock64");
    expect_error(entry("mov.u32 %r99, %r0;"), "unknown name %r99");
    expect_error(entry("call.uni f, ();"), "call.uni");
    expect_error(entry("add.rz.f32 %f0, %f0, %f0;"), ".rz");
    expect_error(entry("ld.global.v4.u32 {%r1, %r2}, [%rd0];"), "vector");
    expect_error(entry("bra $L_nowhere;"), "no label");
    expect_error(entry("cvt.rz.f32.s32 %f0, %r0;"), "rounding");
    expect_error(entry("mbarrier.init.shared.b64 [%r0], 1;"), "mbarrier");
    expect_error(entry("atom.global.add.u32 %r1, [%rd1];"), "operands");
}

void stops_broken_rules()
{
    expect_error(entry("mul.wide.u32 %rd2, %r0, 300; add.s64 %rd3, %rd0, %rd2;\n"
                       "ld.global.u32 %r1, [%rd3];"),
                 "outside every buffer; 'out' has 4096 bytes, this is byte");
    expect_error(entry("ld.global.u32 %r1, [%rd0+2];"), "misaligned");
    expect_error(entry("st.global.u32 [%rd0], %r0;"), "may only be read");
    expect_error(entry("setp.lt.u32 %p1, %r0, 16;\n"
                       "@!%p1 bar.sync 0;\n@%p1 shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;"),
                 "never meet");
    expect_error(entry("shfl.sync.idx.b32 %r1, %r0, 31, 31, 65535;"), "does not name the lane");
    expect_error(entry("setp.lt.u32 %p1, %r0, 16; @%p1 ret;\nbar.warp.sync -1;"), "has exited");
    expect_error(entry("cp.async.ca.shared.global [64], [%rd0], 4; cp.async.commit_group;",
                       ".shared .align 16 .b8 s[64];\n"), "shared memory");
    expect_error(entry("mov.u32 %r1, s;\ncp.async.ca.shared.global [%r1], [%rd0], 4;",
                       ".shared .align 16 .b8 s[64];\n"), "never waited for");
    expect_error(entry("mov.u32 %r1, 0; div.u32 %r2, %r0, %r1;"), "division by zero");
    expect_error(entry("trap;"), "trap");
}

void counts_sectors()
{
    Bench b;
    const std::string address = "mul.wide.u32 %rd2, %r0, 4; add.s64 %rd3, %rd0, %rd2;\n";

    expect(b.run(entry(address + "ld.global.nc.u32 %r1, [%rd3];")).empty(), "runs");
    expect(b.counts.read.requests == 1 && b.counts.read.sectors == 4 && b.counts.read.bytes == 128,
           "32 words are four sectors");
    expect(b.counts.buffers[0].read_exactly_once(b.in, b.in + 32), "those four, once");
    expect(!b.counts.buffers[0].read_exactly_once(b.in, b.in + 40), "and not five");
    expect(!b.counts.buffers[0].read_exactly_once(b.in, b.in + 8), "and not one");

    b.run(entry(address + "ld.global.u32 %r1, [%rd3+4];"));
    expect(b.counts.read.sectors == 5, "one word further touches five");
    b.run(
        entry("mul.wide.u32 %rd2, %r0, 32; add.s64 %rd3, %rd0, %rd2; ld.global.u32 %r1, [%rd3];"));
    expect(b.counts.read.sectors == 32 && b.counts.read.bytes == 128, "a stride of 32 bytes");
    b.run(entry("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0];"));
    expect(b.counts.read.sectors == 1 && b.counts.read.bytes == 16, "a broadcast");
    b.run(entry("mul.wide.u32 %rd2, %r0, 16; add.s64 %rd3, %rd1, %rd2;\n"
                "st.global.v4.u32 [%rd3], {%r0, %r0, %r0, %r0};"));
    expect(b.counts.written.sectors == 16 && b.counts.written.bytes == 512 && b.out[127] == 31,
           "a store of 16 bytes per lane");
    b.run(entry(address + "ld.global.u32 %r1, [%rd3]; ld.global.u32 %r2, [%rd3];"));
    expect(b.counts.buffers[0].most_reads_of_a_sector() == 2, "a sector read twice");
    expect(!b.counts.buffers[0].read_exactly_once(b.in, b.in + 32), "is not read once");
}

void counts_async_copies()
{
    Bench b;
    const std::string body = "mov.u32 %r1, s; shl.b32 %r2, %r0, 4; add.s32 %r1, %r1, %r2;\n"
                             "cvt.u64.u32 %rd2, %r2; add.s64 %rd3, %rd0, %rd2;\n"
                             "cp.async.cg.shared.global [%r1], [%rd3], 16;\n"
                             "cp.async.commit_group;\n";
    const std::string store = "ld.shared.u32 %r3, [%r1+4]; mul.wide.u32 %rd4, %r0, 4;\n"
                              "add.s64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r3;";
    const std::string module = ".shared .align 16 .b8 s[512];\n";

    expect(b.run(entry(body + "cp.async.wait_group 0;\n" + store, module)).empty(), "runs");
    expect(b.counts.async_read.sectors == 16 &&
               b.counts.buffers[0].read_exactly_once(b.in, b.in + 128),
           "512 bytes are sixteen sectors");
    expect(b.out[3] == b.in[13], "the bytes arrive");
    b.run(entry(body + store + "cp.async.wait_all;", module));
    expect(b.out[3] == 0xA5A5A5A5u, "not before the wait");
}

void counts_bank_conflicts()
{
    Bench b;
    const std::string module = ".shared .align 16 .b8 s[4096];\n";
    const auto stride = [&](const char *bytes, const char *load) {
        b.run(
            entry(std::string("mov.u32 %r1, s; mad.lo.s32 %r1, %r0, ") + bytes + ", %r1;\n" + load,
                  module));
        return b.counts.shared;
    };

    expect(stride("4", "ld.shared.u32 %r2, [%r1];").passes == 1, "neighbouring words");
    expect(stride("8", "ld.shared.u32 %r2, [%r1];").passes == 2, "every second word");
    expect(stride("128", "ld.shared.u32 %r2, [%r1];").passes == 32, "one bank for all");
    expect(stride("0", "ld.shared.u32 %r2, [%r1];").passes == 1, "a broadcast");
    expect(stride("16", "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1];").passes == 4,
           "16 bytes each");
    expect(b.counts.shared.passes_min == 4, "which is the least");
    expect(stride("4", "st.shared.u8 [%r1], %r0;").passes == 1, "bytes in separate words");
}

void counts_divergence()
{
    Bench b;

    expect(b.run(entry("setp.lt.u32 %p1, %r0, 16; @%p1 bra $A;\nadd.s32 %r1, %r0, 1;\n"
                       "$A: add.s32 %r2, %r0, 2; bra.uni $B;\n$B: add.s32 %r3, %r0, 3;")).empty(),
           "runs");
    expect(b.counts.branches == 2 && b.counts.divergent_branches == 1,
           "one of two branches diverges");
    /* ld.param x2, mov, setp, bra, add (half), add, bra, add, ret */
    expect(b.counts.warp_instructions == 10 && b.counts.thread_instructions == 9 * 32,
           "instructions");
    expect(b.counts.by_opcode.at("add.s32") == 3 && b.counts.of(ptx::Class::control) == 3,
           "classes");
    b.run(entry(
        "setp.ge.u32 %p1, %r0, 0; @%p1 bra $A;\nadd.s32 %r1, %r0, 1;\n$A: add.s32 %r2, %r0, 2;"));
    expect(b.counts.divergent_branches == 0, "a branch that all lanes take");
    b.run(entry("mov.u32 %r1, 5;"), 40);
    expect(b.counts.warp_instructions == 10 && b.counts.blocks == 1, "a short second warp");
}

void runs_what_kernels_use()
{
    Bench b;
    const std::string save = "mul.wide.u32 %rd4, %r0, 4; add.s64 %rd5, %rd1, %rd4;\n"
                             "st.global.u32 [%rd5], %r9;";

    b.run(entry("setp.eq.u32 %p1, %r0, 3; vote.sync.ballot.b32 %r9, %p1, -1;\n" + save));
    expect(b.out[7] == 8, "ballot");
    b.run(entry("redux.sync.add.s32 %r9, %r0, -1;\n" + save));
    expect(b.out[7] == 496, "redux");
    b.run(entry("shfl.sync.up.b32 %r9|%p2, %r0, 1, 0, -1; selp.b32 %r9, %r9, 99, %p2;\n" + save));
    expect(b.out[0] == 99 && b.out[9] == 8, "shuffle with its predicate");
    b.run(entry("mov.b64 %rd6, {%r0, %r0}; bfi.b64 %rd6, 5, %rd6, 32, 8;\n"
                "mov.b64 {%r1, %r9}, %rd6;\n" + save));
    expect(b.out[4] == 5 && b.out[0] == 5, "pack, insert, unpack");
    b.run(entry("mov.b32 %r1, 0xF0F0; bfe.s32 %r9, %r1, 12, 4;\n" + save));
    expect(b.out[0] == 0xFFFFFFFFu, "signed field");
    b.run(entry("lop3.b32 %r9, %r0, 7, 1, 0xEA; prmt.b32 %r9, %r9, 0, 0x4440;\n" + save));
    expect(b.out[8] == 1 && b.out[6] == 7, "lop3 and prmt");
    b.run(entry(
        "atom.global.cas.b64 %rd7, [%rd1+2048], 0, 17; atom.global.min.u64 %rd8, [%rd1+2048], 9;\n"
        "red.global.add.u64 [%rd1+2056], 4294967297;"));
    expect(b.out[512] == 9 && b.out[514] == 32 && b.out[515] == 32, "64-bit atomics");
    b.run(entry(
        "mov.u64 %rd6, t; cvta.const.u64 %rd6, %rd6;\n"
        "and.b32 %r1, %r0, 3; mul.wide.u32 %rd7, %r1, 2;\n"
        "add.s64 %rd6, %rd6, %rd7; ld.u16 %rs1, [%rd6]; cvt.u32.u16 %r9, %rs1;\n" +
            save,
        ".const .align 2 .u16 t[4] = {3, 14, 0x9f, 26};\n"));
    expect(b.out[6] == 0x9f && b.out[7] == 26, "a constant table through a generic address");
    b.run(entry("cvta.shared.u64 %rd6, 0; mov.u32 %r1, d; st.shared.u32 [%r1], 41; bar.sync 0;\n"
                "ld.shared.u32 %r9, [%r1]; add.u32 %r9, %r9, 1;\n" + save,
                ".extern .shared .align 16 .b8 d[];\n"), 64, 64);
    expect(b.out[63] == 42, "dynamic shared memory");
    b.run(entry("cvt.rn.f32.u32 %f0, %r0; fma.rn.f32 %f1, %f0, 0f40000000, 0f3F800000;\n"
                "cvt.rzi.u32.f32 %r9, %f1;\n" + save));
    expect(b.out[5] == 11, "floats");
    b.run(entry("cvt.rn.f32.u32 %f0, %r0; cvt.rn.bf16.f32 %rs1, %f0; mov.b32 %r9, {%rs1, %rs1};\n" +
                save));
    expect(b.out[1] == 0x3f803f80u, "bf16");
}

void converts_halves()
{
    for (uint32_t h = 0; h < 65536; h++) {
        const float v = ptx::half_to_float((uint16_t)h);
        const uint16_t back = ptx::float_to_half(v);
        expect(std::isnan(v) ? back == 0x7fff : back == h, "half " + std::to_string(h));
    }
    expect(ptx::float_to_half(65519.0) == 0x7bff && ptx::float_to_half(65520.0) == 0x7c00,
           "largest");
    expect(ptx::float_to_half(std::ldexp(1.0, -25)) == 0, "half of the least ties to even");
    expect(ptx::float_to_half(std::ldexp(3.0, -26)) == 1, "three quarters of it round up");
    expect(ptx::float_to_bf16(1.00390625f) == 0x3f80 && ptx::float_to_bf16(1.01171875f) == 0x3f82,
           "bf16 ties to even");
}

} /* namespace */

int main()
{
    refuses_what_it_does_not_know();
    stops_broken_rules();
    counts_sectors();
    counts_async_copies();
    counts_bank_conflicts();
    counts_divergence();
    runs_what_kernels_use();
    converts_halves();
    printf("PTX executor: %u checks failed\n", failures);
    return failures != 0;
}
