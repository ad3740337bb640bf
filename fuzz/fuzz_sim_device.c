/* fuzz_sim_device.c - the file of a simulated device, and a few runs on it. */
#include <math.h>

#include "driver.h"
#include "session/sim_device.h"

static void run_some(brim_sim_device *device)
{
    static const size_t ITEMS[] = {1, 2, 24, 1000, 65536};
    static const uint64_t PIXELS[] = {1, 50176, 65535ull * 65535};
    double seconds = 0.0;

    for (size_t i = 0; i < sizeof(ITEMS) / sizeof(ITEMS[0]); i++)
        for (size_t k = 0; k < sizeof(PIXELS) / sizeof(PIXELS[0]); k++) {
            double ceiling = k == 1 ? 1e9 : 0;
            double free_bytes = brim_sim_device_free_bytes(device, ceiling);
            brim_sim_run run =
                brim_sim_device_run(device, ITEMS[i], PIXELS[k], (uint32_t)i * 77, ceiling);
            FUZZ_MUST(isfinite(run.seconds) && run.seconds >= 0);
            FUZZ_MUST(isfinite(run.bytes) && run.bytes >= 0);
            FUZZ_MUST(isfinite(free_bytes) && free_bytes >= 0);
            seconds += run.seconds;
        }
    FUZZ_MUST(device->n_batches + device->n_refusals == 15);
    FUZZ_MUST(device->n_spill_entries <= device->n_spills && device->n_spills <= device->n_batches);
    FUZZ_MUST(device->seconds_run == seconds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    brim_sim_device device;
    brim_error err = {0};
    brim_status status = brim_sim_device_parse((const char *)data, bytes, "device", &device, &err);

    FUZZ_MUST(status == BRIM_OK || err.message[0]);
    if (status == BRIM_OK) run_some(&device);
    return 0;
}
