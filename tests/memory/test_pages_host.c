/* Tests of src/memory/pages_host.c, and of the fake pages that tests of the arena stand on. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "memory/pages.h"
#include "support/cmocka_all.h"
#include "support/fake_pages.h"
#include "support/own_maps.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif
#ifdef __SANITIZE_THREAD__
enum { IS_TSAN = 1 }; /* ends the process where it gets no memory for itself */
#else
enum { IS_TSAN = 0 };
#endif

enum { PAGE = BRIM_HOST_PAGE_BYTES, PAGE_KIB = PAGE / 1024, N_NEIGHBOURS = 4, NONE = -1 };

static const brim_pages_host_quirks NO_QUIRKS = {0};

/* ---- A reservation, and where each of some numbered pages lies in it ---- */

typedef struct board {
    brim_pages *pages;
    char *base;
    int n_slots, n_pages;
    int slot_of[2048]; /* by page */
    int page_at[2048]; /* by slot; NONE */
    int last_moved;    /* a page */
    uint64_t seed;
} board;

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static char *slot_address(const board *b, int slot)
{
    return b->base + (size_t)slot * PAGE;
}

/* Marks of a page at its two ends and in the middle. */
static void write_canary(board *b, int page)
{
    for (size_t at = 64; at < PAGE; at += PAGE / 2 - 64)
        *(uint64_t *)(slot_address(b, b->slot_of[page]) + at) =
            (uint64_t)page * 0x9e3779b97f4a7c15u;
}

static bool has_canary(const board *b, int page)
{
    for (size_t at = 64; at < PAGE; at += PAGE / 2 - 64)
        if (*(uint64_t *)(slot_address(b, b->slot_of[page]) + at) !=
            (uint64_t)page * 0x9e3779b97f4a7c15u)
            return false;
    return true;
}

static int n_lost(const board *b)
{
    int n = 0;

    for (int i = 0; i < b->n_pages; i++)
        n += !has_canary(b, i);
    return n;
}

static bool is_whole(const board *b)
{
    return own_range_is_whole(b->base, (size_t)b->n_slots * PAGE);
}

/* n_pages fresh pages, with their marks, at the start of n_slots slots. */
static void board_open(board *b, const brim_pages_host_quirks *quirks, int n_slots, int n_pages)
{
    void *base;

    *b = (board){.n_slots = n_slots, .n_pages = n_pages, .seed = 7};
    assert_int_equal(brim_pages_create_host(quirks, &b->pages, NULL), BRIM_OK);
    assert_int_equal(b->pages->ops->reserve(b->pages, (size_t)n_slots * PAGE, PAGE, &base),
                     BRIM_OK);
    assert_int_equal((uintptr_t)base % PAGE, 0);
    b->base = base;
    if (n_pages > 0)
        assert_int_equal(b->pages->ops->fresh(b->pages, base, (size_t)n_pages * PAGE), BRIM_OK);
    for (int i = 0; i < n_slots; i++)
        b->page_at[i] = i < n_pages ? i : NONE;
    for (int i = 0; i < n_pages; i++) {
        b->slot_of[i] = i;
        write_canary(b, i);
    }
}

static void board_close(board *b)
{
    b->pages->ops->destroy(b->pages);
}

static brim_status move_run(board *b, int from, int to, int n)
{
    brim_status status =
        b->pages->ops->move(b->pages, slot_address(b, from), slot_address(b, to), (size_t)n * PAGE);
    for (int i = 0; status == BRIM_OK && i < n; i++) {
        int page = b->page_at[from + i];
        b->page_at[from + i] = NONE;
        b->page_at[to + i] = page;
        b->slot_of[page] = to + i;
        b->last_moved = page;
    }
    return status;
}

/* From one place taken at random to another: as many pages, up to `most`, as lie and fit there. */
static brim_status move_somewhere(board *b, int most)
{
    int from = b->slot_of[next_random(&b->seed) % (uint64_t)b->n_pages], to, n = 0;

    do
        to = (int)(next_random(&b->seed) % (uint64_t)b->n_slots);
    while (b->page_at[to] != NONE);
    while (n < most && from + n < b->n_slots && to + n < b->n_slots &&
           b->page_at[from + n] != NONE && b->page_at[to + n] == NONE)
        n++;
    return move_run(b, from, to, n);
}

/* ---- Neighbours: threads that map, unmap, and look after what they have ---- */

typedef struct neighbour {
    pthread_t thread;
    const atomic_bool *stop;
    uint64_t seed;
    long n_rounds, n_damaged;
} neighbour;

static void fill(uint64_t *words, size_t bytes, uint64_t mark)
{
    for (size_t i = 0; i < bytes / sizeof(*words); i += 32)
        words[i] = mark + i;
}

static long count_damage(const uint64_t *words, size_t bytes, uint64_t mark)
{
    long n = 0;

    for (size_t i = 0; i < bytes / sizeof(*words); i += 32)
        n += words[i] != mark + i;
    return n;
}

static void *use_the_stack(void *arg)
{
    uint64_t words[2048];

    fill(words, sizeof(words), (uintptr_t)arg);
    sched_yield();
    return (void *)count_damage(words, sizeof(words), (uintptr_t)arg);
}

static long start_and_end_a_thread(uint64_t mark)
{
    pthread_t thread;
    void *damage = NULL;

    if (pthread_create(&thread, NULL, use_the_stack, (void *)(uintptr_t)mark) != 0) return 0;
    pthread_join(thread, &damage);
    return (long)damage;
}

/* Two mappings of its own and two blocks of the heap are held for some rounds each. */
static void *live_next_door(void *arg)
{
    enum { N_HELD = 4 };
    neighbour *self = arg;
    uint64_t *held[N_HELD] = {0};
    size_t bytes[N_HELD] = {0};

    for (; !atomic_load(self->stop); self->n_rounds++) {
        int i = (int)(self->n_rounds % N_HELD);
        if (held[i]) self->n_damaged += count_damage(held[i], bytes[i], (uintptr_t)held[i]);
        if (i % 2 == 0) {
            free(held[i]);
            bytes[i] = next_random(&self->seed) % (1 << 20) + 64;
            held[i] = malloc(bytes[i]);
        } else {
            if (held[i]) munmap(held[i], bytes[i]);
            bytes[i] = (next_random(&self->seed) % 512 + 1) * 4096; /* up to one page of ours */
            void *got =
                mmap(NULL, bytes[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            held[i] = got == MAP_FAILED ? NULL : got;
        }
        if (held[i]) fill(held[i], bytes[i], (uintptr_t)held[i]);
        self->n_damaged += start_and_end_a_thread(self->seed);
    }
    for (int i = 0; i < N_HELD; i++) {
        if (held[i]) self->n_damaged += count_damage(held[i], bytes[i], (uintptr_t)held[i]);
        if (i % 2 == 0)
            free(held[i]);
        else if (held[i])
            munmap(held[i], bytes[i]);
    }
    return NULL;
}

static void move_among_neighbours(const brim_pages_host_quirks *quirks, int n_pages, long n_moves,
                                  bool keeps_content)
{
    neighbour neighbours[N_NEIGHBOURS] = {0};
    atomic_bool stop = false;
    long n_refused = 0, n_broken = 0, n_gaps = 0;
    board b;

    board_open(&b, quirks, 1024, n_pages);
    for (int i = 0; i < N_NEIGHBOURS; i++) {
        neighbours[i] = (neighbour){.stop = &stop, .seed = (uint64_t)i + 1};
        assert_int_equal(
            pthread_create(&neighbours[i].thread, NULL, live_next_door, &neighbours[i]), 0);
    }
    for (long m = 0; m < n_moves; m++) {
        n_refused += move_somewhere(&b, m % 8 == 0 ? 8 : 1) != BRIM_OK;
        if (keeps_content)
            n_broken += !has_canary(&b, b.last_moved);
        else
            write_canary(&b, b.last_moved);
        if (m % (n_moves / 20) == 0) n_gaps += !is_whole(&b);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < N_NEIGHBOURS; i++) {
        pthread_join(neighbours[i].thread, NULL);
        assert_true(neighbours[i].n_rounds > 0);
        assert_int_equal(neighbours[i].n_damaged, 0);
    }
    assert_int_equal(n_refused, 0);
    assert_int_equal(n_broken, 0);
    if (keeps_content) assert_int_equal(n_lost(&b), 0);
    assert_int_equal(n_gaps, 0);
    assert_true(is_whole(&b));
    board_close(&b);
}

/* ---- What this machine has ---- */

static bool has_dontunmap(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *a = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *b = mremap(a, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

    munmap(a, bytes);
    if (b == MAP_FAILED) return false;
    munmap(b, bytes);
    return true;
}

static void note_text(void *ctx, char *text)
{
    snprintf(ctx, 200, "%s", text);
}

static bool has_huge_pages(void)
{
    char text[200] = "[never]";

    own_lines("/sys/kernel/mm/transparent_hugepage/enabled", note_text, text);
    return !strstr(text, "[never]");
}

static long max_mappings(void)
{
    char text[200] = "0";

    own_lines("/proc/sys/vm/max_map_count", note_text, text);
    return atol(text);
}

/* ---- Tests ---- */

static void moves_harm_no_neighbour_and_leave_no_gap(void **state)
{
    (void)state;
    move_among_neighbours(&NO_QUIRKS, IS_SANITIZED ? 100 : 300, IS_SANITIZED ? 10000 : 100000,
                          has_dontunmap());
}

static void nor_do_moves_without_the_kernels_help(void **state)
{
    (void)state;
    move_among_neighbours(&(brim_pages_host_quirks){.no_dontunmap = true}, 50, 1000, false);
    move_among_neighbours(&(brim_pages_host_quirks){.strict_commit = true}, 50, 1000, false);
}

static void many_pages_move_as_one(void **state)
{
    board b;

    (void)state;
    board_open(&b, &NO_QUIRKS, 64, 16);
    for (int i = 0; i < 16; i++) /* in pieces, backwards */
        assert_int_equal(move_run(&b, i, 63 - i, 1), BRIM_OK);
    assert_int_equal(move_run(&b, 48, 8, 16), BRIM_OK);
    assert_int_equal(move_run(&b, 12, 30, 8), BRIM_OK); /* out of the middle */
    assert_int_equal(move_run(&b, 8, 26, 4), BRIM_OK);
    assert_int_equal(move_run(&b, 20, 38, 4), BRIM_OK);
    assert_int_equal(move_run(&b, 26, 0, 16), BRIM_OK);
    if (has_dontunmap()) assert_int_equal(n_lost(&b), 0);
    assert_true(is_whole(&b));
    board_close(&b);
}

static void moved_pages_stay_huge_and_as_many(void **state)
{
    board b;

    (void)state;
    if (!has_huge_pages() || !has_dontunmap()) skip();
    board_open(&b, &NO_QUIRKS, 512, 64);
    size_t whole = (size_t)b.n_slots * PAGE;
    size_t huge_before = own_range_now(b.base, whole, true).huge_kib;
    size_t before = own_resident_bytes();
    for (int i = 0; i < 10000; i++)
        assert_int_equal(move_somewhere(&b, 1 + i % 4), BRIM_OK);
    size_t after = own_resident_bytes();
    own_range range = own_range_now(b.base, whole, true);

    assert_int_equal(range.huge_kib, huge_before);
    assert_int_equal(range.n_unwanted, 0); /* mappings that came about by moves want them too */
    assert_in_range(after, before - before / 50, before + before / 50);
    assert_int_equal(n_lost(&b), 0);
    board_close(&b);
}

/* Pages come, move and go; what went is resident no more, and nothing is ever unmapped. */
static void check_life_of_pages(const brim_pages_host_quirks *quirks)
{
    board b;

    board_open(&b, quirks, 64, 0);
    const struct brim_pages_ops *ops = b.pages->ops;
    size_t whole = (size_t)b.n_slots * PAGE;
    assert_int_equal(b.pages->faults_behind, quirks->strict_commit);
    assert_true(is_whole(&b));

    for (int round = 0; round < 3; round++) {
        char *a = slot_address(&b, 8 + round), *c = slot_address(&b, 30 - round);
        assert_int_equal(ops->fresh(b.pages, a, 16 * PAGE), BRIM_OK);
        memset(a, 1, 16 * PAGE);
        assert_int_equal(ops->move(b.pages, a + 4 * PAGE, c, 8 * PAGE), BRIM_OK);
        memset(c, 2, 8 * PAGE);
        memset(a, 3, 4 * PAGE);
        memset(a + 12 * PAGE, 4, 4 * PAGE);
        assert_int_equal(own_range_now(b.base, whole, true).resident_kib, 16 * PAGE_KIB);
        assert_int_equal(ops->fresh(b.pages, a + 4 * PAGE, PAGE), BRIM_OK);
        memset(a + 4 * PAGE, 5, PAGE);
        own_range range = own_range_now(b.base, whole, true);
        assert_int_equal(range.resident_kib, 17 * PAGE_KIB);
        if (quirks->no_huge_pages)
            assert_int_equal(range.n_unwanted, range.n_mappings);
        else if (has_huge_pages())
            assert_int_equal(range.huge_kib, range.resident_kib);

        assert_int_equal(ops->release(b.pages, a, 5 * PAGE), BRIM_OK);
        assert_int_equal(ops->release(b.pages, a + 12 * PAGE, 4 * PAGE), BRIM_OK);
        assert_int_equal(ops->release(b.pages, c, 8 * PAGE), BRIM_OK);
        assert_int_equal(own_range_now(b.base, whole, true).resident_kib, 0);
        assert_true(is_whole(&b));
    }
    board_close(&b);
}

static void pages_come_move_and_go(void **state)
{
    (void)state;
    check_life_of_pages(&NO_QUIRKS);
}

static void they_do_where_the_kernel_cannot_keep_a_source_mapped(void **state)
{
    (void)state;
    check_life_of_pages(&(brim_pages_host_quirks){.no_dontunmap = true});
}

static void they_do_where_there_are_no_huge_pages(void **state)
{
    (void)state;
    check_life_of_pages(&(brim_pages_host_quirks){.no_huge_pages = true});
}

static void they_do_where_commit_is_strict(void **state)
{
    (void)state;
    check_life_of_pages(&(brim_pages_host_quirks){.strict_commit = true});
    check_life_of_pages(&(brim_pages_host_quirks){.strict_commit = true, .no_huge_pages = true});
}

/* A limit on data, reached while the reservation has none: what strict commit does for real. */
static void a_refused_page_leaves_nothing_behind(void **state)
{
    struct rlimit old, tight;
    board b;

    (void)state;
    if (IS_TSAN) skip();
    board_open(&b, &(brim_pages_host_quirks){.strict_commit = true}, 64, 8);
    assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
    tight = old;
    tight.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_DATA, &tight), 0);
    brim_status fresh = b.pages->ops->fresh(b.pages, slot_address(&b, 10), 4 * PAGE);
    brim_status move = b.pages->ops->move(b.pages, b.base, slot_address(&b, 20), 4 * PAGE);
    assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
    assert_int_equal(fresh, BRIM_E_NOMEM);
    assert_int_equal(move, BRIM_E_NOMEM);
    assert_int_equal(n_lost(&b), 0);
    assert_true(is_whole(&b));
    assert_int_equal(b.pages->ops->fresh(b.pages, slot_address(&b, 10), 4 * PAGE), BRIM_OK);
    write_canary(&b, 0);
    board_close(&b);
}

static void a_reservation_beyond_all_limits_is_refused(void **state)
{
    brim_pages *pages;
    void *base = &base;

    (void)state;
    assert_int_equal(brim_pages_create_host(NULL, &pages, NULL), BRIM_OK);
    assert_int_equal(pages->ops->reserve(pages, (size_t)1 << 60, PAGE, &base), BRIM_E_NOMEM);
    assert_null(base);
    assert_int_equal(pages->ops->reserve(pages, -(size_t)PAGE, PAGE, &base), BRIM_E_NOMEM);
    assert_int_equal(pages->ops->reserve(pages, 64 * PAGE, 8 * PAGE, &base), BRIM_OK);
    assert_int_equal((uintptr_t)base % (8 * PAGE), 0);
    pages->ops->destroy(pages);
}

/* ---- At the limit of mappings ---- */

/* Every second small page of a large mapping may be read: each is a mapping to the kernel. */
typedef struct hoard {
    char *base;
    size_t small_bytes, n;
} hoard;

static bool hoard_open(hoard *h, long limit)
{
    h->small_bytes = (size_t)sysconf(_SC_PAGESIZE);
    h->n = (size_t)limit;
    void *got = mmap(NULL, h->n * h->small_bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    h->base = got;
    if (got == MAP_FAILED) return false;
    for (size_t i = 1; i < h->n; i += 2)
        if (mprotect(h->base + i * h->small_bytes, h->small_bytes, PROT_READ) != 0)
            return errno == ENOMEM;
    return false;
}

/* Two mappings fewer. */
static void hoard_shrink(hoard *h, size_t i)
{
    mprotect(h->base + (2 * i + 1) * h->small_bytes, h->small_bytes, PROT_NONE);
}

static void hoard_close(hoard *h)
{
    munmap(h->base, h->n * h->small_bytes);
}

static void at_the_limit_of_mappings_a_move_is_refused_and_harms_nothing(void **state)
{
    enum { N_STEPS = 12 };
    brim_status scattered[N_STEPS], together[N_STEPS];
    int lost[N_STEPS], n_refused = 0;
    bool whole[N_STEPS];
    hoard h;
    board b;

    (void)state;
    if (max_mappings() < 1000 || max_mappings() > 300000 || !has_dontunmap()) skip();
    board_open(&b, &NO_QUIRKS, 512, 64);
    for (int i = 0; i < 64; i += 2) /* no two neighbours from one mapping */
        assert_int_equal(move_run(&b, i, 64 + i, 1), BRIM_OK);
    for (int i = 0; i < 64; i += 2)
        assert_int_equal(move_run(&b, 64 + i, 62 - i, 1), BRIM_OK);

    assert_true(hoard_open(&h, max_mappings()));
    /* From the very limit to where there is room again; no assert, which might want memory. */
    for (int i = 0; i < N_STEPS; i++) {
        scattered[i] = move_run(&b, i, 100 + 3 * i, 1);
        lost[i] = n_lost(&b);
        together[i] = move_run(&b, 40, 150 + 20 * i, 20);
        if (together[i] == BRIM_OK) {
            move_run(&b, 150 + 20 * i, 40, 20);
        } else {
            for (int page = 0; page < b.n_pages; page++) /* they are there, whatever is in them */
                write_canary(&b, page);
        }
        lost[i] += n_lost(&b);
        whole[i] = is_whole(&b);
        hoard_shrink(&h, (size_t)i);
    }
    hoard_close(&h);

    assert_int_equal(scattered[0], BRIM_E_NOMEM);
    assert_int_equal(together[0], BRIM_E_NOMEM);
    assert_int_equal(scattered[N_STEPS - 1], BRIM_OK);
    for (int i = 0; i < N_STEPS; i++) {
        n_refused += (scattered[i] != BRIM_OK) + (together[i] != BRIM_OK);
        assert_int_equal(lost[i], 0);
        assert_true(whole[i]);
    }
    assert_true(n_refused < 2 * N_STEPS);
    /* No page was left where a refused move had brought it. */
    assert_true(own_range_now(b.base, 512 * PAGE, true).resident_kib <= 64 * PAGE_KIB);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(move_somewhere(&b, 4), BRIM_OK);
    assert_int_equal(n_lost(&b), 0);
    assert_true(is_whole(&b));
    board_close(&b);
}

/*
 * Where a limit is lowered below what the process uses already, Linux refuses a move only after it
 * has unmapped the destination, and refuses to map it again.
 */
static void a_gap_that_cannot_be_closed_is_never_handed_out(void **state)
{
    struct rlimit old, tight;
    brim_status moved, again, fresh;
    board b;

    (void)state;
    if (!has_dontunmap() || IS_TSAN) skip();
    board_open(&b, &NO_QUIRKS, 64, 8);
    assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
    tight = old;
    tight.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_DATA, &tight), 0);
    moved = move_run(&b, 2, 20, 3);
    again = move_run(&b, 0, 21, 1);
    fresh = b.pages->ops->fresh(b.pages, slot_address(&b, 22), PAGE);
    assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
    assert_int_equal(moved, BRIM_E_NOMEM);
    assert_int_equal(again, BRIM_E_NOMEM);
    if (!is_whole(&b)) assert_int_equal(fresh, BRIM_E_NOMEM);
    assert_int_equal(n_lost(&b), 0);

    /* With room again it is closed when it is wanted, by a page that comes or one that moves. */
    assert_int_equal(b.pages->ops->fresh(b.pages, slot_address(&b, 22), PAGE), BRIM_OK);
    memset(slot_address(&b, 22), 1, PAGE);
    assert_int_equal(move_run(&b, 0, 20, 2), BRIM_OK);
    assert_int_equal(n_lost(&b), 0);
    assert_true(is_whole(&b));
    if (has_huge_pages()) assert_int_equal(own_range_now(b.base, 64 * PAGE, true).n_unwanted, 0);
    board_close(&b);
}

static void nor_is_a_gap_that_somebody_else_has_taken(void **state)
{
    struct rlimit old, tight;
    board b;

    (void)state;
    if (!has_dontunmap() || IS_TSAN) skip();
    board_open(&b, &NO_QUIRKS, 64, 8);
    char *gap = slot_address(&b, 20);
    assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
    tight = old;
    tight.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_DATA, &tight), 0);
    brim_status moved = move_run(&b, 2, 20, 3);
    assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
    assert_int_equal(moved, BRIM_E_NOMEM);
    if (is_whole(&b)) skip(); /* a kernel that refuses in time */

    char *theirs = mmap(gap + PAGE, PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_equal(theirs, gap + PAGE);
    memset(theirs, 7, PAGE);
    assert_int_equal(b.pages->ops->fresh(b.pages, gap, 3 * PAGE), BRIM_E_NOMEM);
    assert_int_equal(move_run(&b, 0, 20, 2), BRIM_E_NOMEM);
    assert_int_equal(move_run(&b, 0, 21, 1), BRIM_E_NOMEM);
    assert_int_equal(move_run(&b, 0, 20, 1), BRIM_OK);
    assert_int_equal(move_run(&b, 1, 22, 1), BRIM_OK);
    assert_int_equal(n_lost(&b), 0);
    board_close(&b);
    assert_true(own_range_is_whole(theirs, PAGE));
    for (size_t i = 0; i < PAGE; i++)
        assert_int_equal(theirs[i], 7);
    munmap(theirs, PAGE);
}

/* A fork, as of a program that starts another, sees the pages; both sides go their ways. */
static void a_child_may_use_its_copy(void **state)
{
    int outcome = -1;
    board b;

    (void)state;
    board_open(&b, &NO_QUIRKS, 64, 8);
    pid_t child = fork();
    if (child == 0) {
        bool ok = n_lost(&b) == 0 && move_run(&b, 0, 30, 4) == BRIM_OK;
        write_canary(&b, 3);
        _exit(ok && has_canary(&b, 3) ? 0 : 1);
    }
    assert_true(child > 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(move_somewhere(&b, 2), BRIM_OK);
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_int_equal(outcome, 0);
    if (has_dontunmap()) assert_int_equal(n_lost(&b), 0);
    board_close(&b);
}

/* ---- One contract, two backends ---- */

static void live_by_the_contract(brim_pages *pages, size_t page_bytes)
{
    const struct brim_pages_ops *ops = pages->ops;
    void *base;

    assert_int_equal(ops->reserve(pages, 32 * page_bytes, page_bytes, &base), BRIM_OK);
    assert_int_equal((uintptr_t)base % page_bytes, 0);
    char *a = base, *c = a + 20 * page_bytes;
    assert_int_equal(ops->fresh(pages, a, 4 * page_bytes), BRIM_OK);
    memset(a, 1, 4 * page_bytes);
    assert_int_equal(ops->move(pages, a + page_bytes, c, 2 * page_bytes), BRIM_OK);
    memset(c, 2, 2 * page_bytes);
    assert_int_equal(ops->fresh(pages, a + page_bytes, page_bytes), BRIM_OK);
    memset(a, 3, 2 * page_bytes);
    assert_int_equal(ops->release(pages, c, 2 * page_bytes), BRIM_OK);
    assert_int_equal(ops->fresh(pages, c + page_bytes, 3 * page_bytes), BRIM_OK);
    memset(c + page_bytes, 4, 3 * page_bytes);
    assert_int_equal(ops->move(pages, c + page_bytes, a + 4 * page_bytes, 3 * page_bytes), BRIM_OK);
    memset(a + 3 * page_bytes, 5, 4 * page_bytes);
    assert_int_equal(ops->release(pages, a + 3 * page_bytes, 4 * page_bytes), BRIM_OK);
}

static void both_backends_live_by_one_contract(void **state)
{
    const brim_pages_host_quirks HOSTS[] = {
        {0}, {.no_dontunmap = true}, {.strict_commit = true}, {.no_huge_pages = true}};

    (void)state;
    for (size_t i = 0; i < sizeof(HOSTS) / sizeof(HOSTS[0]); i++) {
        brim_pages *host;
        assert_int_equal(brim_pages_create_host(&HOSTS[i], &host, NULL), BRIM_OK);
        live_by_the_contract(host, i % 2 ? PAGE : 2 * PAGE);
        host->ops->destroy(host);
    }
    for (int faults = 0; faults < 2; faults++) {
        fake_pages fake;
        fake_pages_init(&fake, 8, faults);
        live_by_the_contract(&fake.base, 65536);
        assert_int_equal(fake.n_present, 2);
        assert_int_equal(fake.peak_present, 6);
        assert_int_equal(fake_pages_n_present(&fake, fake.start, 8 * 65536), 2);
        assert_int_equal(fake.n_calls[FAKE_MOVE], 2);
        fake.base.ops->destroy(&fake.base);
        assert_string_equal(fake.why, "");
        assert_false(fake.broken);
    }
}

static void the_fake_fails_when_told(void **state)
{
    fake_pages fake;
    brim_pages *pages = &fake.base;
    void *base;

    (void)state;
    fake_pages_init(&fake, 3, false);
    fake.fail_nth[FAKE_RESERVE] = 1;
    fake.fail_nth[FAKE_FRESH] = 2;
    assert_int_equal(pages->ops->reserve(pages, 8 * 4096, 4096, &base), BRIM_E_NOMEM);
    assert_null(base);
    assert_int_equal(pages->ops->reserve(pages, 8 * 4096, 4096, &base), BRIM_OK);
    char *a = base;
    assert_int_equal(pages->ops->fresh(pages, a, 4096), BRIM_OK);
    assert_int_equal(pages->ops->fresh(pages, a + 4096, 4096), BRIM_E_NOMEM);
    assert_int_equal(pages->ops->fresh(pages, a + 4096, 4096), BRIM_OK);
    assert_int_equal(pages->ops->fresh(pages, a + 8192, 8192), BRIM_E_NOMEM); /* capacity */
    fake.fail_always[FAKE_MOVE] = true;
    assert_int_equal(pages->ops->move(pages, a, a + 8192, 4096), BRIM_E_NOMEM);
    assert_int_equal(pages->ops->move(pages, a, a + 8192, 4096), BRIM_E_NOMEM);
    fake.fail_nth[FAKE_RELEASE] = 1;
    assert_int_equal(pages->ops->release(pages, a, 8192), BRIM_E_NOMEM);
    assert_int_equal(fake.n_present, 2);
    assert_int_equal(pages->ops->release(pages, a, 8192), BRIM_OK);
    pages->ops->destroy(pages);
    assert_false(fake.broken);
}

typedef enum sin {
    NO_SIN,
    FRESH_TWICE,
    MOVE_OF_NOTHING,
    MOVE_ONTO_A_PAGE,
    MOVE_ONTO_ITSELF,
    RELEASE_OF_NOTHING,
    HALF_A_PAGE,
    OUTSIDE,
    RESERVE_TWICE,
    AFTER_DESTROY,
    N_SINS,
} sin_kind;

static void commit_sin(brim_pages *pages, char *a, sin_kind kind)
{
    const struct brim_pages_ops *ops = pages->ops;
    void *out;

    if (kind == FRESH_TWICE) ops->fresh(pages, a + 4096, 8192);
    if (kind == MOVE_OF_NOTHING) ops->move(pages, a + 8192, a, 4096);
    if (kind == MOVE_ONTO_A_PAGE) ops->move(pages, a, a + 4096, 4096);
    if (kind == MOVE_ONTO_ITSELF) ops->move(pages, a, a + 4096, 8192);
    if (kind == RELEASE_OF_NOTHING) ops->release(pages, a + 8192, 4096);
    if (kind == HALF_A_PAGE) ops->release(pages, a, 2048);
    if (kind == OUTSIDE) ops->fresh(pages, a + 4 * 4096, 4096);
    if (kind == RESERVE_TWICE) ops->reserve(pages, 4096, 4096, &out);
    ops->destroy(pages);
    if (kind == AFTER_DESTROY) ops->release(pages, a, 4096);
}

static void the_fake_names_what_breaks_the_contract(void **state)
{
    static const char *const WHY[N_SINS] = {
        [NO_SIN] = "",
        [FRESH_TWICE] = "fresh: slot 1 has a page already",
        [MOVE_OF_NOTHING] = "move: slot 2 has no page",
        [MOVE_ONTO_A_PAGE] = "move: slot 1 has a page already",
        [MOVE_ONTO_ITSELF] = "move onto a range that overlaps its own",
        [RELEASE_OF_NOTHING] = "release: slot 2 has no page",
        [HALF_A_PAGE] = "release of something else than whole pages",
        [OUTSIDE] = "fresh outside of the reservation",
        [RESERVE_TWICE] = "reserve twice",
        [AFTER_DESTROY] = "release after destroy",
    };

    (void)state;
    for (sin_kind kind = NO_SIN; kind < N_SINS; kind++) {
        fake_pages fake;
        void *base;
        fake_pages_init(&fake, 100, false);
        assert_int_equal(fake.base.ops->reserve(&fake.base, 4 * 4096, 4096, &base), BRIM_OK);
        assert_int_equal(fake.base.ops->fresh(&fake.base, base, 8192), BRIM_OK);
        commit_sin(&fake.base, base, kind);
        assert_string_equal(fake.why, WHY[kind]);
        assert_int_equal(fake.broken, kind != NO_SIN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_harm_no_neighbour_and_leave_no_gap),
        cmocka_unit_test(nor_do_moves_without_the_kernels_help),
        cmocka_unit_test(many_pages_move_as_one),
        cmocka_unit_test(moved_pages_stay_huge_and_as_many),
        cmocka_unit_test(pages_come_move_and_go),
        cmocka_unit_test(they_do_where_the_kernel_cannot_keep_a_source_mapped),
        cmocka_unit_test(they_do_where_there_are_no_huge_pages),
        cmocka_unit_test(they_do_where_commit_is_strict),
        cmocka_unit_test(a_refused_page_leaves_nothing_behind),
        cmocka_unit_test(a_reservation_beyond_all_limits_is_refused),
        cmocka_unit_test(at_the_limit_of_mappings_a_move_is_refused_and_harms_nothing),
        cmocka_unit_test(a_gap_that_cannot_be_closed_is_never_handed_out),
        cmocka_unit_test(nor_is_a_gap_that_somebody_else_has_taken),
        cmocka_unit_test(a_child_may_use_its_copy),
        cmocka_unit_test(both_backends_live_by_one_contract),
        cmocka_unit_test(the_fake_fails_when_told),
        cmocka_unit_test(the_fake_names_what_breaks_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
