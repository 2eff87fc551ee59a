/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events and captured graphs: order of work, run at the latest moment allowed. */
#include <algorithm>
#include <ctime>

#include "standin_driver.hpp"

namespace standin {

static Stream *default_stream(Context *context)
{
    Driver &d = driver();
    Stream *&stream = d.default_streams[context];
    if (!stream) {
        stream = d.streams.make();
        stream->context = context;
    }
    return stream;
}

/* Handles 1 and 2 are CU_STREAM_LEGACY and CU_STREAM_PER_THREAD; the latter, a blocking stream too,
 * is the same here, which orders more than a real driver would. */
Stream *find_stream(Stream *handle)
{
    if (reinterpret_cast<uintptr_t>(handle) <= 2) {
        return default_stream(current_context());
    }
    return driver().streams.has(handle) ? handle : nullptr;
}

/* The default stream waits for all blocking streams, and they for it. */
static std::vector<Point> implicit_order(const Stream *stream)
{
    Driver &d = driver();
    std::vector<Point> after;
    const Stream *own = d.default_streams[stream->context];

    if (!stream->blocking) {
        return after;
    }
    for (const auto &other : d.streams.alive()) {
        const bool ordered = other->blocking && (stream == own || other.get() == own);
        if (other.get() != stream && other->context == stream->context && ordered) {
            after.push_back({other.get(), other->enqueued});
        }
    }
    return after;
}

void enqueue(Stream *stream, std::function<void()> run, std::vector<Point> after)
{
    if (stream->capture) {
        stream->capture->operations.push_back({std::move(run), std::move(after)});
        return;
    }
    for (const Point &p : implicit_order(stream)) {
        after.push_back(p);
    }
    stream->queue.push_back({std::move(run), std::move(after)});
    stream->enqueued++;
    if (!driver().options.deferred) {
        run_stream(stream);
    }
}

void run_until(Point point)
{
    Stream *stream = point.stream;

    while (stream->done < point.number && !stream->queue.empty()) {
        Operation operation = std::move(stream->queue.front());
        stream->queue.pop_front();
        for (const Point &p : operation.after) {
            run_until(p);
        }
        operation.run();
        stream->done++;
    }
}

void run_stream(Stream *stream)
{
    run_until({stream, stream->enqueued});
}

/* The youngest stream first: an order that nobody asked for must not be the one that works. */
void run_everything(Context *context)
{
    std::vector<Stream *> streams;
    for (const auto &stream : driver().streams.alive()) {
        if (stream->context == context) {
            streams.push_back(stream.get());
        }
    }
    std::for_each(streams.rbegin(), streams.rend(), run_stream);
}

uint64_t queued_operations()
{
    uint64_t n = 0;
    for (const auto &stream : driver().streams.alive()) {
        n += stream->queue.size();
    }
    return n;
}

int cuStreamCreateWithPriority(Stream **stream, unsigned flags, int)
{
    Call call(__func__, Need::context, Capture::refused);
    if (!call.error && flags > STREAM_NON_BLOCKING) {
        return INVALID_VALUE;
    }
    if (!call.error) {
        *stream = driver().streams.make();
        (*stream)->context = current_context();
        (*stream)->blocking = !(flags & STREAM_NON_BLOCKING);
    }
    return call.error;
}

int cuStreamCreate(Stream **stream, unsigned flags)
{
    Call call(__func__, Need::context, Capture::refused);
    if (!call.error && flags > STREAM_NON_BLOCKING) {
        return INVALID_VALUE;
    }
    if (!call.error) {
        *stream = driver().streams.make();
        (*stream)->context = current_context();
        (*stream)->blocking = !(flags & STREAM_NON_BLOCKING);
    }
    return call.error;
}

int cuStreamDestroy_v2(Stream *handle)
{
    Call call(__func__, Need::context, Capture::refused);
    if (call.error) {
        return call.error;
    }
    if (!driver().streams.has(handle) || handle == default_stream(current_context())) {
        return INVALID_HANDLE;
    }
    run_stream(handle);
    driver().streams.end(handle);
    return SUCCESS;
}

int cuStreamSynchronize(Stream *handle)
{
    Call call(__func__, Need::context, Capture::refused);
    if (call.error) {
        return call.error;
    }
    Stream *stream = find_stream(handle);
    if (!stream) {
        return INVALID_HANDLE;
    }
    if (stream == default_stream(current_context())) {
        for (const Point &p : implicit_order(stream)) { /* all blocking streams */
            run_until(p);
        }
    }
    run_stream(stream);
    return SUCCESS;
}

/* One operation per question, so that a loop of questions ends and has been told "not ready". */
int cuStreamQuery(Stream *handle)
{
    Call call(__func__, Need::context, Capture::refused);
    if (call.error) {
        return call.error;
    }
    Stream *stream = find_stream(handle);
    if (!stream) {
        return INVALID_HANDLE;
    }
    if (stream->queue.empty()) {
        return SUCCESS;
    }
    run_until({stream, stream->done + 1});
    return NOT_READY;
}

int cuStreamGetCtx(Stream *handle, Context **context)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    const Stream *stream = find_stream(handle);
    if (!stream) {
        return INVALID_HANDLE;
    }
    *context = stream->context;
    return SUCCESS;
}

int cuStreamWaitEvent(Stream *handle, Event *event, unsigned)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    Stream *stream = find_stream(handle);
    if (!stream || !driver().events.has(event)) {
        return INVALID_HANDLE;
    }
    if (stream->capture) {
        return STREAM_CAPTURE_UNSUPPORTED; /* captures of one stream only */
    }
    if (event->recorded) {
        enqueue(stream, [] {}, {event->at});
    }
    return SUCCESS;
}

int cuEventCreate(Event **event, unsigned flags)
{
    Call call(__func__, Need::context);
    if (!call.error) {
        *event = driver().events.make();
        (*event)->context = current_context();
        (*event)->timing = !(flags & EVENT_DISABLE_TIMING);
    }
    return call.error;
}

int cuEventDestroy_v2(Event *event)
{
    Call call(__func__, Need::context);
    if (!call.error && !driver().events.has(event)) {
        return INVALID_HANDLE;
    }
    if (!call.error) {
        driver().events.end(event);
    }
    return call.error;
}

static uint64_t now_ns()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int cuEventRecord(Event *event, Stream *handle)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    Stream *stream = find_stream(handle);
    if (!stream || !driver().events.has(event)) {
        return INVALID_HANDLE;
    }
    if (stream->capture) {
        return STREAM_CAPTURE_UNSUPPORTED;
    }
    enqueue(stream, [event] { event->time_ns = now_ns(); });
    event->recorded = true;
    event->at = {stream, stream->enqueued};
    return SUCCESS;
}

int cuEventQuery(Event *event)
{
    Call call(__func__, Need::context, Capture::refused);
    if (call.error) {
        return call.error;
    }
    if (!driver().events.has(event)) {
        return INVALID_HANDLE;
    }
    if (!event->recorded || event->at.stream->done >= event->at.number) {
        return SUCCESS;
    }
    run_until({event->at.stream, event->at.stream->done + 1});
    return NOT_READY;
}

int cuEventSynchronize(Event *event)
{
    Call call(__func__, Need::context, Capture::refused);
    if (!call.error && !driver().events.has(event)) {
        return INVALID_HANDLE;
    }
    if (!call.error && event->recorded) {
        run_until(event->at);
    }
    return call.error;
}

static int elapsed(float *milliseconds, const Event *begin, const Event *end)
{
    Driver &d = driver();
    if (!d.events.has(begin) || !d.events.has(end) || !begin->timing || !end->timing ||
        !begin->recorded || !end->recorded) {
        return INVALID_HANDLE;
    }
    for (const Event *e : {begin, end}) {
        if (e->at.stream->done < e->at.number) {
            return NOT_READY;
        }
    }
    *milliseconds = (float)((double)end->time_ns - (double)begin->time_ns) / 1e6f;
    return SUCCESS;
}

int cuEventElapsedTime(float *milliseconds, Event *begin, Event *end)
{
    Call call(__func__, Need::context);
    return call.error ? call.error : elapsed(milliseconds, begin, end);
}

int cuEventElapsedTime_v2(float *milliseconds, Event *begin, Event *end)
{
    Call call(__func__, Need::context);
    return call.error ? call.error : elapsed(milliseconds, begin, end);
}

int cuStreamBeginCapture_v2(Stream *stream, int)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    /* The default stream cannot be captured. */
    if (!driver().streams.has(stream) || stream == default_stream(current_context())) {
        return STREAM_CAPTURE_UNSUPPORTED;
    }
    if (stream->capture) {
        return INVALID_VALUE;
    }
    stream->capture = driver().graphs.make();
    return SUCCESS;
}

int cuStreamEndCapture(Stream *stream, Graph **graph)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    if (!driver().streams.has(stream) || !stream->capture) {
        return STREAM_CAPTURE_UNMATCHED;
    }
    Graph *captured = stream->capture;
    stream->capture = nullptr;
    if (captured->broken) {
        driver().graphs.end(captured);
        *graph = nullptr;
        return STREAM_CAPTURE_INVALIDATED;
    }
    *graph = captured;
    return SUCCESS;
}

int cuStreamIsCapturing(Stream *handle, int *status)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    const Stream *stream = find_stream(handle);
    if (!stream) {
        return INVALID_HANDLE;
    }
    *status = !stream->capture ? 0 : stream->capture->broken ? 2 : 1;
    return SUCCESS;
}

int cuGraphInstantiateWithFlags(GraphExec **exec, Graph *graph, unsigned long long)
{
    Call call(__func__, Need::context, Capture::refused);
    if (!call.error && !driver().graphs.has(graph)) {
        return INVALID_VALUE;
    }
    if (!call.error) {
        *exec = driver().graph_execs.make();
        (*exec)->operations = graph->operations;
    }
    return call.error;
}

int cuGraphLaunch(GraphExec *exec, Stream *handle)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    Stream *stream = find_stream(handle);
    if (!stream || !driver().graph_execs.has(exec)) {
        return INVALID_HANDLE;
    }
    for (const Operation &operation : exec->operations) {
        enqueue(stream, operation.run, operation.after);
    }
    return SUCCESS;
}

int cuGraphExecDestroy(GraphExec *exec)
{
    Call call(__func__, Need::context);
    if (!call.error && !driver().graph_execs.has(exec)) {
        return INVALID_VALUE;
    }
    if (!call.error) {
        driver().graph_execs.end(exec);
    }
    return call.error;
}

int cuGraphDestroy(Graph *graph)
{
    Call call(__func__, Need::context);
    if (!call.error && !driver().graphs.has(graph)) {
        return INVALID_VALUE;
    }
    if (!call.error) {
        driver().graphs.end(graph);
    }
    return call.error;
}

} /* namespace standin */
