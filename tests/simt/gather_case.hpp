/* SPDX-License-Identifier: Apache-2.0 */
/* Packed tables and gathers from them, for whatever runs the kernels: fiber executor, PTX executor.
 * What is right says the host decoder. */
#ifndef LP_TESTS_GATHER_CASE_HPP
#define LP_TESTS_GATHER_CASE_HPP

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "cuda/gather_plan.h"
#include "tests/lib/packed.h"
#include "tests/lib/samples.h"
}

/* Bytes on a border of 64 and not one more, so that sanitizers see what is read behind them. */
class Block {
  public:
    explicit Block(size_t n_bytes, unsigned char fill = 0) : bytes(n_bytes)
    {
        void *memory = nullptr;
        if (posix_memalign(&memory, 64, bytes != 0 ? bytes : 1) != 0)
            abort();
        at.reset(static_cast<unsigned char *>(memory));
        for (size_t i = 0; i < bytes; i++)
            at[i] = fill;
    }
    uint64_t address() const
    {
        return bytes != 0 ? reinterpret_cast<uint64_t>(at.get()) : 0;
    }
    unsigned char *data() const
    {
        return at.get();
    }

    size_t bytes;

  private:
    struct Free {
        void operator()(unsigned char *p) const
        {
            free(p);
        }
    };
    std::unique_ptr<unsigned char[], Free> at;
};

/* Parameters of codec lane that are not learned but given, and elements that suit them. */
struct LaneForm {
    std::vector<uint8_t> widths; /* empty: learned */
    uint32_t exponent_bits = 0;  /* i8 and u8 */
    uint32_t window = LP_LANE_WINDOW_TABLE, sign = LP_LANE_SIGN_STORED, trailing_bits = 0;
    uint32_t period = 0; /* of columns */
    bool spans = false;  /* columns change again and again, as often as records allow */
    bool misfits = true; /* some elements do not suit, so that their records are stored raw */
    uint64_t span = 0;   /* how often columns change; set from spans */
};

/* What to pack. */
struct TableSpec {
    uint32_t dtype = LP_DTYPE_BF16;
    std::vector<uint64_t> dims;
    lp_plan_params plan{};
    samples_kind kind = SAMPLES_NORMAL;
    uint64_t seed = 1;
    bool drift = false;    /* exponents differ from row to row, so that each record gets its base */
    uint32_t distinct = 0; /* values, of which early ones are frequent; 0: as kind has them */
    uint32_t percent = 0;  /* of the elements that are not zero; 0: as kind has them */
    bool counts = false;   /* f32 of codec sparse: values are counts (gather_counts.hpp) */
    LaneForm lane;
    uint32_t ibp_groups = 0; /* 2 to 4: records of ibp choose among so many sets of masks */

    std::string text() const;
};

/* A packed table, and a copy of it in blocks as the device would see it. */
class GatherTable {
  public:
    explicit GatherTable(const TableSpec &spec);
    /* One that was packed before: borrows packed, which must outlive this. */
    explicit GatherTable(const lp_view *view);
    ~GatherTable();
    GatherTable(const GatherTable &) = delete;
    GatherTable &operator=(const GatherTable &) = delete;

    const lp_geometry &geometry() const
    {
        return view->table->geometry;
    }

    /* Turn one bit over, for the host and for the kernel: of a segment, or of the index. */
    void flip_segment_bit(uint32_t segment, uint64_t bit);
    void flip_index_bit(uint64_t bit);

    const lp_view *view;
    lp_gpu_table_params params{};
    lp_gather_table table{};
    std::vector<Block> segments;
    std::unique_ptr<Block> index, addresses, meta;

  private:
    void copy();
    packed own{};
    bool owns = false;
    std::vector<uint64_t> segments_dev;
};

/* A range that the kernel may touch. */
struct Range {
    std::string name;
    const Block *block;
    bool writable;
};

/* Runs one launch to its end. */
using Launch = std::function<void(const char *kernel, const lp_gather_args &args,
                                  const lp_gpu_shape &shape, const std::vector<Range> &ranges)>;

struct Gather {
    std::vector<int64_t> rows; /* ignored where all */
    bool all = false;
    uint32_t index_bytes = 8;
    bool with_default = false;
    uint32_t out_offset = 0; /* bytes before the output, to move it off a border */
    uint32_t max_shared_bytes = 99u << 10;
    uint32_t multiprocessors = 1;
    bool expect_corrupt = false;
};

/* Run it, and compare output, default rows and status with the host's. Exits with a message when
 * anything differs. Returns the bytes of output. */
uint64_t check_gather(const GatherTable &table, const Gather &gather, const Launch &launch,
                      const std::string &name);

/* Turn bits of records and of the index over: whatever the host rejects the kernel must reject,
 * what the host decodes the kernel must decode alike, and nothing may be touched that it was not
 * given. */
void check_damage(const TableSpec &spec, unsigned rounds, const Launch &launch);

/* The same for each bit of the index, and for each stride-th one of the records, one at a time. */
void check_every_bit(const TableSpec &spec, uint64_t stride, const Launch &launch);

/* Every stored .lpk file below folder whose heads are good, but for tables whose kernel wanted()
 * declines, if given: rows as the host decodes them, corrupt records where it finds them. Returns
 * how many tables there were. */
unsigned check_golden(const std::string &folder, const Launch &launch,
                      bool (*wanted)(const char *kernel) = nullptr);

/* n random row numbers below rows, with repeats; one in bad_every out of range (0: none). */
std::vector<int64_t> random_rows(uint64_t rows, size_t n, uint64_t seed, unsigned bad_every);

/* Every combination worth having of dtype, codec, layout, record shape and data; small tables. */
std::vector<TableSpec> all_specs();

[[noreturn]] void die(const std::string &what);

#endif
