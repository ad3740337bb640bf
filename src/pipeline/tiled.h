/*
 * tiled.h - a picture whose tiles are rows of their own: who is to say that all of them are done.
 *
 * Each tile's item holds on to it, and so does the decoder while it cuts. Whoever finishes the last
 * one of them receives the picture's own item, to record that nothing of it is left.
 *
 * Threads: any.
 */
#ifndef BRIM_PIPELINE_TILED_H
#define BRIM_PIPELINE_TILED_H

#include "pipeline/item.h"

/* Takes over the item of the whole picture, on success only. The caller, who cuts it, holds on. */
brim_status brim_tiled_create(const brim_alloc *mem, brim_item *whole, brim_tiled **out);

/* For the decoder, before it has finished: one more tile must have its result. */
void brim_tiled_expect(brim_tiled *tiled);

brim_tiled *brim_tiled_hold(brim_tiled *tiled);

/* Accepts NULL. The last one to let go destroys it, and the whole item unless that was handed out.
 */
void brim_tiled_let_go(brim_tiled *tiled);

/*
 * One tile has its result, or the decoder has cut them all: the item of the whole picture when that
 * was the last, else NULL. Not called for what fails, so that the picture is not over then.
 */
brim_item *brim_tiled_finish_one(brim_tiled *tiled);

/* For the decoder, before it has finished: takes the whole item back, to fail. */
brim_item *brim_tiled_take_whole(brim_tiled *tiled);

#endif /* BRIM_PIPELINE_TILED_H */
