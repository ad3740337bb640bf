/* item.c - items and the bytes they hold. */
#include "pipeline/item.h"

#include <unistd.h>

#include "base/fail.h"
#include "pipeline/tiled.h"

brim_status brim_item_create(const brim_alloc *mem, brim_row *row, brim_item **out)
{
    brim_status status;

    *out = NULL;
    brim_item *item = brim_alloc_zeroed(mem, sizeof(*item), &status);
    if (!item) return status;
    item->mem = mem;
    item->record.row = row;
    item->fd = -1;
    item->record.file_bytes = item->record.mtime_ns = -1;
    *out = item;
    return BRIM_OK;
}

brim_status brim_item_take_data(brim_item *item, brim_file_pool *pool, size_t bytes,
                                brim_error *err)
{
    const brim_alloc *heap = brim_heap();
    void *data = NULL;

    brim_status status = brim_file_pool_take(pool, bytes, err);
    if (status != BRIM_OK) return status;
    item->pool = pool;
    item->pool_bytes = bytes;
    status = heap->alloc(heap->ctx, bytes, 0, &data);
    if (status != BRIM_OK) return brim_fail(err, status, "no memory for %zu bytes", bytes);
    item->data = data;
    item->data_bytes = bytes;
    return BRIM_OK;
}

brim_status brim_item_take_head(brim_item *item, brim_file_pool *pool, size_t bytes,
                                brim_error *err)
{
    brim_file_pool_take_open(pool);
    item->pool = pool;
    item->counts_as_open = true;
    return brim_item_take_data(item, pool, bytes, err);
}

brim_status brim_item_open_reader(const brim_item *item, const brim_reader_options *options,
                                  brim_reader **out, brim_error *err)
{
    if (item->fd < 0)
        return brim_reader_open(brim_heap(), item->data, item->data_bytes, options, out, err);
    return brim_reader_open_fd(brim_heap(), item->fd, (uint64_t)item->record.file_bytes, item->data,
                               item->data_bytes, options, out, err);
}

void brim_item_drop_data(brim_item *item)
{
    brim_alloc_release(brim_heap(), item->data, item->pool_bytes);
    item->data = NULL;
    item->data_bytes = 0;
    if (item->fd >= 0) close(item->fd);
    item->fd = -1;
    if (item->counts_as_open) brim_file_pool_give_back_open(item->pool);
    item->counts_as_open = false;
    if (item->pool) brim_file_pool_give_back(item->pool, item->pool_bytes);
    item->pool = NULL;
    item->pool_bytes = 0;
}

void brim_item_destroy(brim_item *item)
{
    if (!item) return;
    brim_item_drop_data(item);
    brim_tiled_let_go(item->tiled);
    brim_record_fini(&item->record);
    brim_alloc_release(item->mem, item, sizeof(*item));
}
