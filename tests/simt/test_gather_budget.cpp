/* SPDX-License-Identifier: Apache-2.0 */
/* What the gather kernels cost, counted exactly in nvcc's PTX, against tests/simt/budget.csv.
 *
 *     test_gather_budget FILE.ptx BUDGET.csv NVCC-VERSION [PTXAS-LOG]
 *     test_gather_budget --print FILE.ptx NVCC-VERSION [PTXAS-LOG]      a budget to check in
 *
 * The budget names the nvcc that it was made with. Counts are exact, so any difference is an error
 * with that version; with another one the differences are printed and the test is waived. */
#include "gather_ptx.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

namespace {

using Budget = std::map<std::string, std::string>; /* "case,figure" -> value */

struct Case {
    const char *name;
    uint32_t dtype, codec, word_bytes, layout, align;
    uint64_t row;
    samples_kind kind;
    double bar = 0;                     /* warp instructions per byte of output; 0: none */
    uint32_t distinct = 0, percent = 0; /* as in TableSpec */
    uint32_t values = 0;                /* how codec sparse must keep its values */
    bool counts = false;
};

constexpr uint32_t PACKED = LP_LAYOUT_PACKED;
constexpr Case CASES[] = {
    {"zip7 bf16 512", LP_DTYPE_BF16, LP_CODEC_ZIP7, 0, PACKED, 4, 256, SAMPLES_NORMAL},
    {"zip7 bf16 8192", LP_DTYPE_BF16, LP_CODEC_ZIP7, 0, PACKED, 4, 4096, SAMPLES_NORMAL},
    {"dict bf16 512", LP_DTYPE_BF16, LP_CODEC_DICT, 0, PACKED, 4, 256, SAMPLES_NORMAL, 0, 90},
    {"dict bf16 8192", LP_DTYPE_BF16, LP_CODEC_DICT, 0, PACKED, 4, 4096, SAMPLES_NORMAL, 0, 90},
    {"ibp4 f32 512", LP_DTYPE_F32, LP_CODEC_IBP, 4, PACKED, 4, 128, SAMPLES_NORMAL, 1.2},
    {"ibp4 f32 8192", LP_DTYPE_F32, LP_CODEC_IBP, 4, PACKED, 4, 2048, SAMPLES_NORMAL, 1.2},
    {"ibp8 bf16 8192", LP_DTYPE_BF16, LP_CODEC_IBP, 8, PACKED, 4, 4096, SAMPLES_NORMAL, 1.2},
    {"raw bf16 32", LP_DTYPE_BF16, LP_CODEC_RAW, 0, PACKED, 0, 16, SAMPLES_RANDOM},
    {"raw bf16 512", LP_DTYPE_BF16, LP_CODEC_RAW, 0, PACKED, 0, 256, SAMPLES_RANDOM},
    {"raw bf16 8192", LP_DTYPE_BF16, LP_CODEC_RAW, 0, PACKED, 0, 4096, SAMPLES_RANDOM},
};

/* Rows of 500 and of 1,433 elements, one in a hundred or one in ten not zero. */
#define SPARSE(name, row, kind, distinct, percent, values)                                         \
    {                                                                                              \
        name, LP_DTYPE_F32, LP_CODEC_SPARSE, 0, PACKED, 4, row, kind, 0, distinct, percent, values \
    }
#define COUNTS(name, row, percent)                                                                 \
    {                                                                                              \
        name, LP_DTYPE_F32, LP_CODEC_SPARSE, 0, PACKED, 4, row, SAMPLES_NORMAL, 0, 0, percent,     \
            LP_FORMAT_SPARSE_COUNTS, true                                                          \
    }
constexpr Case SPARSE_CASES[] = {
    SPARSE("sparse f32 2000 1 % one", 500, SAMPLES_NORMAL, 1, 1, 0),
    SPARSE("sparse f32 2000 1 % raw", 500, SAMPLES_RANDOM, 0, 1, LP_CODEC_RAW),
    SPARSE("sparse f32 2000 1 % lane", 500, SAMPLES_NORMAL, 0, 1, LP_CODEC_LANE),
    SPARSE("sparse f32 2000 1 % dict", 500, SAMPLES_NORMAL, 15, 1, LP_CODEC_DICT),
    SPARSE("sparse f32 2000 10 % one", 500, SAMPLES_NORMAL, 1, 10, 0),
    SPARSE("sparse f32 2000 10 % raw", 500, SAMPLES_RANDOM, 0, 10, LP_CODEC_RAW),
    SPARSE("sparse f32 2000 10 % lane", 500, SAMPLES_NORMAL, 0, 10, LP_CODEC_LANE),
    SPARSE("sparse f32 2000 10 % dict", 500, SAMPLES_NORMAL, 15, 10, LP_CODEC_DICT),
    SPARSE("sparse f32 5732 1 % one", 1433, SAMPLES_NORMAL, 1, 1, 0),
    SPARSE("sparse f32 5732 1 % raw", 1433, SAMPLES_RANDOM, 0, 1, LP_CODEC_RAW),
    SPARSE("sparse f32 5732 1 % lane", 1433, SAMPLES_NORMAL, 0, 1, LP_CODEC_LANE),
    SPARSE("sparse f32 5732 1 % dict", 1433, SAMPLES_NORMAL, 15, 1, LP_CODEC_DICT),
    SPARSE("sparse f32 5732 10 % one", 1433, SAMPLES_NORMAL, 1, 10, 0),
    SPARSE("sparse f32 5732 10 % raw", 1433, SAMPLES_RANDOM, 0, 10, LP_CODEC_RAW),
    SPARSE("sparse f32 5732 10 % lane", 1433, SAMPLES_NORMAL, 0, 10, LP_CODEC_LANE),
    SPARSE("sparse f32 5732 10 % dict", 1433, SAMPLES_NORMAL, 15, 10, LP_CODEC_DICT),
};
constexpr Case COUNTS_CASES[] = {
    COUNTS("sparse f32 2000 1 % counts", 500, 1),
    COUNTS("sparse f32 2000 10 % counts", 500, 10),
    COUNTS("sparse f32 5732 1 % counts", 1433, 1),
    COUNTS("sparse f32 5732 10 % counts", 1433, 10),
};

/* Tables of codec lane, in forms that are given: what a learner chooses may change. */
struct FormCase {
    const char *name;
    uint32_t dtype, layout;
    uint64_t row;
    double bar;
    LaneForm form;
};

LaneForm levels(std::vector<uint8_t> widths, uint32_t exponent_bits = 0)
{
    LaneForm form;

    form.widths = std::move(widths);
    form.exponent_bits = exponent_bits;
    form.misfits = false;
    return form;
}

LaneForm columns(std::vector<uint8_t> widths, uint32_t period)
{
    LaneForm form = levels(std::move(widths));

    form.period = period;
    return form;
}

LaneForm less_bits(std::vector<uint8_t> widths, uint32_t sign, uint32_t trailing_bits)
{
    LaneForm form = levels(std::move(widths));

    form.sign = sign;
    form.trailing_bits = trailing_bits;
    return form;
}

std::vector<FormCase> form_cases()
{
    return {
        {"lane bf16 128", LP_DTYPE_BF16, PACKED, 64, 0, levels({2, 2, 2, 3})},
        {"lane bf16 512", LP_DTYPE_BF16, PACKED, 256, 0.75, levels({2, 2, 2, 3})},
        {"lane bf16 512 223", LP_DTYPE_BF16, PACKED, 256, 0.75, levels({2, 2, 3})},
        {"lane bf16 512 slotted", LP_DTYPE_BF16, LP_LAYOUT_SLOTTED, 256, 0.75,
         levels({2, 2, 2, 3})},
        {"lane bf16 8192", LP_DTYPE_BF16, PACKED, 4096, 0.60, levels({2, 2, 2, 3})},
        {"lane bf16 8192 223", LP_DTYPE_BF16, PACKED, 4096, 0.60, levels({2, 2, 3})},
        {"lane bf16 512 columns", LP_DTYPE_BF16, PACKED, 256, 0.75, columns({2, 2, 2, 3}, 128)},
        {"lane bf16 8192 columns", LP_DTYPE_BF16, PACKED, 4096, 0.60, columns({2, 2, 2, 3}, 128)},
        {"lane bf16 8192 any levels", LP_DTYPE_BF16, PACKED, 4096, 0, levels({3, 2, 3})},
        {"lane f16 512", LP_DTYPE_F16, PACKED, 256, 0, levels({2, 2, 2, 3})},
        {"lane f32 512", LP_DTYPE_F32, PACKED, 128, 0, levels({2, 2, 2, 3})},
        {"lane f32 8192", LP_DTYPE_F32, PACKED, 2048, 0, levels({2, 2, 2, 3})},
        {"lane f32 512 constant sign", LP_DTYPE_F32, PACKED, 128, 0,
         less_bits({2, 2, 3}, LP_LANE_SIGN_ZERO, 0)},
        {"lane f32 8192 13 trailing", LP_DTYPE_F32, PACKED, 2048, 0,
         less_bits({2, 2, 3}, LP_LANE_SIGN_STORED, 13)},
        {"lane f64 8192", LP_DTYPE_F64, PACKED, 1024, 0, levels({2, 2, 2, 3})},
        {"lane f8_e4m3 4096", LP_DTYPE_F8_E4M3, PACKED, 4096, 0, levels({1, 1, 2, 3})},
        {"lane i8 4096", LP_DTYPE_I8, PACKED, 4096, 0, levels({2, 2}, 4)},
    };
}

std::string number(double value, const char *form = "%.4f")
{
    char text[64];

    snprintf(text, sizeof(text), form, value);
    return text;
}

/* Every row once, in an order that is no order: what is read must then be read once. */
void count_case(PtxRunner &runner, const Case &c, const LaneForm &form, Budget &budget,
                bool &missed)
{
    TableSpec spec;
    Gather g;
    const uint64_t n = c.row > 1000 ? 128 : 1024;

    spec.dtype = c.dtype;
    spec.dims = {n, c.row};
    spec.kind = c.kind;
    spec.plan.codec = c.codec;
    spec.plan.ibp_word_bytes = c.word_bytes;
    spec.plan.layout = c.layout;
    spec.plan.align_bytes = c.align;
    spec.plan.record_elements = (uint32_t)c.row;
    spec.distinct = c.distinct;
    spec.percent = c.percent;
    spec.counts = c.counts;
    spec.lane = form;
    const GatherTable table(spec);
    for (uint64_t i = 0; i < n; i++)
        g.rows.push_back((int64_t)(i * 37 % n));
    g.multiprocessors = 1;
    if (table.view->table->codec != c.codec || table.table.sparse.values != c.values)
        die(std::string(c.name) + ": packed with another codec");
    const uint64_t bytes = check_gather(table, g, runner.launch(), c.name);
    const ptx::Counts &counts = runner.counts;
    const uint64_t sectors = lp_codec_view_sectors(table.view, g.rows.data(), 8, n);
    const double per_byte = (double)counts.warp_instructions / (double)bytes;
    const std::string name = c.name;

    budget[name + ",warp instructions per output byte"] = number(per_byte);
    budget[name + ",sectors read per record"] =
        number((double)counts.async_read.sectors / (double)n);
    budget[name + ",shared passes per needed pass"] =
        number((double)counts.shared.passes / (double)counts.shared.passes_min);
    budget[name + ",divergent branches per record"] =
        number((double)counts.divergent_branches / (double)n);
    if (counts.async_read.sectors != sectors) {
        printf("%s: %llu sectors read, %llu touched\n", c.name,
               (unsigned long long)counts.async_read.sectors, (unsigned long long)sectors);
        missed = true;
    }
    if (c.bar != 0 && per_byte > c.bar) {
        printf("%s: %.3f warp instructions per byte, the bar is %.2f\n", c.name, per_byte, c.bar);
        missed = true;
    }
}

/* ptxas -v: "Compiling entry function 'NAME' for 'sm_NN'", then lines with its numbers. */
void read_ptxas(const char *path, Budget &budget, bool &missed)
{
    std::ifstream in(path);
    std::string line, name;

    while (std::getline(in, line)) {
        unsigned stack, stores, loads, registers;
        const size_t at = line.find("entry function '");

        if (at != std::string::npos) {
            const size_t begin = at + strlen("entry function '"), end = line.find('\'', begin);
            const size_t arch = line.find("'sm_", end);

            name = "ptxas " + line.substr(begin, end - begin) + " " +
                   line.substr(arch + 1, line.find('\'', arch + 1) - arch - 1);
        } else if (sscanf(line.c_str(),
                          " %u bytes stack frame, %u bytes spill stores, %u bytes spill loads",
                          &stack, &stores, &loads) == 3) {
            budget[name + ",spilled bytes"] = std::to_string(stores + loads);
            missed = missed || stores + loads != 0;
        } else if ((sscanf(line.c_str(), "ptxas info : Used %u registers", &registers)) == 1) {
            budget[name + ",registers"] = std::to_string(registers);
        }
    }
}

Budget load(const char *path, std::string &version)
{
    std::ifstream in(path);
    std::string line;
    Budget budget;

    if (!in)
        die(std::string(path) + ": cannot be read");
    while (std::getline(in, line)) {
        const size_t last = line.rfind(',');

        if (line.compare(0, 7, "# nvcc ") == 0)
            version = line.substr(7);
        else if (!line.empty() && line[0] != '#' && last != std::string::npos)
            budget[line.substr(0, last)] = line.substr(last + 1);
    }
    return budget;
}

void print(const Budget &budget, const char *version)
{
    printf(
        "# SPDX-License-Identifier: Apache-2.0\n"
        "# What the gather kernels cost, exactly, in one nvcc's PTX and by the word of its ptxas.\n"
        "# Made by: test_gather_budget --print. Case, figure, value.\n"
        "# nvcc %s\n",
        version);
    for (const auto &entry : budget)
        printf("%s,%s\n", entry.first.c_str(), entry.second.c_str());
}

/* Every difference, both ways; true when there is one. */
bool compare(const Budget &want, const Budget &have)
{
    bool differs = false;

    for (const auto &entry : have) {
        const auto old = want.find(entry.first);

        if (old != want.end() && old->second == entry.second)
            continue;
        printf("%s: %s, was %s\n", entry.first.c_str(), entry.second.c_str(),
               old != want.end() ? old->second.c_str() : "not in the budget");
        differs = true;
    }
    for (const auto &entry : want) {
        if (have.count(entry.first) != 0)
            continue;
        printf("%s: gone, was %s\n", entry.first.c_str(), entry.second.c_str());
        differs = true;
    }
    return differs;
}

} /* namespace */

int main(int argc, char **argv)
try {
    const bool printing = argc > 1 && strcmp(argv[1], "--print") == 0;
    const char *const file = argc > 2 ? argv[printing ? 2 : 1] : nullptr;
    const char *const version = argc > 3 ? argv[3] : nullptr;
    std::string budget_version;
    bool missed = false;
    Budget budget;

    if (file == nullptr || version == nullptr) {
        printf("waived: no PTX (no nvcc in this build)\n");
        return 77;
    }
    PtxRunner runner(ptx::Module::load(file));
    for (const Case &c : CASES)
        count_case(runner, c, {}, budget, missed);
    for (const Case &c : SPARSE_CASES)
        count_case(runner, c, {}, budget, missed);
    for (const Case &c : COUNTS_CASES)
        count_case(runner, c, {}, budget, missed);
    for (const FormCase &f : form_cases())
        count_case(runner,
                   {f.name, f.dtype, LP_CODEC_LANE, 0, f.layout, 4, f.row, SAMPLES_NORMAL, f.bar},
                   f.form, budget, missed);
    if (argc > 4)
        read_ptxas(argv[4], budget, missed);
    if (printing) {
        print(budget, version);
        return missed;
    }
    const Budget want = load(argv[2], budget_version);
    const bool differs = compare(want, budget);
    for (const auto &entry : budget)
        if (entry.first.find("ptxas") != 0)
            printf("%s: %s\n", entry.first.c_str(), entry.second.c_str());
    if (missed)
        return 1;
    if (differs && budget_version != version) {
        printf("waived: the budget is of nvcc %s, this is %s\n", budget_version.c_str(), version);
        return 77;
    }
    return differs;
} catch (const std::exception &e) {
    fprintf(stderr, "%s\n", e.what());
    return 1;
}
