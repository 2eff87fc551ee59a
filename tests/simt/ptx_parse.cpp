/* SPDX-License-Identifier: Apache-2.0 */
/* Module text to Program: directives, variables, entries, labels, register scopes. */
#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <sstream>

#include "ptx.hpp"
#include "ptx_decode.hpp"
#include "ptx_program.hpp"
#include "ptx_text.hpp"

namespace ptx {
namespace {

const char *const SPECIALS[] = {
    "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y",
    "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%lanemask_lt", "%lanemask_le",
    "%lanemask_gt", "%lanemask_ge", "%lanemask_eq", "%warpid", "%nwarpid", "WARP_SZ",
    "%dynamic_smem_size", "%total_smem_size"};
static_assert(sizeof SPECIALS / sizeof *SPECIALS == (size_t)Special::COUNT, "one name for each");

/* Registers of a kernel. `.reg .b32 %r<30>` declares a family, `.reg .b32 x` one; braces nest, and
 * an inner name hides an outer one. A name that nothing declared is no register. */
class Registers {
  public:
    void open() { scopes_.emplace_back(); }
    void close()
    {
        if (scopes_.size() < 2) {
            throw Error("ptx: a brace too many");
        }
        scopes_.pop_back();
    }

    void declare(const std::string &list)
    {
        for (const std::string &name : split(list, ',')) {
            const size_t angle = name.find('<');
            if (angle == std::string::npos) {
                scopes_.back().names[name] = count_++;
                continue;
            }
            const int n = (int)number(name.substr(angle + 1, name.find('>') - angle - 1));
            scopes_.back().families[name.substr(0, angle)] = {count_, n};
            count_ += n;
        }
    }

    bool find(const std::string &name, int &ret_register) const
    {
        const size_t digits = name.find_last_not_of("0123456789") + 1;
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
            const auto one = scope->names.find(name);
            if (one != scope->names.end()) {
                ret_register = one->second;
                return true;
            }
            const auto family = scope->families.find(name.substr(0, digits));
            if (family != scope->families.end() && digits < name.size()) {
                const int64_t i = strtoll(name.c_str() + digits, nullptr, 10);
                ret_register = family->second.first + (int)i;
                return i < family->second.second;
            }
        }
        return false;
    }

    int count() const { return count_; }

  private:
    struct Scope {
        std::map<std::string, int> names;
        std::map<std::string, std::pair<int, int>> families; /* first, how many */
    };
    std::vector<Scope> scopes_{1};
    int count_ = 0;
};

struct Variable { /* what a name stands for where an address is wanted */
    uint64_t address;
};

struct Declaration { /* [.visible|.extern] .space [.align n] .type name[[n]] [= {values}] */
    Space space = Space::global;
    bool is_extern = false;
    size_t align = 1, element = 0, elements = 1;
    std::string name;
    std::vector<std::string> values;

    size_t bytes() const { return element * elements; }
};

/* Element sizes of declarations: floats and bytes as well as what instructions take. */
Declaration parse_declaration(const std::string &statement)
{
    static const std::pair<const char *, Space> spaces[] = {
        {".shared", Space::shared}, {".local", Space::local}, {".param", Space::param},
        {".const", Space::constant}, {".global", Space::global}};
    Declaration d;
    const size_t equals = statement.find('=');
    const std::vector<std::string> w = words(statement.substr(0, equals));
    bool placed = false;

    for (size_t i = 0; i < w.size(); i++) {
        Type type;
        for (const auto &[name, space] : spaces) {
            if (w[i] == name) {
                d.space = space;
                placed = true;
            }
        }
        d.is_extern = d.is_extern || w[i] == ".extern";
        if (w[i] == ".ptr") {
            break; /* what follows speaks of what the parameter points at; the name comes last */
        }
        if (w[i] == ".align" && i + 1 < w.size()) {
            d.align = (size_t)number(w[i + 1]);
        } else if (!d.element && w[i][0] == '.' && parse_type(w[i].substr(1), type)) {
            d.element = type.bytes;
        }
    }
    if (!placed || !d.element || w.size() < 3) {
        throw Error("ptx: unsupported declaration: " + statement);
    }
    d.name = w.back();
    const size_t bracket = d.name.find('[');
    if (bracket != std::string::npos) {
        const std::string n = d.name.substr(bracket + 1, d.name.find(']') - bracket - 1);
        d.elements = n.empty() ? 0 : (size_t)number(n);
        d.name = d.name.substr(0, bracket);
    }
    if (equals != std::string::npos) {
        std::string list = trim(statement.substr(equals + 1));
        if (!list.empty() && list[0] == '{') {
            list = list.substr(1, list.rfind('}') - 1);
        }
        d.values = split(list, ',');
    }
    d.align = std::max(d.align, d.element);
    return d;
}

class Parser {
  public:
    explicit Parser(const std::string &text) : text_(without_comments(text)) {}

    std::shared_ptr<Program> parse()
    {
        find_files();
        while (skip_space()) {
            module_statement();
        }
        return program_;
    }

  private:
    bool skip_space()
    {
        while (at_ < text_.size() && (isspace((unsigned char)text_[at_]) || text_[at_] == ';')) {
            at_++;
        }
        return at_ < text_.size();
    }

    bool at_word(const char *word) const
    {
        const size_t n = strlen(word);
        return text_.compare(at_, n, word) == 0 && at_ + n < text_.size() &&
               isspace((unsigned char)text_[at_ + n]);
    }

    size_t find(char c, size_t from) const
    {
        const size_t i = text_.find(c, from);
        if (i == std::string::npos) {
            throw Error(std::string("ptx: the text ends before '") + c + "'");
        }
        return i;
    }

    size_t matching_brace(size_t open) const
    {
        int depth = 0;
        for (size_t i = open; i < text_.size(); i++) {
            depth += (text_[i] == '{') - (text_[i] == '}');
            if (depth == 0) {
                return i;
            }
        }
        throw Error("ptx: a brace does not close");
    }

    std::string take_line()
    {
        const size_t end = std::min(text_.find('\n', at_), text_.size());
        const std::string line = text_.substr(at_, end - at_);
        at_ = end;
        return line;
    }

    void module_statement()
    {
        if (at_word(".version") || at_word(".target") || at_word(".address_size") ||
            at_word(".file")) {
            take_line();
        } else if (at_word(".section")) {
            at_ = matching_brace(find('{', at_)) + 1;
        } else {
            const size_t end = std::min(find_or_end(';'), find_or_end('{'));
            const std::string head = text_.substr(at_, end - at_);
            if (head.find(".entry") != std::string::npos) {
                take_entry();
            } else if (head.find(".func") != std::string::npos) {
                /* A declaration, or a body that no call can reach: call is refused by name. */
                at_ = text_[end] == '{' ? matching_brace(end) + 1 : end + 1;
            } else {
                const size_t semicolon = find(';', at_);
                declare(parse_declaration(text_.substr(at_, semicolon - at_)), nullptr, globals_);
                at_ = semicolon + 1;
            }
        }
    }

    size_t find_or_end(char c) const { return std::min(text_.find(c, at_), text_.size()); }

    /* .file 1 "name", all of them at the end of the text and so read ahead of everything else. */
    void find_files()
    {
        std::stringstream lines(text_);
        for (std::string line; std::getline(lines, line);) {
            const std::vector<std::string> w = words(line);
            const size_t open = line.find('"'), close = line.rfind('"');
            if (w.size() < 3 || w[0] != ".file" || open >= close) {
                continue;
            }
            const int id = (int)number(w[1]);
            const std::string path = line.substr(open + 1, close - open - 1);
            program_->files[id] = path.substr(path.rfind('/') + 1);
            if (path.find("cuda") != std::string::npos &&
                path.find("/include/") != std::string::npos) {
                toolkit_files_.insert(id);
            }
        }
    }

    void take_entry()
    {
        const size_t open_brace = find('{', at_), close = matching_brace(open_brace);
        const std::string head = text_.substr(at_, open_brace - at_);
        const size_t name_at = head.find(".entry") + strlen(".entry"), paren = head.find('(');
        const std::string name = trim(head.substr(name_at, paren - name_at));
        Kernel &kernel = program_->kernels[name];

        kernel.name = name;
        kernel.shared_bytes = shared_bytes_; /* the module's own come first */
        locals_.clear();
        registers_ = Registers();
        size_t params_end = name_at;
        if (paren != std::string::npos) {
            params_end = head.find(')', paren);
            for (const std::string &p :
                 split(head.substr(paren + 1, params_end - paren - 1), ',')) {
                declare(parse_declaration(p), &kernel, locals_);
            }
        }
        take_limits(head.substr(params_end), kernel);
        at_ = open_brace + 1;
        take_body(close, kernel);
        kernel.registers = registers_.count();
        at_ = close + 1;
    }

    void take_limits(const std::string &directives, Kernel &kernel)
    {
        for (const char *directive : {".maxntid", ".reqntid"}) {
            const size_t at = directives.find(directive);
            if (at == std::string::npos) {
                continue;
            }
            const size_t first = at + strlen(directive),
                         end = directives.find_first_of(".\n", first);
            unsigned product = 1;
            for (const std::string &n : split(directives.substr(first, end - first), ',')) {
                product *= (unsigned)number(n);
            }
            kernel.max_threads = std::min(kernel.max_threads, product);
        }
    }

    /* kernel NULL: at module scope. */
    void declare(const Declaration &d, Kernel *kernel, std::map<std::string, Variable> &names)
    {
        if (d.space == Space::global || d.space == Space::constant) {
            names[d.name] = {make_global(d)};
            return;
        }
        if (d.space == Space::shared && d.is_extern) {
            names[d.name] = {DYNAMIC_SHARED};
            return;
        }
        if (!kernel && d.space != Space::shared) {
            throw Error("ptx: unsupported at module scope: " + d.name);
        }
        size_t &used = !kernel                    ? shared_bytes_
                       : d.space == Space::shared ? kernel->shared_bytes
                       : d.space == Space::local  ? kernel->local_bytes
                                                  : kernel->param_bytes;
        used = (used + d.align - 1) / d.align * d.align;
        names[d.name] = {used};
        if (d.space == Space::param) {
            kernel->params.push_back({used, d.bytes()});
        }
        used += d.bytes();
    }

    uint64_t make_global(const Declaration &d)
    {
        Global g{d.name, nullptr, d.bytes(), d.space == Space::global};
        if (d.is_extern || d.align > 8 * 2 || d.values.size() > d.elements) {
            throw Error("ptx: unsupported variable: " + d.name);
        }
        /* Two spare words let the start be moved to any alignment up to 16. */
        g.memory.reset(new uint64_t[(d.bytes() + 7) / 8 + 2]());
        char *start = reinterpret_cast<char *>(((uintptr_t)g.memory.get() + 15) / 16 * 16);
        for (size_t i = 0; i < d.values.size(); i++) {
            const int64_t v = number(d.values[i]);
            memcpy(start + i * d.element, &v, d.element);
        }
        program_->globals.push_back(std::move(g));
        return (uint64_t)start;
    }

    void take_body(size_t end, Kernel &kernel)
    {
        labels_.clear();
        tables_.clear();
        pending_.clear();
        file_ = line_ = 0;
        while (skip_space() && at_ < end) {
            if (text_[at_] == '{') {
                registers_.open();
                at_++;
            } else if (text_[at_] == '}') {
                registers_.close();
                at_++;
            } else if (at_word(".loc")) {
                take_loc();
            } else if (!take_label(kernel)) {
                const size_t semicolon = find(';', at_);
                const std::string statement = trim(text_.substr(at_, semicolon - at_));
                at_ = semicolon + 1;
                body_statement(statement, kernel);
            }
        }
        resolve_labels(kernel);
        Instruction falling_off;
        falling_off.op = Op::ret;
        falling_off.text = "ret";
        kernel.code.push_back(falling_off);
    }

    void take_loc() /* .loc file line column [, function_name ..., inlined_at ...] */
    {
        const std::vector<std::string> w = words(take_line());
        if (w.size() < 3) {
            return;
        }
        /* nvcc prints the outermost place of an inlined chain first; inside an intrinsic's header
         * its call, the place before, is what the reader wants. */
        if (!toolkit_files_.count((int)number(w[1]))) {
            file_ = (int)number(w[1]);
            line_ = (int)number(w[2]);
        }
    }

    bool take_label(const Kernel &kernel)
    {
        size_t end = at_;
        while (isalnum((unsigned char)text_[end]) || strchr("$_%", text_[end])) {
            end++;
        }
        if (text_[end] != ':' || text_[end + 1] == ':') {
            return false;
        }
        last_label_ = text_.substr(at_, end - at_);
        labels_[last_label_] = (int)kernel.code.size();
        at_ = end + 1;
        return true;
    }

    void body_statement(const std::string &s, Kernel &kernel)
    {
        if (starts_with(s, ".reg")) {
            const size_t type = s.find('.', 1), names = s.find_first_of(" \t", type);
            registers_.declare(trim(s.substr(names)));
        } else if (starts_with(s, ".branchtargets")) {
            tables_[last_label_] = split(s.substr(strlen(".branchtargets")), ',');
        } else if (starts_with(s, ".pragma")) {
            return; /* hints to ptxas */
        } else if (s[0] == '.') {
            declare(parse_declaration(s), &kernel, locals_);
        } else {
            Decoded d = decode(s, [this](const std::string &text) { return operand(text); });
            d.instruction.file = file_;
            d.instruction.line = line_;
            pending_.push_back(d.label);
            kernel.code.push_back(std::move(d.instruction));
        }
    }

    int label(const std::string &name) const
    {
        const auto found = labels_.find(name);
        if (found == labels_.end()) {
            throw Error("ptx: no label " + name);
        }
        return found->second;
    }

    void resolve_labels(Kernel &kernel) const
    {
        for (size_t i = 0; i < kernel.code.size(); i++) {
            Instruction &in = kernel.code[i];
            if (in.op == Op::bra) {
                in.target = label(pending_[i]);
            } else if (in.op == Op::brx) {
                const auto table = tables_.find(pending_[i]);
                if (table == tables_.end()) {
                    throw Error("ptx: no branch table " + pending_[i]);
                }
                for (const std::string &name : table->second) {
                    in.targets.push_back(label(name));
                }
            }
        }
    }

    Operand operand(const std::string &text) const
    {
        Operand o;

        if (text.empty()) {
            throw Error("ptx: an operand is missing");
        }
        if (text[0] == '{') {
            o.kind = Operand::VEC;
            for (const std::string &part : split(text.substr(1, text.size() - 2), ',')) {
                o.parts.push_back(operand(part));
            }
        } else if (text[0] == '[') {
            o = address(trim(text.substr(1, text.size() - 2)));
        } else if (text[0] == '!') {
            o = operand(trim(text.substr(1)));
            o.negate = true;
        } else if (is_number(text)) {
            o.kind = Operand::IMM;
            o.imm = number(text);
        } else if (!find_special(text, o)) {
            find_name(text, o);
        }
        return o;
    }

    Operand address(const std::string &text) const /* base, base+offset */
    {
        const size_t plus = text.find('+');
        Operand o = operand(trim(text.substr(0, plus)));
        if (o.kind != Operand::REG && o.kind != Operand::IMM) {
            throw Error("ptx: unsupported address: " + text);
        }
        if (plus != std::string::npos) {
            o.imm += number(trim(text.substr(plus + 1)));
        }
        return o;
    }

    static bool find_special(const std::string &name, Operand &o)
    {
        for (size_t i = 0; i < (size_t)Special::COUNT; i++) {
            if (name == SPECIALS[i]) {
                o.kind = Operand::SPECIAL;
                o.special = (Special)i;
                return true;
            }
        }
        return false;
    }

    void find_name(const std::string &name, Operand &o) const
    {
        if (name == "_") {
            o.kind = Operand::REG; /* a sink: register -1 is never written */
            return;
        }
        if (registers_.find(name, o.reg)) {
            o.kind = Operand::REG;
            return;
        }
        auto v = locals_.find(name);
        if (v == locals_.end()) {
            v = globals_.find(name);
            if (v == globals_.end()) {
                throw Error("ptx: unknown name " + name);
            }
        }
        o.kind = Operand::IMM;
        o.imm = (int64_t)v->second.address;
    }

    std::shared_ptr<Program> program_ = std::make_shared<Program>();
    std::string text_;
    size_t at_ = 0;
    size_t shared_bytes_ = 0; /* of the variables at module scope */
    std::map<std::string, Variable> globals_, locals_;
    Registers registers_;
    std::map<std::string, int> labels_;
    std::map<std::string, std::vector<std::string>> tables_;
    std::vector<std::string> pending_; /* the label of each instruction, most of them empty */
    std::string last_label_;
    std::set<int> toolkit_files_; /* headers of CUDA itself */
    int file_ = 0, line_ = 0;
};

} /* namespace */

std::shared_ptr<Program> parse(const std::string &text)
{
    return Parser(text).parse();
}

} /* namespace ptx */
