/* SPDX-License-Identifier: Apache-2.0 */
/* The table of known opcodes with every modifier that each may carry, and what they mean.
 *
 * A modifier that is not in the opcode's row is refused: executing "add.sat" as "add" would be
 * wrong without anybody noticing. */
#include "ptx_decode.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "ptx.hpp"
#include "ptx_text.hpp"

namespace ptx {
namespace {

struct Row {
    const char *name;
    Op op;
    Class cls;
    int sources;            /* -1: what stands there */
    bool has_dst;
    const char *modifiers;  /* with @groups, below */
};

const char *const INTEGERS = "u16 s16 u32 s32 u64 s64";
const char *const FLOATS = "f32 f64";
const char *const BITS = "b16 b32 b64";
const char *const MEMORY =
    "global shared local param const b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 "
    "s64 f32 f64 v2 v4 weak volatile relaxed acquire release cta cluster gpu "
    "sys shared::cta L1::no_allocate L1::evict_normal L1::evict_unchanged "
    "L1::evict_first L1::evict_last L2::64B L2::128B L2::256B ca cg cs cv lu "
    "nc wb wt unified";
const char *const ATOMICS =
    "global shared shared::cta relaxed acquire release acq_rel cta cluster gpu "
    "sys u32 s32 b32 u64 s64 b64 f32 f64 add and or xor min max exch cas inc "
    "dec";

const Row ROWS[] = {
    {"mov", Op::mov, Class::move, 1, true, "@bits @integers @floats pred"},
    {"cvt", Op::cvt, Class::integer, 1, true,
     "u8 s8 @integers f16 bf16 @floats rn rz rm rp rni rzi rmi rpi"},
    {"cvta", Op::cvta, Class::move, 1, true, "to global shared local const param u64"},
    {"selp", Op::selp, Class::integer, 3, true, "@bits @integers @floats"},
    {"setp", Op::setp, Class::integer, -1, true,
     "@bits @integers @floats eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or "
     "xor"},
    {"add", Op::add, Class::integer, 2, true, "@integers @floats rn"},
    {"sub", Op::sub, Class::integer, 2, true, "@integers @floats rn"},
    {"mul", Op::mul, Class::integer, 2, true, "@integers @floats rn lo hi wide"},
    {"mad", Op::mad, Class::integer, 3, true, "@integers lo hi wide"},
    {"fma", Op::fma, Class::floating, 3, true, "@floats rn"},
    {"div", Op::div, Class::integer, 2, true, "@integers @floats rn"},
    {"rem", Op::rem, Class::integer, 2, true, "@integers"},
    {"min", Op::min, Class::integer, 2, true, "@integers @floats"},
    {"max", Op::max, Class::integer, 2, true, "@integers @floats"},
    {"abs", Op::abs, Class::integer, 1, true, "s16 s32 s64 @floats"},
    {"neg", Op::neg, Class::integer, 1, true, "s16 s32 s64 @floats"},
    {"sad", Op::sad, Class::integer, 3, true, "@integers"},
    {"rcp", Op::rcp, Class::floating, 1, true, "@floats rn"},
    {"sqrt", Op::sqrt, Class::floating, 1, true, "@floats rn"},
    {"and", Op::and_, Class::integer, 2, true, "@bits pred"},
    {"or", Op::or_, Class::integer, 2, true, "@bits pred"},
    {"xor", Op::xor_, Class::integer, 2, true, "@bits pred"},
    {"not", Op::not_, Class::integer, 1, true, "@bits pred"},
    {"cnot", Op::cnot, Class::integer, 1, true, "@bits"},
    {"shl", Op::shl, Class::integer, 2, true, "@bits"},
    {"shr", Op::shr, Class::integer, 2, true, "@bits @integers"},
    {"shf", Op::shf, Class::integer, 3, true, "l r wrap clamp b32"},
    {"prmt", Op::prmt, Class::integer, 3, true, "b32"},
    {"lop3", Op::lop3, Class::integer, 4, true, "b32"},
    {"popc", Op::popc, Class::integer, 1, true, "b32 b64"},
    {"clz", Op::clz, Class::integer, 1, true, "b32 b64"},
    {"brev", Op::brev, Class::integer, 1, true, "b32 b64"},
    {"bfind", Op::bfind, Class::integer, 1, true, "u32 s32 u64 s64 shiftamt"},
    {"bfe", Op::bfe, Class::integer, 3, true, "u32 s32 u64 s64"},
    {"bfi", Op::bfi, Class::integer, 4, true, "b32 b64"},
    {"dp4a", Op::dp4a, Class::integer, 3, true, "u32 s32"},
    {"ld", Op::ld, Class::global, 1, true, "@memory"},
    {"st", Op::st, Class::global, 2, false, "@memory"},
    {"atom", Op::atom, Class::atomic, -1, true, "@atomics"},
    {"red", Op::red, Class::atomic, -1, false, "@atomics"},
    {"cp.async.commit_group", Op::cp_commit, Class::async, 0, false, ""},
    {"cp.async.wait_group", Op::cp_wait_group, Class::async, 1, false, ""},
    {"cp.async.wait_all", Op::cp_wait_all, Class::async, 0, false, ""},
    {"cp.async", Op::cp_async, Class::async, -1, false,
     "ca cg shared shared::cta global L2::64B L2::128B L2::256B"},
    {"bra", Op::bra, Class::control, 0, false, "uni"},
    {"brx.idx", Op::brx, Class::control, 0, false, "uni"},
    {"ret", Op::ret, Class::control, 0, false, "uni"},
    {"exit", Op::ret, Class::control, 0, false, ""},
    {"trap", Op::trap, Class::control, 0, false, ""},
    {"bar.warp.sync", Op::bar_warp, Class::sync, 1, false, ""},
    {"bar", Op::bar, Class::sync, -1, false, "sync cta"},
    {"barrier", Op::bar, Class::sync, -1, false, "sync cta aligned"},
    {"membar", Op::fence, Class::sync, 0, false, "cta gl sys"},
    {"fence", Op::fence, Class::sync, 0, false, "acq_rel sc cta cluster gpu sys"},
    {"shfl.sync", Op::shfl, Class::exchange, 4, true, "up down bfly idx b32"},
    {"vote.sync", Op::vote, Class::exchange, 2, true, "ballot any all uni b32 pred"},
    {"match.any.sync", Op::match, Class::exchange, 2, true, "b32 b64"},
    {"redux.sync", Op::redux, Class::exchange, 2, true, "add and or xor min max u32 s32 b32"},
    {"activemask", Op::activemask, Class::exchange, 0, true, "b32"},
};

bool in_list(const std::string &word, const std::string &list)
{
    const std::vector<std::string> all = words(list);
    return std::find(all.begin(), all.end(), word) != all.end();
}

std::string expand(const char *modifiers)
{
    static const std::pair<const char *, const char *> groups[] = {
        {"@bits", BITS}, {"@integers", INTEGERS}, {"@floats", FLOATS}, {"@memory", MEMORY},
        {"@atomics", ATOMICS}};
    std::string list;
    for (const std::string &word : words(modifiers)) {
        const auto *const group = std::find_if(
            std::begin(groups), std::end(groups), [&](const auto &g) { return word == g.first; });
        list += group == std::end(groups) ? word : group->second;
        list += ' ';
    }
    return list;
}

/* The longest row that the opcode starts with, dot by dot. */
const Row *find_row(const std::string &opcode)
{
    const Row *best = nullptr;
    for (const Row &row : ROWS) {
        const size_t n = strlen(row.name);
        const bool fits = starts_with(opcode, row.name) &&
                          (opcode.size() == n || opcode[n] == '.');
        if (fits && (!best || n > strlen(best->name))) {
            best = &row;
        }
    }
    return best;
}

/* A statement taken apart; the functions below fill the instruction from it, one family each. */
class Decoder {
  public:
    Decoder(const std::string &statement,
            const std::function<Operand(const std::string &)> &operand)
        : statement_(statement), operand_(operand)
    {
    }

    Decoded decode()
    {
        take_guard();
        take_opcode();
        take_types();
        take_space();
        take_modes();
        take_operands();
        return std::move(out_);
    }

  private:
    [[noreturn]] void refuse(const std::string &why) const
    {
        throw Error("ptx: unsupported: " + statement_ + " (" + why + ")");
    }

    bool has(const char *modifier) const
    {
        return std::find(modifiers_.begin(), modifiers_.end(), modifier) != modifiers_.end();
    }

    void take_guard()
    {
        rest_ = statement_;
        if (rest_[0] != '@') {
            return;
        }
        const size_t space = rest_.find_first_of(" \t");
        std::string guard = rest_.substr(1, space - 1);
        in().guard_negated = guard[0] == '!';
        guard = in().guard_negated ? guard.substr(1) : guard;
        const Operand o = operand_(guard);
        if (o.kind != Operand::REG) {
            refuse("guard");
        }
        in().guard = o.reg;
        rest_ = trim(rest_.substr(space));
    }

    void take_opcode()
    {
        const size_t space = rest_.find_first_of(" \t\n");
        in().text = rest_.substr(0, space);
        if (space != std::string::npos) {
            args_ = split(trim(rest_.substr(space)), ',');
        }
        row_ = find_row(in().text);
        if (!row_) {
            refuse("opcode");
        }
        in().op = row_->op;
        in().cls = row_->cls;
        const size_t n = strlen(row_->name);
        if (in().text.size() > n) {
            modifiers_ = split(in().text.substr(n + 1), '.');
        }
        const std::string known = expand(row_->modifiers);
        for (const std::string &m : modifiers_) {
            if (!in_list(m, known)) {
                refuse("." + m);
            }
        }
    }

    void take_types()
    {
        std::vector<Type> types;
        for (const std::string &m : modifiers_) {
            Type t;
            if (parse_type(m, t)) {
                types.push_back(t);
            }
        }
        const bool two = in().op == Op::cvt || in().op == Op::dp4a;
        if (types.size() > (two ? 2u : 1u) || (two && types.size() != 2)) {
            refuse("types");
        }
        in().type = types.empty() ? B32 : types[0];
        in().result = in().type;
        for (Type &from : in().from) {
            from = in().type;
        }
        if (two) {
            in().from[0] = types[1];
        }
        if (in().type.is_float() && in().cls == Class::integer && in().op != Op::selp) {
            in().cls = Class::floating;
        }
        adapt_types();
    }

    /* Operands whose type is not the instruction's own. */
    void adapt_types()
    {
        Instruction &i = in();
        const Type wide{i.type.kind, (uint8_t)(i.type.bytes * 2)};
        switch (i.op) {
        case Op::mul:
        case Op::mad:
            if (has("wide")) {
                i.result = i.from[2] = wide;
            }
            break;
        case Op::setp: i.result = i.from[2] = PRED; break;
        case Op::selp: i.from[2] = PRED; break;
        case Op::shl:
        case Op::shr: i.from[1] = U32; break;
        case Op::popc:
        case Op::clz:
        case Op::bfind: i.result = U32; break;
        case Op::bfe: i.from[1] = i.from[2] = U32; break;
        case Op::bfi: i.from[2] = i.from[3] = U32; break;
        case Op::dp4a: i.from[1] = i.from[0]; i.from[0] = i.type; i.from[2] = i.type; break;
        case Op::ld: i.from[0] = B64; break;
        case Op::st: i.from[0] = B64; break;
        case Op::atom:
        case Op::red: i.from[0] = B64; break;
        case Op::cp_async: i.from[0] = i.from[1] = B64; break;
        case Op::cvta: i.from[0] = i.result = B64; break;
        case Op::vote:
            i.from[0] = PRED;
            i.from[1] = B32;
            break;
        case Op::match: i.result = i.from[1] = B32; break;
        case Op::redux: i.from[1] = B32; break;
        default: break;
        }
    }

    void take_space()
    {
        static const std::pair<const char *, Space> spaces[] = {
            {"global", Space::global}, {"shared", Space::shared}, {"shared::cta", Space::shared},
            {"local", Space::local}, {"param", Space::param}, {"const", Space::constant}};
        for (const auto &[name, space] : spaces) {
            if (has(name)) {
                in().space = space;
            }
        }
        if (in().op != Op::ld && in().op != Op::st) {
            return;
        }
        in().vec = has("v2") ? 2 : has("v4") ? 4 : 1;
        switch (in().space) {
        case Space::shared: in().cls = Class::shared; break;
        case Space::local: in().cls = Class::local; break;
        case Space::param:
        case Space::constant: in().cls = Class::move; break;
        default: break;
        }
    }

    void take_modes()
    {
        Instruction &i = in();
        i.left = has("l");
        i.clamp = has("clamp");
        i.to = has("to");
        i.shift_amount = has("shiftamt");
        if (i.op == Op::mul || i.op == Op::mad) {
            take_product();
        }
        if (i.op == Op::setp) {
            take_comparison();
        }
        if (i.op == Op::cvt) {
            take_conversion();
        }
        static const std::pair<const char *, Exchange> exchanges[] = {
            {"up", Exchange::up}, {"down", Exchange::down}, {"bfly", Exchange::bfly},
            {"idx", Exchange::idx}, {"ballot", Exchange::ballot}, {"any", Exchange::any},
            {"all", Exchange::all}, {"uni", Exchange::uni}, {"add", Exchange::add},
            {"and", Exchange::and_}, {"or", Exchange::or_}, {"xor", Exchange::xor_},
            {"min", Exchange::min}, {"max", Exchange::max}, {"exch", Exchange::exch},
            {"cas", Exchange::cas}, {"inc", Exchange::inc}, {"dec", Exchange::dec}};
        for (const auto &[name, exchange] : exchanges) {
            if (has(name)) {
                i.exchange = exchange;
            }
        }
    }

    void take_product()
    {
        const bool mad = in().op == Op::mad;
        if (has("wide")) {
            in().op = mad ? Op::mad_wide : Op::mul_wide;
        } else if (has("hi")) {
            in().op = mad ? Op::mad_hi : Op::mul_hi;
        } else if (!has("lo") && !in().type.is_float()) {
            refuse("lo, hi or wide");
        }
    }

    void take_comparison()
    {
        static const struct {
            const char *name;
            Compare compare;
            bool unordered;
        } names[] = {{"eq", Compare::eq, false}, {"ne", Compare::ne, false},
                     {"lt", Compare::lt, false}, {"le", Compare::le, false},
                     {"gt", Compare::gt, false}, {"ge", Compare::ge, false},
                     {"lo", Compare::lt, false}, {"ls", Compare::le, false},
                     {"hi", Compare::gt, false}, {"hs", Compare::ge, false},
                     {"equ", Compare::eq, true}, {"neu", Compare::ne, true},
                     {"ltu", Compare::lt, true}, {"leu", Compare::le, true},
                     {"gtu", Compare::gt, true}, {"geu", Compare::ge, true},
                     {"num", Compare::num, false}, {"nan", Compare::nan, true}};
        bool found = false;
        for (const auto &n : names) {
            if (!modifiers_.empty() && modifiers_[0] == n.name) {
                in().compare = n.compare;
                in().unordered = n.unordered;
                found = true;
            }
        }
        if (!found) {
            refuse("comparison");
        }
        in().combine = has("and") ? Combine::and_
                       : has("or") ? Combine::or_
                       : has("xor") ? Combine::xor_
                                    : Combine::none;
    }

    void take_conversion()
    {
        static const struct {
            const char *name;
            Rounding rounding;
            bool integral;
        } modes[] = {{"rn", Rounding::nearest, false}, {"rz", Rounding::zero, false},
                     {"rm", Rounding::down, false}, {"rp", Rounding::up, false},
                     {"rni", Rounding::nearest, true}, {"rzi", Rounding::zero, true},
                     {"rmi", Rounding::down, true}, {"rpi", Rounding::up, true}};
        for (const auto &m : modes) {
            if (has(m.name)) {
                in().rounding = m.rounding;
                in().integral = m.integral;
            }
        }
        const bool floats = in().type.is_float() || in().from[0].is_float();
        if (floats) {
            in().cls = Class::floating;
        }
        if (in().type.is_float() && in().rounding != Rounding::none &&
            in().rounding != Rounding::nearest && !in().integral) {
            refuse("rounding other than rn of a float result");
        }
    }

    void take_operands()
    {
        Instruction &i = in();
        if (i.op == Op::bra || i.op == Op::brx) {
            const size_t label = i.op == Op::bra ? 0 : 1;
            if (args_.size() != label + 1) {
                refuse("operands");
            }
            out_.label = args_[label];
            i.src[0] = i.op == Op::brx ? operand_(args_[0]) : Operand();
            i.from[0] = U32;
            return;
        }
        size_t at = 0;
        if (row_->has_dst) {
            take_destination(at++ < args_.size() ? args_[0] : "");
        }
        const size_t given = args_.size() - std::min(at, args_.size());
        if (given > 4 || (row_->sources >= 0 && given != (size_t)row_->sources)) {
            refuse("operands");
        }
        for (; at < args_.size(); at++) {
            i.src[i.sources++] = operand_(args_[at]);
        }
        check_operands();
    }

    void take_destination(const std::string &text)
    {
        const size_t bar = text.find('|');
        in().dst = operand_(trim(text.substr(0, bar)));
        if (bar != std::string::npos) {
            in().dst2 = operand_(trim(text.substr(bar + 1)));
        }
        const bool plain = in().dst.kind == Operand::REG || in().dst.kind == Operand::VEC;
        if (!plain) {
            refuse("destination");
        }
    }

    void check_operands() const
    {
        const Instruction &i = out_.instruction;
        const auto parts = [](const Operand &o) {
            return o.kind == Operand::VEC ? o.parts.size() : 1;
        };
        const bool combines = i.combine != Combine::none;
        const int need = i.op == Op::setp ? (combines ? 3 : 2)
                         : i.op == Op::atom || i.op == Op::red
                             ? (i.exchange == Exchange::cas ? 3 : 2)
                             : i.sources;
        if (i.sources != need) {
            refuse("operands");
        }
        if ((i.op == Op::ld && parts(i.dst) != i.vec) ||
            (i.op == Op::st && parts(i.src[1]) != i.vec)) {
            refuse("vector");
        }
        if (i.op == Op::cp_async && (i.sources < 3 || i.src[2].kind != Operand::IMM)) {
            refuse("size");
        }
        if (i.op == Op::bar && (i.sources < 1 || i.sources > 2)) {
            refuse("operands");
        }
    }

    Instruction &in() { return out_.instruction; }

    const std::string &statement_;
    const std::function<Operand(const std::string &)> &operand_;
    Decoded out_;
    const Row *row_ = nullptr;
    std::string rest_;
    std::vector<std::string> modifiers_, args_;
};

} /* namespace */

bool parse_type(const std::string &text, Type &ret_type)
{
    static const std::pair<char, Kind> kinds[] = {
        {'b', Kind::bits}, {'s', Kind::sint}, {'u', Kind::uint}, {'f', Kind::flt}};

    if (text == "pred") {
        ret_type = PRED;
        return true;
    }
    if (text == "bf16") {
        ret_type = {Kind::bf16, 2};
        return true;
    }
    for (const auto &[letter, kind] : kinds) {
        const std::string size = text.substr(std::min<size_t>(1, text.size()));
        if (!text.empty() && text[0] == letter && in_list(size, "8 16 32 64")) {
            ret_type = {kind, (uint8_t)(number(size) / 8)};
            return true;
        }
    }
    return false;
}

Decoded decode(const std::string &statement,
               const std::function<Operand(const std::string &)> &operand)
{
    return Decoder(statement, operand).decode();
}

} /* namespace ptx */
