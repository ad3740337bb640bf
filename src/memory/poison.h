/* poison.h - tells AddressSanitizer which bytes of an arena nobody may touch; else nothing. */
#ifndef BRIM_MEMORY_POISON_H
#define BRIM_MEMORY_POISON_H

#if defined(__SANITIZE_ADDRESS__)
#define BRIM_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BRIM_HAS_ASAN 1
#endif
#endif

#ifdef BRIM_HAS_ASAN
#include <sanitizer/asan_interface.h>
#define brim_poison(p, bytes)   ASAN_POISON_MEMORY_REGION(p, bytes)
#define brim_unpoison(p, bytes) ASAN_UNPOISON_MEMORY_REGION(p, bytes)
#else
#define brim_poison(p, bytes)   ((void)(p), (void)(bytes))
#define brim_unpoison(p, bytes) ((void)(p), (void)(bytes))
#endif

#endif /* BRIM_MEMORY_POISON_H */
