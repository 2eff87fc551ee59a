/* SPDX-License-Identifier: Apache-2.0 */
/* PTX executor: runs the PTX that nvcc emitted on the host, warp by warp, and counts what it does.
 *
 *     ptx::Module module = ptx::Module::load("gather.ptx");
 *     ptx::Machine machine(module);
 *     const int pool = machine.allow("pool", pool_bytes, n);       read only, by constness
 *     machine.allow("out", out, out_bytes);
 *     ptx::Counts c = machine.launch("lp_gather_lane_bf16", {blocks}, {128}, {args}, shared_bytes);
 *     assert(c.buffers[pool].read_exactly_once(first_byte, end_byte));
 *
 * Where the fiber executor runs the kernel's C++, this runs the compiler's output, so it covers
 * what only nvcc sees (inline PTX, intrinsics, __CUDA_ARCH__) and sees each access of each
 * instruction. Counts are exact and deterministic: warp instructions, sectors, shared-memory
 * passes, divergence. They are counts of PTX, not of SASS, and never times.
 *
 * Everything that is not known is refused by name with an Error, when the text is loaded: opcodes,
 * modifiers, types, special registers, calls. A kernel that breaks a rule (out of its buffers,
 * misaligned, lanes that never meet) ends with an Error that names block, thread, instruction and,
 * with nvcc -lineinfo, the source line. Lanes of a warp run lowest program counter first, so that
 * diverged paths meet again; no race detector: that is the fiber executor's part.
 * Source of semantics: "Parallel Thread Execution ISA", version 9.0. */
#ifndef LP_TESTS_PTX_HPP
#define LP_TESTS_PTX_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "ptx_counts.hpp"

namespace ptx {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Program; /* ptx_program.hpp */

/* Parsed text; shared by the machines that run it. Its .global variables live as long as it. */
class Module {
  public:
    explicit Module(const std::string &text);      /* throws Error */
    static Module load(const std::string &path);   /* throws Error, also when it cannot be read */

    std::vector<std::string> entries() const;
    /* The entry of this name, or the only one that contains it (mangled names); throws Error. */
    std::string find(const std::string &name) const;
    size_t shared_bytes(const std::string &entry) const; /* static shared memory */

    std::shared_ptr<Program> program;
};

struct Dim {
    unsigned x = 1, y = 1, z = 1;
};

/* One kernel parameter, by value; its size must be the declared one. */
class Arg {
  public:
    template <class T> Arg(const T &value) : bytes(sizeof(T))
    {
        static_assert(std::is_trivially_copyable_v<T>, "kernel parameters are plain bytes");
        memcpy(bytes.data(), &value, sizeof(T));
    }
    std::vector<unsigned char> bytes;
};

class Execution;

/* A device of one block at a time. Not for two threads at once. */
class Machine {
  public:
    unsigned char fill = 0xA5; /* of shared and local memory, of cp.async targets before the wait */

    explicit Machine(const Module &module);

    /* What kernels may touch as global memory: reading, or, through the second form, writing too.
     * Returns the place in Counts::buffers. Ranges must not overlap; borrows p until the machine
     * ends. A sector is 32 bytes of host address: align p as the device's memory would be. */
    int allow(const std::string &name, const void *p, size_t bytes);
    int allow(const std::string &name, void *p, size_t bytes);

    /* Run a grid; what it counted. Throws Error on a broken rule; buffers then hold what was
     * written so far. */
    Counts launch(const std::string &entry, Dim grid, Dim block, const std::vector<Arg> &args,
                  size_t dynamic_shared_bytes = 0);

    struct Range {
        std::string name;
        uint64_t begin, bytes;
        bool writable;
    };

  private:
    int add_range(const std::string &name, uint64_t begin, size_t bytes, bool writable);

    Module module_;
    std::vector<Range> ranges_;
};

} /* namespace ptx */

#endif
