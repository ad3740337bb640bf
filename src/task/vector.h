/* vector.h - arithmetic on vectors that several tasks share. */
#ifndef BRIM_TASK_VECTOR_H
#define BRIM_TASK_VECTOR_H

#include <stddef.h>

/* v = v / |v|; nearly nothing is not stretched, as torch.nn.functional.normalize has it. */
void brim_vector_normalize(float *v, size_t n);

#endif /* BRIM_TASK_VECTOR_H */
