/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles only if the stand-in's numbers and function types are those of <cuda.h>. */
#include <cuda.h>

#include <type_traits>

#define STANDIN_ABI_TYPES_ONLY
#include "standin_abi.hpp"

#define X(name, number, text) static_assert((int)CUDA_ERROR_##name == number, #name);
STANDIN_ERRORS(X)
#undef X

#define X(name, number) static_assert((int)CU_DEVICE_ATTRIBUTE_##name == number, #name);
STANDIN_ATTRIBUTES(X)
#undef X

static_assert(CU_MEMHOSTREGISTER_PORTABLE == standin::REGISTER_PORTABLE, "flag");
static_assert(CU_MEMHOSTREGISTER_DEVICEMAP == standin::REGISTER_DEVICEMAP, "flag");
static_assert(CU_MEMHOSTREGISTER_IOMEMORY == standin::REGISTER_IOMEMORY, "flag");
static_assert(CU_MEMHOSTREGISTER_READ_ONLY == standin::REGISTER_READ_ONLY, "flag");
static_assert((int)CU_POINTER_ATTRIBUTE_CONTEXT == standin::POINTER_CONTEXT, "pointer");
static_assert((int)CU_POINTER_ATTRIBUTE_MEMORY_TYPE == standin::POINTER_MEMORY_TYPE, "pointer");
static_assert((int)CU_POINTER_ATTRIBUTE_DEVICE_POINTER == standin::POINTER_DEVICE_POINTER,
              "pointer");
static_assert((int)CU_POINTER_ATTRIBUTE_HOST_POINTER == standin::POINTER_HOST_POINTER, "pointer");
static_assert((int)CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL == standin::POINTER_DEVICE_ORDINAL,
              "pointer");
static_assert((int)CU_POINTER_ATTRIBUTE_RANGE_START_ADDR == standin::POINTER_RANGE_START_ADDR,
              "range");
static_assert((int)CU_POINTER_ATTRIBUTE_RANGE_SIZE == standin::POINTER_RANGE_SIZE, "range");
static_assert((int)CU_MEMORYTYPE_HOST == standin::MEMORY_HOST, "memory type");
static_assert((int)CU_MEMORYTYPE_DEVICE == standin::MEMORY_DEVICE, "memory type");
static_assert((int)CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES == standin::FUNCTION_SHARED_SIZE_BYTES,
              "func");
static_assert((int)CU_FUNC_ATTRIBUTE_NUM_REGS == standin::FUNCTION_NUM_REGS, "function");
static_assert((int)CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ==
                  standin::FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES, "function");
static_assert((unsigned)CU_STREAM_NON_BLOCKING == standin::STREAM_NON_BLOCKING, "stream");
static_assert((unsigned)CU_EVENT_DISABLE_TIMING == standin::EVENT_DISABLE_TIMING, "event");

/* A parameter travels alike when both are pointers, or numbers of one size. */
template <class A, class B>
constexpr bool alike = (std::is_pointer_v<A> && std::is_pointer_v<B>) ||
                       (!std::is_pointer_v<A> && !std::is_pointer_v<B> && sizeof(A) == sizeof(B));

template <class Ours, class Theirs> struct Same {
    static constexpr bool call = false;
};
template <class... A, class... B> struct Same<int(A...), CUresult(B...)> {
    static constexpr bool call = [] {
        if constexpr (sizeof...(A) == sizeof...(B)) {
            return (alike<A, B> && ... && true);
        }
        return false;
    }();
};

namespace standin {
#define X(function, parameters)                                                                    \
    static_assert(Same<int parameters, decltype(::function)>::call, #function);
STANDIN_FUNCTIONS(X)
#undef X
} /* namespace standin */
