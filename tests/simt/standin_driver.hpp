/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in driver remembers, and the frame of every exported function.
 *
 * One Driver per process behind one mutex; nothing runs in the background. Handles are addresses of
 * objects that stay allocated after their end, so that a stale handle is recognised and refused. */
#ifndef LP_TESTS_STANDIN_DRIVER_HPP
#define LP_TESTS_STANDIN_DRIVER_HPP

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simt_export.hpp"
#include "standin.h"
#include "standin_abi.hpp"

namespace standin {

enum class Alias { off, on, strict };

struct Options { /* see standin.h */
    Alias alias = Alias::off;
    bool read_only = true, align = true, deferred = true, stub = false;
    unsigned devices = 1, sm = 80;
    uint64_t memory = 8ull << 30, register_limit = UINT64_MAX;
};

/* Sets one option from text; false: unknown name or bad value. */
bool set_option(Options &options, const std::string &name, const std::string &value);

constexpr unsigned MAX_DEVICES = 8, PAGE_BYTES = 4096;

struct Context {
    Device device = 0;
    unsigned retains = 0;
    int sticky = SUCCESS; /* an error that no later call gets past, as after an illegal access */
};

struct Point { /* a place in a stream's order of work */
    Stream *stream;
    uint64_t number;
};

struct Operation {
    std::function<void()> run;
    std::vector<Point> after; /* in other streams */
};

struct Graph {
    std::vector<Operation> operations;
    bool broken = false; /* something that a capture must not hold was called meanwhile */
};

struct GraphExec {
    std::vector<Operation> operations;
};

struct Stream {
    Context *context = nullptr;
    bool blocking = true; /* waits for, and is waited for by, the default stream */
    std::deque<Operation> queue;
    uint64_t enqueued = 0, done = 0;
    Graph *capture = nullptr;
};

struct Event {
    Context *context = nullptr;
    bool timing = true, recorded = false;
    Point at{nullptr, 0};
    uint64_t time_ns = 0; /* when the stream reached it */
};

struct ModuleHandle {
    Context *context = nullptr;
    std::string ptx; /* of a text image: only its entries are found; others hold what they hold */
};

struct Function {
    ModuleHandle *module = nullptr;
    const simt::Exported *kernel = nullptr;
    int max_dynamic_bytes = 48 << 10; /* without asking for more, as on every device */
};

struct Allocation {
    Context *context;
    size_t bytes;
    bool host; /* cuMemAllocHost */
};

struct Registration {
    Context *context;
    size_t bytes;
    unsigned flags;
    uintptr_t alias; /* device address; the host's own where there is no second mapping */
    int protection;  /* of the host mapping */
};

/* Objects by handle: alive, or kept so that their addresses are not given out again. */
template <class T> class Handles {
  public:
    T *make()
    {
        alive_.emplace_back(new T);
        return alive_.back().get();
    }
    bool has(const T *handle) const
    {
        for (const auto &p : alive_) {
            if (p.get() == handle) {
                return true;
            }
        }
        return false;
    }
    void end(const T *handle)
    {
        for (auto p = alive_.begin(); p != alive_.end(); ++p) {
            if (p->get() == handle) {
                ended_.push_back(std::move(*p));
                alive_.erase(p);
                return;
            }
        }
    }
    /* All of one context; how many they were. */
    uint64_t end_all(const Context *context)
    {
        uint64_t n = 0;
        for (size_t i = 0; i < alive_.size();) {
            if (alive_[i]->context != context) {
                i++;
                continue;
            }
            ended_.push_back(std::move(alive_[i]));
            alive_.erase(alive_.begin() + (ptrdiff_t)i);
            n++;
        }
        return n;
    }
    const std::vector<std::unique_ptr<T>> &alive() const { return alive_; }

  private:
    std::vector<std::unique_ptr<T>> alive_, ended_;
};

struct Fault {
    unsigned nth;
    int error; /* 0: the function's own */
};

struct Driver {
    std::mutex lock;
    Options options;
    bool initialised = false;
    Context contexts[MAX_DEVICES];
    std::map<std::string, Fault> faults;
    std::map<std::string, uint64_t> calls;
    std::map<uintptr_t, Allocation> allocations;
    std::map<uintptr_t, Registration> registrations; /* by host address */
    Handles<Stream> streams;
    Handles<Event> events;
    Handles<ModuleHandle> modules;
    Handles<Function> functions;
    Handles<Graph> graphs;
    Handles<GraphExec> graph_execs;
    std::map<Context *, Stream *> default_streams;
    uint64_t launches = 0, freed_by_context = 0;
};

Driver &driver();

/* The current context of the calling thread; a stack, as cuCtxPushCurrent wants. */
std::vector<Context *> &context_stack();
Context *current_context();

enum class Need { nothing, init, context };
enum class Capture { allowed, refused }; /* while any stream of the process is captured */

/* First line of every exported function: takes the lock, counts, and finds what fails the call
 * before it does anything (a fault asked for, no init, no context, a sticky error, a capture). */
class Call {
  public:
    Call(const char *function, Need need, Capture capture = Capture::allowed);
    ~Call();
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    int error = SUCCESS;

  private:
    std::unique_lock<std::mutex> lock_;
};

/* Work; all with the lock held. stream NULL is the default stream of the current context. */
Stream *find_stream(Stream *handle); /* NULL: no such stream */
void enqueue(Stream *stream, std::function<void()> run, std::vector<Point> after = {});
void run_until(Point point);
void run_stream(Stream *stream);
void run_everything(Context *context);
uint64_t queued_operations();

/* Memory; NULL: not within one allocation or registration. */
unsigned char *device_memory(DevicePtr address, size_t bytes);
bool is_pinned(const void *p, size_t bytes);
const Registration *registration_of_host(uintptr_t address, uintptr_t *ret_begin);
void end_memory_of(Context *context); /* what a context takes with it */
void protect_host_aliases(bool hide); /* Alias::strict */

} /* namespace standin */

#endif
