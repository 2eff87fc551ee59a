/* SPDX-License-Identifier: Apache-2.0 */
/* Options, faults, the frame of a call, and the remote control. */
#include "standin_driver.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace standin {
namespace {

const char *const OPTION_NAMES[] = {"ALIAS", "READ_ONLY", "ALIGN", "ASYNC", "DEVICES", "SM",
                                    "MEMORY", "REGISTER_LIMIT", "STUB"};
const char *const FUNCTION_NAMES[] = {
#define X(function, parameters) #function,
    STANDIN_FUNCTIONS(X)
#undef X
};

/* This thread is inside a call: what it calls now comes from a host function of a stream. */
thread_local bool inside_call = false;

[[noreturn]] void refuse(const std::string &name, const char *value)
{
    fprintf(stderr, "standin: %s=%s cannot be read\n", name.c_str(), value);
    exit(2);
}

bool parse_number(const std::string &text, uint64_t max, uint64_t *ret_value)
{
    char *end = nullptr;
    errno = 0;
    const unsigned long long v = strtoull(text.c_str(), &end, 10);
    if (errno || text.empty() || *end || text[0] == '-' || v > max) {
        return false;
    }
    *ret_value = v;
    return true;
}

bool known_function(const std::string &name)
{
    for (const char *f : FUNCTION_NAMES) {
        if (name == f) {
            return true;
        }
    }
    return false;
}

/* What each function says when it fails on its own; everything else: unknown error. */
int usual_error(const std::string &function)
{
    static const std::map<std::string, int> errors = {
        {"cuInit", NO_DEVICE},           {"cuModuleLoadData", NO_BINARY_FOR_GPU},
        {"cuMemAlloc_v2", OUT_OF_MEMORY}, {"cuModuleLoadDataEx", NO_BINARY_FOR_GPU},
        {"cuMemAllocHost_v2", OUT_OF_MEMORY}, {"cuMemHostAlloc", OUT_OF_MEMORY},
        {"cuMemHostRegister_v2", OUT_OF_MEMORY}, {"cuDevicePrimaryCtxRetain", OUT_OF_MEMORY},
        {"cuStreamCreate", OUT_OF_MEMORY}, {"cuModuleGetFunction", NOT_FOUND},
        {"cuLaunchKernel", LAUNCH_OUT_OF_RESOURCES},
        {"cuMemHostGetDevicePointer_v2", INVALID_VALUE},
    };
    const auto found = errors.find(function);
    return found == errors.end() ? UNKNOWN : found->second;
}

/* NAME:N[:CODE],... */
bool parse_faults(const std::string &list, std::map<std::string, Fault> *ret_faults)
{
    for (size_t at = 0; at < list.size();) {
        const size_t end = std::min(list.find(',', at), list.size());
        const std::string one = list.substr(at, end - at);
        const size_t first = one.find(':');
        const size_t second = first == std::string::npos ? first : one.find(':', first + 1);
        uint64_t n = 0, code = 0;
        if (first == std::string::npos || !known_function(one.substr(0, first)) ||
            !parse_number(one.substr(first + 1, second - first - 1), UINT32_MAX, &n) || n == 0 ||
            (second != std::string::npos && !parse_number(one.substr(second + 1), 999, &code))) {
            return false;
        }
        (*ret_faults)[one.substr(0, first)] = {(unsigned)n, (int)code};
        at = end + 1;
    }
    return true;
}

void read_environment(Driver &d)
{
    for (const char *name : OPTION_NAMES) {
        const std::string variable = std::string("LANEPACK_STANDIN_") + name;
        const char *value = getenv(variable.c_str());
        if (value && !set_option(d.options, name, value)) {
            refuse(variable, value);
        }
    }
    const char *faults = getenv("LANEPACK_STANDIN_FAIL");
    if (faults && !parse_faults(faults, &d.faults)) {
        refuse("LANEPACK_STANDIN_FAIL", faults);
    }
    for (unsigned i = 0; i < MAX_DEVICES; i++) {
        d.contexts[i].device = (int)i;
    }
}

bool any_capture(Driver &d, bool breaks)
{
    bool found = false;
    for (const auto &stream : d.streams.alive()) {
        if (stream->capture) {
            stream->capture->broken = stream->capture->broken || breaks;
            found = true;
        }
    }
    return found;
}

} /* namespace */

bool set_option(Options &o, const std::string &name, const std::string &value)
{
    uint64_t n = 0;

    if (name == "ALIAS") {
        o.alias = value == "strict" ? Alias::strict : value == "1" ? Alias::on : Alias::off;
        return value == "strict" || value == "1" || value == "0";
    }
    if (name == "ASYNC") {
        o.deferred = value == "deferred";
        return value == "deferred" || value == "eager";
    }
    if (!parse_number(value, UINT64_MAX, &n)) {
        return false;
    }
    if (name == "READ_ONLY" || name == "ALIGN" || name == "STUB") {
        bool &flag = name == "READ_ONLY" ? o.read_only : name == "ALIGN" ? o.align : o.stub;
        flag = n != 0;
        return n <= 1;
    }
    if (name == "DEVICES") {
        o.devices = (unsigned)n;
        return n <= MAX_DEVICES;
    }
    if (name == "SM") {
        o.sm = (unsigned)n;
        return n >= 50 && n < 1000;
    }
    if (name == "MEMORY" || name == "REGISTER_LIMIT") {
        (name == "MEMORY" ? o.memory : o.register_limit) = n;
        return true;
    }
    return false;
}

/* Never destroyed: host code may call until the very end of the process. */
Driver &driver()
{
    static Driver *const the_driver = [] {
        Driver *d = new Driver;
        read_environment(*d);
        return d;
    }();
    return *the_driver;
}

std::vector<Context *> &context_stack()
{
    thread_local std::vector<Context *> stack;
    return stack;
}

Context *current_context()
{
    return context_stack().empty() ? nullptr : context_stack().back();
}

Call::Call(const char *function, Need need, Capture capture)
{
    if (inside_call) {
        error = NOT_PERMITTED; /* and the lock is this thread's already */
        return;
    }
    Driver &d = driver();
    lock_ = std::unique_lock<std::mutex>(d.lock);
    inside_call = true;
    const uint64_t n = ++d.calls[function];
    const auto fault = d.faults.find(function);
    Context *context = current_context();
    if (fault != d.faults.end() && fault->second.nth == n) {
        error = fault->second.error ? fault->second.error : usual_error(function);
    } else if (need != Need::nothing && !d.initialised) {
        error = NOT_INITIALIZED;
    } else if (need == Need::context && (!context || context->retains == 0)) {
        error = INVALID_CONTEXT;
    } else if (need == Need::context && context->sticky) {
        error = context->sticky;
    } else if (capture == Capture::refused && any_capture(d, true)) {
        error = STREAM_CAPTURE_UNSUPPORTED;
    }
    /* What a device fault leaves behind ends the context, whichever call reports it first. */
    const bool device_fault = error == ILLEGAL_ADDRESS || error == LAUNCH_FAILED;
    if (device_fault && context) {
        context->sticky = error;
    }
}

Call::~Call()
{
    if (lock_.owns_lock()) {
        inside_call = false;
    }
}

} /* namespace standin */

using namespace standin;

#define STANDIN_CONTROL extern "C" __attribute__((visibility("default")))

STANDIN_CONTROL void lp_standin_get_counts(struct lp_standin_counts *ret_counts)
{
    Driver &d = driver();
    const std::lock_guard<std::mutex> lock(d.lock);
    struct lp_standin_counts c = {};

    for (const Context &context : d.contexts) {
        c.contexts += context.retains;
    }
    for (const auto &a : d.allocations) {
        c.allocations++;
        c.allocated_bytes += a.second.bytes;
    }
    for (const auto &r : d.registrations) {
        c.registrations++;
        c.registered_bytes += r.second.bytes;
        c.aliased += r.second.alias != r.first;
    }
    c.modules = d.modules.alive().size();
    c.streams = d.streams.alive().size() - d.default_streams.size();
    c.events = d.events.alive().size();
    c.graphs = d.graphs.alive().size() + d.graph_execs.alive().size();
    c.queued = queued_operations();
    c.launches = d.launches;
    c.freed_by_context = d.freed_by_context;
    *ret_counts = c;
}

STANDIN_CONTROL int lp_standin_report_leaks(void)
{
    struct lp_standin_counts c;

    lp_standin_get_counts(&c);
    const struct {
        const char *what;
        uint64_t n;
    } kinds[] = {{"retained contexts", c.contexts}, {"allocations", c.allocations},
                 {"registrations", c.registrations}, {"modules", c.modules},
                 {"streams", c.streams}, {"events", c.events}, {"graphs", c.graphs},
                 {"objects that outlived their context", c.freed_by_context}};
    uint64_t total = 0;
    for (const auto &k : kinds) {
        total += k.n;
        if (k.n) {
            fprintf(stderr, "standin: leak: %llu %s\n", (unsigned long long)k.n, k.what);
        }
    }
    return (int)total;
}

STANDIN_CONTROL int lp_standin_fail(const char *function, unsigned nth, int error)
{
    Driver &d = driver();
    const std::lock_guard<std::mutex> lock(d.lock);

    if (!known_function(function)) {
        return -1;
    }
    d.faults.erase(function);
    d.calls.erase(function);
    if (nth) {
        d.faults[function] = {nth, error};
    }
    return 0;
}

STANDIN_CONTROL uint64_t lp_standin_calls(const char *function)
{
    Driver &d = driver();
    const std::lock_guard<std::mutex> lock(d.lock);
    const auto found = d.calls.find(function);
    return found == d.calls.end() ? 0 : found->second;
}

STANDIN_CONTROL int lp_standin_set(const char *name, const char *value)
{
    Driver &d = driver();
    const std::lock_guard<std::mutex> lock(d.lock);
    Options changed = d.options;

    if (!set_option(changed, name, value)) {
        return -1;
    }
    d.options = changed;
    return 0;
}

STANDIN_CONTROL void lp_standin_reset(void)
{
    Driver &d = driver();
    const std::lock_guard<std::mutex> lock(d.lock);

    d.faults.clear();
    d.calls.clear();
    d.freed_by_context = 0;
    for (Context &context : d.contexts) {
        context.sticky = SUCCESS;
    }
}
