/* SPDX-License-Identifier: Apache-2.0 */
/* Floating point: IEEE of the host, with the GPU's one NaN, and conversions. */
#include "ptx_alu.hpp"

#include <cfenv>
#include <cmath>
#include <cstring>

#include "ptx.hpp"

namespace ptx {
namespace {

const uint32_t NAN32 = 0x7fffffff; /* what the hardware makes of any NaN of 32 bits */

template <class To, class From> To as(From from)
{
    To to;
    static_assert(sizeof to == sizeof from, "types of one size");
    memcpy(&to, &from, sizeof to);
    return to;
}

float f32(uint64_t bits)
{
    return as<float>((uint32_t)bits);
}

double f64(uint64_t bits)
{
    return as<double>(bits);
}

uint64_t from_f32(float v)
{
    return std::isnan(v) ? NAN32 : as<uint32_t>(v);
}

/* min and max return the number when one side is none, and order -0 below +0. */
template <class T> T minimum(T a, T b)
{
    return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
}

template <class T> T maximum(T a, T b)
{
    return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
}

template <class T> T arithmetic(const Instruction &in, T a, T b, T c)
{
    switch (in.op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::fma: return std::fma(a, b, c);
    case Op::div: return a / b;
    case Op::rcp: return (T)1 / a;
    case Op::sqrt: return std::sqrt(a);
    case Op::min: return minimum(a, b);
    case Op::max: return maximum(a, b);
    default: throw Error("not a floating-point instruction");
    }
}

/* Any source as a double: every float, half and 32-bit integer is one exactly; 64-bit integers have
 * their own way below. */
double source_value(Type type, uint64_t v)
{
    if (type.kind == Kind::bf16) {
        return as<float>((uint32_t)v << 16);
    }
    if (type.kind == Kind::flt) {
        return type.bytes == 2 ? half_to_float((uint16_t)v) : type.bytes == 4 ? f32(v) : f64(v);
    }
    return type.is_signed() ? (double)(int64_t)v : (double)v;
}

double round_whole(Rounding r, double v)
{
    switch (r) {
    case Rounding::zero: return std::trunc(v);
    case Rounding::down: return std::floor(v);
    case Rounding::up: return std::ceil(v);
    default: return std::nearbyint(v);
    }
}

/* Out of range clamps; not a number is 0 (the largest value for the 64-bit and f64 forms differs
 * between devices and is refused nowhere by nvcc, so we follow the manual: 0). */
uint64_t to_integer(Type type, double v)
{
    if (std::isnan(v)) {
        return 0;
    }
    if (type.is_signed()) {
        const double limit = std::ldexp(1.0, (int)type.bits() - 1);
        const uint64_t most = (1ull << (type.bits() - 1)) - 1;
        return v >= limit ? most : v < -limit ? ~most : (uint64_t)(int64_t)v;
    }
    const double limit = std::ldexp(1.0, (int)type.bits());
    return v <= 0 ? 0 : v >= limit ? extend(~0ull, type) : (uint64_t)v;
}

uint64_t to_float(Type type, double v)
{
    if (type.kind == Kind::bf16) {
        throw Error("to bf16 from anything but f32");
    }
    if (type.bytes == 8) {
        return as<uint64_t>(v);
    }
    return type.bytes == 2 ? float_to_half(v) : from_f32((float)v);
}

} /* namespace */

float half_to_float(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    const float sign = bits >> 15 ? -1.0f : 1.0f;

    if (exponent == 31) {
        return fraction ? as<float>(NAN32) : sign * INFINITY;
    }
    const float magnitude =
        exponent ? std::ldexp((float)(fraction | 0x400), exponent - 25)
                 : std::ldexp((float)fraction, -24);
    return sign * magnitude;
}

/* From a double, so that f32 and f64 sources are both rounded once. */
uint16_t float_to_half(double value)
{
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double v = std::fabs(value);

    if (std::isnan(value)) {
        return 0x7fff;
    }
    if (v >= 65520.0) { /* half way from the largest half to the next power of two */
        return sign | 0x7c00;
    }
    int exponent = 0;
    std::frexp(v, &exponent);
    const int unit = v == 0 || exponent - 11 < -24 ? -24 : exponent - 11; /* of the last place */
    const unsigned places = (unsigned)std::nearbyint(std::ldexp(v, -unit));
    /* A normal half is 1024..2047 units; 2048 carries into the exponent by itself. */
    return (uint16_t)(sign | (places + ((unsigned)(unit + 24) << 10)));
}

uint16_t float_to_bf16(float value)
{
    const uint32_t bits = as<uint32_t>(value);
    if (std::isnan(value)) {
        return 0x7fff;
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint64_t compute_float(const Instruction &in, const uint64_t s[4])
{
    const bool wide = in.type.bytes == 8;
    const uint64_t sign = 1ull << (in.type.bits() - 1);

    if (in.op == Op::abs) {
        return s[0] & ~sign;
    }
    if (in.op == Op::neg) {
        return s[0] ^ sign;
    }
    if (wide) {
        return as<uint64_t>(arithmetic(in, f64(s[0]), f64(s[1]), f64(s[2])));
    }
    return from_f32(arithmetic(in, f32(s[0]), f32(s[1]), f32(s[2])));
}

bool compare_float(const Instruction &in, uint64_t a, uint64_t b)
{
    const double x = source_value(in.type, a), y = source_value(in.type, b);

    if (std::isnan(x) || std::isnan(y)) {
        return in.unordered || in.compare == Compare::nan;
    }
    switch (in.compare) {
    case Compare::eq: return x == y;
    case Compare::ne: return x != y;
    case Compare::lt: return x < y;
    case Compare::le: return x <= y;
    case Compare::gt: return x > y;
    case Compare::ge: return x >= y;
    default: return in.compare == Compare::num;
    }
}

uint64_t convert(const Instruction &in, uint64_t value)
{
    const Type from = in.from[0], to = in.type;

    if (!from.is_float() && !to.is_float()) {
        return value; /* extended by the source's type; the destination cuts it */
    }
    if (to.kind == Kind::bf16) {
        if (from.kind != Kind::flt || from.bytes != 4) {
            throw Error("to bf16 from anything but f32");
        }
        return float_to_bf16(f32(value));
    }
    if (!from.is_float() && to.bytes == 4) { /* one rounding, not two by way of a double */
        const float v = from.is_signed() ? (float)(int64_t)value : (float)value;
        return from_f32(v);
    }
    double v = source_value(from, value);
    if (in.integral) {
        v = round_whole(in.rounding, v);
    }
    return to.is_float() ? to_float(to, v) : to_integer(to, v);
}

} /* namespace ptx */
