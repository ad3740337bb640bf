/*
 * onnx_memory.h - ONNX Runtime's memory, out of the budget of whoever runs.
 *
 * The runtime has one registered allocator a process. Ours asks the budget that the calling thread
 * has entered, on its activations' account, and takes the C heap where none is entered. At the
 * limit it raises std::bad_alloc inside the runtime (NULL would end the process), which comes out
 * of the run as a status; what was refused is noted for the thread.
 *
 * Threads: any. A run's allocations happen on the thread that called it.
 */
#ifndef BRIM_SESSION_ONNX_MEMORY_H
#define BRIM_SESSION_ONNX_MEMORY_H

#include <onnxruntime_c_api.h>

#include "brimful/memory.h"

/* Registers the allocator with a new environment. The caller frees the status. */
OrtStatus *brim_onnx_memory_register(const OrtApi *api, OrtEnv *env);
/* After the environment has ended. */
void brim_onnx_memory_unregister(const OrtApi *api);

/* What calls of the runtime did with memory. */
typedef struct brim_onnx_call {
    size_t peak_bytes;   /* most that was held at once of what the calls took */
    brim_status refusal; /* of the first request that was refused; BRIM_OK: none was */
    size_t asked_bytes;  /* by that request */
    size_t needed_bytes; /* what the budget would have held with it */
} brim_onnx_call;

/*
 * A budget with an arena may be entered between add and remove, and must live as long as blocks of
 * it do; adding counts, so that sessions may share one. BRIM_E_ARG: it has no arena; BRIM_E_BUSY:
 * there are 64 already.
 */
brim_status brim_onnx_memory_add(brim_budget *budget);
void brim_onnx_memory_remove(brim_budget *budget);

/*
 * Calls of the runtime between enter and leave, on this thread, take their memory from budget
 * (NULL: the heap). Blocks may be freed later, from any thread. leave tells about them.
 */
void brim_onnx_memory_enter(brim_budget *budget);
brim_onnx_call brim_onnx_memory_leave(void);

/* Blocks given out so far in all, and those of them asked for by threads that had entered nothing.
 */
typedef struct brim_onnx_memory_counts {
    uint64_t n_blocks, n_strayed;
    uint64_t n_on_heap; /* now, not yet freed */
} brim_onnx_memory_counts;
brim_onnx_memory_counts brim_onnx_memory_count(void);

/* For tests: the n-th request from now on (1 = the next) is refused; 0 = none. */
void brim_onnx_memory_refuse(uint64_t nth);

#endif /* BRIM_SESSION_ONNX_MEMORY_H */
