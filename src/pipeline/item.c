/* item.c - items and the bytes they hold. */
#include "pipeline/item.h"

brim_status brim_item_create(brim_budget *budget, brim_row *row, brim_item **out)
{
    brim_status status;

    *out = NULL;
    brim_item *item =
        brim_alloc_zeroed(brim_budget_alloc(budget, BRIM_ACCOUNT_QUEUES), sizeof(*item), &status);
    if (!item) return status;
    item->budget = budget;
    item->record.row = row;
    item->record.file_bytes = item->record.mtime_ns = -1;
    *out = item;
    return BRIM_OK;
}

void brim_item_drop_data(brim_item *item)
{
    brim_alloc_release(brim_heap(), item->data, item->data_bytes);
    item->data = NULL;
    item->data_bytes = 0;
    if (item->charged_bytes > 0)
        brim_budget_give_back(item->budget, BRIM_ACCOUNT_QUEUES, item->charged_bytes);
    item->charged_bytes = 0;
}

void brim_item_destroy(brim_item *item)
{
    if (!item) return;
    brim_item_drop_data(item);
    brim_record_fini(&item->record);
    brim_alloc_release(brim_budget_alloc(item->budget, BRIM_ACCOUNT_QUEUES), item, sizeof(*item));
}
