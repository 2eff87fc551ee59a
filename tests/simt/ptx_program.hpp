/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed PTX module, as the parser leaves it for the machine. */
#ifndef LP_TESTS_PTX_PROGRAM_HPP
#define LP_TESTS_PTX_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ptx_counts.hpp"

namespace ptx {

enum class Op : uint8_t {
    mov, cvt, cvta, selp, setp,
    add, sub, mul, mul_hi, mul_wide, mad, mad_hi, mad_wide, fma, div, rem, min, max, abs, neg, sad,
    rcp, sqrt,
    and_, or_, xor_, not_, cnot, shl, shr, shf, prmt, lop3, popc, clz, brev, bfind, bfe, bfi, dp4a,
    ld, st, atom, red, cp_async, cp_commit, cp_wait_group, cp_wait_all,
    bra, brx, ret, trap, bar, bar_warp, fence,
    shfl, vote, match, redux, activemask
};

enum class Kind : uint8_t { bits, sint, uint, flt, bf16, pred };

struct Type {
    Kind kind = Kind::bits;
    uint8_t bytes = 4;

    unsigned bits() const { return bytes * 8u; }
    bool is_signed() const { return kind == Kind::sint; }
    bool is_float() const { return kind == Kind::flt || kind == Kind::bf16; }
};

constexpr Type U32{Kind::uint, 4}, B32{Kind::bits, 4}, B64{Kind::bits, 8}, PRED{Kind::pred, 1};

enum class Space : uint8_t { generic, global, shared, local, param, constant };

enum class Special : uint8_t {
    tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y,
    nctaid_z, laneid, lanemask_lt, lanemask_le, lanemask_gt, lanemask_ge, lanemask_eq, warpid,
    nwarpid, warp_size, dynamic_smem_size, total_smem_size,
    COUNT
};

struct Operand {
    enum : uint8_t { NONE, REG, IMM, SPECIAL, VEC } kind = NONE;
    bool negate = false;           /* !%p */
    Special special = Special::tid_x;
    int reg = -1;                  /* also the base register of an address */
    int64_t imm = 0;               /* also the offset of an address */
    std::vector<Operand> parts;    /* of {a, b, ...} */
};

enum class Compare : uint8_t { eq, ne, lt, le, gt, ge, num, nan }; /* num, nan: floats only */
enum class Combine : uint8_t { none, and_, or_, xor_ };
enum class Rounding : uint8_t { none, nearest, zero, down, up };
enum class Exchange : uint8_t { /* of shfl, vote, redux, atom */
    up, down, bfly, idx,
    ballot, any, all, uni,
    add, sub, and_, or_, xor_, min, max, exch, cas, inc, dec
};

struct Instruction {
    Op op = Op::trap;
    Class cls = Class::control;
    Type type;             /* of the operation */
    Type result;           /* of the destination register */
    Type from[4];          /* how each source is read */
    Space space = Space::generic;
    uint8_t vec = 1;       /* elements of a vector load or store */
    Exchange exchange = Exchange::up;
    Compare compare = Compare::eq;
    Combine combine = Combine::none;
    Rounding rounding = Rounding::none;
    bool integral = false; /* cvt rounds a float to a whole number */
    bool unordered = false; /* a float comparison that is true when either is not a number */
    bool left = false, clamp = false, to = false, shift_amount = false;
    int guard = -1;        /* predicate register */
    bool guard_negated = false;
    Operand dst, dst2, src[4];
    int sources = 0;
    int target = -1;       /* of bra: an index into the code */
    std::vector<int> targets; /* of brx */
    std::string text;      /* opcode with modifiers */
    int file = 0, line = 0;
};

struct Parameter {
    size_t offset, bytes;
};

struct Kernel {
    std::string name;
    std::vector<Instruction> code;
    std::vector<Parameter> params;
    size_t param_bytes = 0, shared_bytes = 0, local_bytes = 0;
    int registers = 0;
    unsigned max_threads = 1024; /* .maxntid or .reqntid */
};

/* extern __shared__ arrays stand behind the static ones, whose size is known only at the end. */
constexpr uint64_t DYNAMIC_SHARED = 1 << 20;

struct Global { /* a .global or .const variable of the module */
    std::string name;
    std::unique_ptr<uint64_t[]> memory;
    size_t bytes;
    bool writable;
};

struct Program {
    std::map<std::string, Kernel> kernels;
    std::vector<Global> globals;
    std::map<int, std::string> files; /* of .loc */
};

/* Throws Error. */
std::shared_ptr<Program> parse(const std::string &text);

} /* namespace ptx */

#endif
