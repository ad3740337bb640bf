/*
 * onnx_memory.c - the allocator that ONNX Runtime asks, and the budgets that answer.
 *
 * The runtime frees a block without saying how large it is or who asked for it, so a free looks for
 * the arena that the block lies in, among those of the budgets that were added: one a job.
 */
#include "session/onnx_memory.h"

#include <pthread.h>
#include <stdatomic.h>

#include "brimful/arena.h"
#include "session/throw.h"

enum { MAX_BUDGETS = 64, SPARE_BYTES = 64 };

static const size_t ALIGN = 64;

static struct {
    pthread_rwlock_t lock; /* guards budgets and n_budgets */
    brim_budget *budgets[MAX_BUDGETS];
    size_t n_budgets;
    OrtMemoryInfo *info;
    atomic_uint_fast64_t n_blocks, n_strayed, n_on_heap;
    atomic_llong refuse_in; /* requests until one is refused for a test; 0 = none will be */
} MEMORY = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* What the calling thread runs for. */
static _Thread_local brim_budget *entered;
static _Thread_local brim_onnx_call call;
static _Thread_local size_t call_bytes; /* taken and not yet freed */

static bool is_to_be_refused(void)
{
    return atomic_load(&MEMORY.refuse_in) > 0 && atomic_fetch_sub(&MEMORY.refuse_in, 1) == 1;
}

/* BRIM_OK with the block in *out. */
static brim_status take(size_t bytes, void **out)
{
    const brim_alloc *mem = brim_heap();

    if (is_to_be_refused()) return BRIM_E_BUDGET;
    if (entered) mem = brim_budget_alloc(entered, BRIM_ACCOUNT_ACTIVATIONS);
    /* The arena has readable bytes behind each block; the heap is asked for them. */
    return mem->alloc(mem->ctx, entered ? bytes : bytes + SPARE_BYTES, ALIGN, out);
}

static void *ORT_API_CALL alloc_block(OrtAllocator *self, size_t bytes)
{
    void *block = NULL;

    (void)self;
    if (bytes == 0) return NULL;
    atomic_fetch_add_explicit(&MEMORY.n_blocks, 1, memory_order_relaxed);
    if (!entered) atomic_fetch_add_explicit(&MEMORY.n_strayed, 1, memory_order_relaxed);
    brim_status status = bytes > SIZE_MAX / 2 ? BRIM_E_BUDGET : take(bytes, &block);
    if (status == BRIM_OK) {
        if (!entered) atomic_fetch_add_explicit(&MEMORY.n_on_heap, 1, memory_order_relaxed);
        if (entered) call_bytes += bytes;
        if (call_bytes > call.peak_bytes) call.peak_bytes = call_bytes;
        return block;
    }
    if (call.refusal == BRIM_OK) {
        call.refusal = status;
        call.asked_bytes = bytes;
        if (entered) call.needed_bytes = brim_budget_live_bytes(entered) + bytes;
    }
    brim_throw_bad_alloc();
}

static brim_budget *find_budget(const void *block)
{
    brim_budget *found = NULL;

    pthread_rwlock_rdlock(&MEMORY.lock);
    for (size_t i = 0; i < MEMORY.n_budgets && !found; i++)
        if (brim_arena_owns(brim_budget_arena(MEMORY.budgets[i]), block)) found = MEMORY.budgets[i];
    pthread_rwlock_unlock(&MEMORY.lock);
    return found;
}

static void ORT_API_CALL free_block(OrtAllocator *self, void *block)
{
    (void)self;
    if (!block) return;
    brim_budget *budget = find_budget(block);
    if (!budget) {
        atomic_fetch_sub_explicit(&MEMORY.n_on_heap, 1, memory_order_relaxed);
        brim_alloc_release(brim_heap(), block, 0); /* the heap knows its sizes */
        return;
    }
    size_t bytes = brim_arena_size_of(brim_budget_arena(budget), block);
    brim_alloc_release(brim_budget_alloc(budget, BRIM_ACCOUNT_ACTIVATIONS), block, bytes);
    /* A result of an earlier call may be freed in this one. */
    if (budget == entered) call_bytes -= bytes < call_bytes ? bytes : call_bytes;
}

static const OrtMemoryInfo *ORT_API_CALL tell_info(const OrtAllocator *self)
{
    (void)self;
    return MEMORY.info;
}

OrtStatus *brim_onnx_memory_register(const OrtApi *api, OrtEnv *env)
{
    static OrtAllocator ALLOCATOR = {.version = ORT_API_VERSION,
                                     .Alloc = alloc_block,
                                     .Free = free_block,
                                     .Info = tell_info,
                                     .Reserve = alloc_block};

    OrtStatus *failure =
        api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &MEMORY.info);
    if (!failure) failure = api->RegisterAllocator(env, &ALLOCATOR);
    return failure;
}

void brim_onnx_memory_unregister(const OrtApi *api)
{
    if (MEMORY.info) api->ReleaseMemoryInfo(MEMORY.info);
    MEMORY.info = NULL;
}

brim_status brim_onnx_memory_add(brim_budget *budget)
{
    brim_status status = BRIM_OK;

    if (!brim_budget_arena(budget)) return BRIM_E_ARG;
    pthread_rwlock_wrlock(&MEMORY.lock);
    if (MEMORY.n_budgets == MAX_BUDGETS)
        status = BRIM_E_BUSY;
    else
        MEMORY.budgets[MEMORY.n_budgets++] = budget;
    pthread_rwlock_unlock(&MEMORY.lock);
    return status;
}

void brim_onnx_memory_remove(brim_budget *budget)
{
    pthread_rwlock_wrlock(&MEMORY.lock);
    for (size_t i = 0; i < MEMORY.n_budgets; i++)
        if (MEMORY.budgets[i] == budget) {
            MEMORY.budgets[i] = MEMORY.budgets[--MEMORY.n_budgets];
            break;
        }
    pthread_rwlock_unlock(&MEMORY.lock);
}

void brim_onnx_memory_enter(brim_budget *budget)
{
    entered = budget;
    call = (brim_onnx_call){0};
    call_bytes = 0;
}

brim_onnx_call brim_onnx_memory_leave(void)
{
    entered = NULL;
    return call;
}

brim_onnx_memory_counts brim_onnx_memory_count(void)
{
    return (brim_onnx_memory_counts){
        .n_blocks = atomic_load(&MEMORY.n_blocks),
        .n_strayed = atomic_load(&MEMORY.n_strayed),
        .n_on_heap = atomic_load(&MEMORY.n_on_heap),
    };
}

void brim_onnx_memory_refuse(uint64_t nth)
{
    atomic_store(&MEMORY.refuse_in, (long long)nth);
}
