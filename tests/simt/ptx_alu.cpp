/* SPDX-License-Identifier: Apache-2.0 */
/* Integer and bit instructions. */
#include "ptx_alu.hpp"

#include <algorithm>

#include "ptx.hpp"

namespace ptx {

bool less(Type type, uint64_t a, uint64_t b)
{
    return type.is_signed() ? (int64_t)a < (int64_t)b : a < b;
}

static bool holds(Compare c, bool lt, bool eq)
{
    switch (c) {
    case Compare::eq: return eq;
    case Compare::ne: return !eq;
    case Compare::lt: return lt;
    case Compare::le: return lt || eq;
    case Compare::gt: return !lt && !eq;
    case Compare::ge: return !lt;
    case Compare::num: return true;
    default: return false;
    }
}

bool compare(const Instruction &in, uint64_t a, uint64_t b)
{
    if (in.type.is_float()) {
        return compare_float(in, a, b);
    }
    return holds(in.compare, less(in.type, a, b), a == b);
}

static uint64_t divide(const Instruction &in, uint64_t a, uint64_t b)
{
    const bool rem = in.op == Op::rem;

    if (b == 0) {
        throw Error("division by zero");
    }
    if (!in.type.is_signed()) {
        return rem ? a % b : a / b;
    }
    if (b == ~0ull) { /* the most negative number over -1 overflows on the host */
        return rem ? 0 : 0 - a;
    }
    return rem ? (uint64_t)((int64_t)a % (int64_t)b) : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t multiply_high(Type type, uint64_t a, uint64_t b)
{
    if (type.is_signed()) {
        return (uint64_t)(((__int128)(int64_t)a * (int64_t)b) >> type.bits());
    }
    return (uint64_t)(((unsigned __int128)a * b) >> type.bits());
}

static uint64_t shift_right(Type type, uint64_t a, uint64_t by)
{
    const unsigned bits = type.bits();
    if (type.is_signed()) {
        return (uint64_t)((int64_t)a >> std::min<uint64_t>(by, bits - 1));
    }
    return by >= bits ? 0 : a >> by;
}

static uint64_t funnel_shift(const Instruction &in, uint64_t lo, uint64_t hi, uint64_t by)
{
    const unsigned n = in.clamp ? (unsigned)std::min<uint64_t>(by, 32) : (unsigned)by & 31;
    const uint64_t both = hi << 32 | lo;
    if (n == 32) {
        return in.left ? lo : hi;
    }
    return in.left ? both << n >> 32 : both >> n;
}

static uint64_t permute(uint64_t a, uint64_t b, uint64_t selector)
{
    const uint64_t bytes = b << 32 | a;
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned s = (unsigned)(selector >> (4 * i)) & 15;
        uint64_t byte = bytes >> (8 * (s & 7)) & 0xFF;
        if (s & 8) {
            byte = byte & 0x80 ? 0xFF : 0; /* the sign of that byte, spread */
        }
        result |= byte << (8 * i);
    }
    return result;
}

static uint64_t lookup3(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 8; i++) {
        if (table >> i & 1) {
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        }
    }
    return result;
}

static uint64_t reverse(uint64_t a, unsigned bits)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; i++) {
        result |= (a >> i & 1) << (bits - 1 - i);
    }
    return result;
}

/* The highest bit that is not the sign; all ones when there is none. */
static uint64_t find_bit(const Instruction &in, uint64_t a)
{
    if (in.type.is_signed() && (int64_t)a < 0) {
        a = ~a;
    }
    if (a == 0) {
        return ~0ull;
    }
    const uint64_t at = 63 - (uint64_t)__builtin_clzll(a);
    return in.shift_amount ? in.type.bits() - 1 - at : at;
}

static uint64_t extract_field(Type type, uint64_t a, uint64_t b, uint64_t c)
{
    const unsigned at = (unsigned)b & 0xFF, n = (unsigned)c & 0xFF;
    const uint64_t field = shift_right(type, a, at);

    if (n == 0) {
        return 0;
    }
    if (n >= type.bits()) {
        return field;
    }
    const uint64_t low = field & ((1ull << n) - 1);
    /* Past the top a signed field repeats the sign of a, which shift_right has spread already. */
    return type.is_signed() && (field >> (n - 1) & 1) ? low | ~0ull << n : low;
}

static uint64_t insert_field(Type type, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const unsigned at = (unsigned)c & 0xFF, n = (unsigned)d & 0xFF;
    const uint64_t ones = n >= 64 ? ~0ull : (1ull << n) - 1;
    return at >= type.bits() ? b : (b & ~(ones << at)) | (a & ones) << at;
}

static uint64_t dot4(const Instruction &in, const uint64_t s[4])
{
    int64_t sum = (int64_t)s[2];
    for (unsigned i = 0; i < 4; i++) {
        const Type a{in.from[0].kind, 1}, b{in.from[1].kind, 1};
        sum += (int64_t)extend(s[0] >> (8 * i), a) * (int64_t)extend(s[1] >> (8 * i), b);
    }
    return (uint64_t)sum;
}

uint64_t compute(const Instruction &in, const uint64_t s[4])
{
    const uint64_t a = s[0], b = s[1], c = s[2];
    const Type type = in.type;

    switch (in.op) {
    case Op::mov: return a;
    case Op::cvt: return convert(in, a);
    case Op::selp: return c ? a : b;
    case Op::and_: return a & b;
    case Op::or_: return a | b;
    case Op::xor_: return a ^ b;
    case Op::not_: return type.kind == Kind::pred ? !a : ~a;
    case Op::cnot: return a == 0;
    default: break;
    }
    if (type.is_float()) {
        return compute_float(in, s);
    }
    switch (in.op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul:
    case Op::mul_wide: return a * b;
    case Op::mad:
    case Op::mad_wide: return a * b + c;
    case Op::mul_hi: return multiply_high(type, a, b);
    case Op::mad_hi: return multiply_high(type, a, b) + c;
    case Op::div:
    case Op::rem: return divide(in, a, b);
    case Op::min: return less(type, a, b) ? a : b;
    case Op::max: return less(type, a, b) ? b : a;
    case Op::abs: return (int64_t)a < 0 ? 0 - a : a;
    case Op::neg: return 0 - a;
    case Op::sad: return (less(type, a, b) ? b - a : a - b) + c;
    case Op::shl: return b >= type.bits() ? 0 : a << b;
    case Op::shr: return shift_right(type, a, b);
    case Op::shf: return funnel_shift(in, a, b, c);
    case Op::prmt: return permute(a, b, c);
    case Op::lop3: return lookup3(a, b, c, s[3]);
    case Op::popc: return (uint64_t)__builtin_popcountll(a);
    case Op::clz: return a ? (uint64_t)__builtin_clzll(a) - (64 - type.bits()) : type.bits();
    case Op::brev: return reverse(a, type.bits());
    case Op::bfind: return find_bit(in, a);
    case Op::bfe: return extract_field(type, a, b, c);
    case Op::bfi: return insert_field(type, a, b, c, s[3]);
    case Op::dp4a: return dot4(in, s);
    default: throw Error("not an arithmetic instruction");
    }
}

uint64_t atomic_result(const Instruction &in, uint64_t old, uint64_t b, uint64_t c)
{
    if (in.type.is_float() && in.exchange == Exchange::add) {
        Instruction add = in;
        add.op = Op::add;
        const uint64_t s[4] = {old, b, 0, 0};
        return compute_float(add, s);
    }
    switch (in.exchange) {
    case Exchange::add: return old + b;
    case Exchange::and_: return old & b;
    case Exchange::or_: return old | b;
    case Exchange::xor_: return old ^ b;
    case Exchange::min: return less(in.type, b, old) ? b : old;
    case Exchange::max: return less(in.type, old, b) ? b : old;
    case Exchange::exch: return b;
    case Exchange::cas: return old == b ? c : old;
    case Exchange::inc: return old >= b ? 0 : old + 1;
    case Exchange::dec: return old == 0 || old > b ? b : old - 1;
    default: throw Error("an atomic without an operation");
    }
}

} /* namespace ptx */
