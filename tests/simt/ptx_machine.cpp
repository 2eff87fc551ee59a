/* SPDX-License-Identifier: Apache-2.0 */
/* What a test uses: modules, buffers, launches, each checked before anything runs. */
#include <fstream>
#include <sstream>

#include "ptx.hpp"
#include "ptx_execution.hpp"
#include "ptx_program.hpp"

namespace ptx {

Module::Module(const std::string &text) : program(parse(text)) {}

Module Module::load(const std::string &path)
{
    std::ifstream file(path);
    std::stringstream text;

    text << file.rdbuf();
    if (!file) {
        throw Error("ptx: cannot read " + path);
    }
    return Module(text.str());
}

std::vector<std::string> Module::entries() const
{
    std::vector<std::string> names;
    for (const auto &entry : program->kernels) {
        names.push_back(entry.first);
    }
    return names;
}

std::string Module::find(const std::string &name) const
{
    std::vector<std::string> found;

    if (program->kernels.count(name)) {
        return name;
    }
    for (const std::string &entry : entries()) {
        if (entry.find(name) != std::string::npos) {
            found.push_back(entry);
        }
    }
    if (found.size() != 1) {
        throw Error("ptx: " + std::to_string(found.size()) + " entries are named like " + name);
    }
    return found[0];
}

size_t Module::shared_bytes(const std::string &entry) const
{
    return program->kernels.at(find(entry)).shared_bytes;
}

Machine::Machine(const Module &module) : module_(module) {}

int Machine::allow(const std::string &name, const void *p, size_t bytes)
{
    return add_range(name, (uint64_t)p, bytes, false);
}

int Machine::allow(const std::string &name, void *p, size_t bytes)
{
    return add_range(name, (uint64_t)p, bytes, true);
}

int Machine::add_range(const std::string &name, uint64_t begin, size_t bytes, bool writable)
{
    for (const Range &r : ranges_) {
        if (begin < r.begin + r.bytes && r.begin < begin + bytes) {
            throw Error("ptx: buffer '" + name + "' overlaps '" + r.name + "'");
        }
    }
    ranges_.push_back({name, begin, bytes, writable});
    return (int)ranges_.size() - 1;
}

static std::vector<unsigned char> pack_params(const Kernel &kernel, const std::vector<Arg> &args)
{
    std::vector<unsigned char> params(kernel.param_bytes);

    if (args.size() != kernel.params.size()) {
        throw Error("ptx: " + kernel.name + " takes " + std::to_string(kernel.params.size()) +
                    " parameters, not " + std::to_string(args.size()));
    }
    for (size_t i = 0; i < args.size(); i++) {
        const Parameter &p = kernel.params[i];
        if (args[i].bytes.size() != p.bytes) {
            throw Error("ptx: parameter " + std::to_string(i) + " of " + kernel.name + " has " +
                        std::to_string(p.bytes) + " bytes, not " +
                        std::to_string(args[i].bytes.size()));
        }
        memcpy(params.data() + p.offset, args[i].bytes.data(), p.bytes);
    }
    return params;
}

Counts Machine::launch(const std::string &entry, Dim grid, Dim block, const std::vector<Arg> &args,
                       size_t dynamic_shared_bytes)
{
    const Kernel &kernel = module_.program->kernels.at(module_.find(entry));
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    std::vector<Range> ranges = ranges_;

    if (threads == 0 || threads > kernel.max_threads) {
        throw Error("ptx: " + kernel.name + " in blocks of " + std::to_string(threads) +
                    " threads, at most " + std::to_string(kernel.max_threads));
    }
    for (const Global &g : module_.program->globals) {
        const uint64_t start = ((uint64_t)g.memory.get() + 15) / 16 * 16;
        ranges.push_back({g.name, start, g.bytes, g.writable});
    }
    Execution execution(*module_.program, kernel, ranges, fill);
    return execution.run(grid, block, pack_params(kernel, args), dynamic_shared_bytes);
}

} /* namespace ptx */
