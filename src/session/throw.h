/* throw.h - the C side of throw.cc. */
#ifndef BRIM_SESSION_THROW_H
#define BRIM_SESSION_THROW_H

#ifdef __cplusplus
extern "C" {
#endif

/* Raises std::bad_alloc; no lock may be held. */
__attribute__((noreturn)) void brim_throw_bad_alloc(void);

#ifdef __cplusplus
}
#endif
#endif /* BRIM_SESSION_THROW_H */
