/* model.c - opens models, cheap parts first, and simulated devices. */
#include "job/model.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "job/identity.h"
#include "job/room.h"
#include "pipeline/batch.h"
#include "session/onnx.h"
#include "session/sim.h"

#define SIM_MODEL  "sim"
#define SIM_PREFIX "sim:"

/* What is fingerprinted of a simulated model: all of them give the same vectors. */
static const char SIM_IDENTITY[] = "brimful: simulated device, 8 numbers of the key";

/* ---- Devices ---- */

bool brim_device_is_simulated(const char *device)
{
    return device && strncmp(device, SIM_PREFIX, strlen(SIM_PREFIX)) == 0;
}

static bool is_sim_model(const char *model)
{
    return strcmp(model, SIM_MODEL) == 0;
}

/* A folder that somebody may have meant by "-m sim". */
static bool has_sim_folder(void)
{
    struct stat info;

    return stat(SIM_MODEL, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_cuda(const char *device)
{
    return strcmp(device, "cuda") == 0 || strncmp(device, "cuda:", 5) == 0;
}

brim_status brim_embed_check_device(const char *model, const char *device, brim_error *err)
{
    bool is_simulated = brim_device_is_simulated(device);

    if (device && !is_simulated && is_cuda(device))
        return brim_fail(err, BRIM_E_UNSUPPORTED, "--device %s: this build runs on the CPU",
                         device);
    if (device && !is_simulated && strcmp(device, "cpu") != 0)
        return brim_fail(err, BRIM_E_ARG, "--device %s: neither cpu nor sim:FILE.json", device);
    if (is_simulated && device[strlen(SIM_PREFIX)] == '\0')
        return brim_fail(err, BRIM_E_ARG, "--device %s: names no file, as sim:card.json", device);
    if (is_simulated && !is_sim_model(model))
        return brim_fail(err, BRIM_E_ARG, "--device %s goes with -m sim, not with -m %s", device,
                         model);
    if (!is_simulated && is_sim_model(model))
        return brim_fail(err, BRIM_E_ARG, "-m sim goes with --device sim:FILE.json%s",
                         has_sim_folder() ? " (the folder is meant by -m ./sim)" : "");
    return BRIM_OK;
}

/* ---- A simulated one ---- */

/* What makes stubs of real files. */
static brim_status open_stub_processor(const brim_alloc *mem, brim_processor **out, brim_error *err)
{
    static const char CONFIG[] = "{\"image_processor_type\": \"ViTImageProcessor\","
                                 " \"size\": {\"height\": 8, \"width\": 8}}";
    _Static_assert(BRIM_SIM_STUB_SIDE == 8, "the size of a stub");

    return brim_processor_parse(mem, CONFIG, sizeof(CONFIG) - 1, "-m sim", NULL, out, err);
}

static brim_status check_unused(const brim_embed_options *options, brim_error *err)
{
    const char *unused = options->layer       ? "layer"
                         : options->precision ? "precision"
                         : options->processor ? "processor"
                                              : NULL;

    if (!unused) return BRIM_OK;
    return brim_fail(err, BRIM_E_ARG, "-m sim is no model: --%s is of no use with it", unused);
}

static brim_status open_simulated(const brim_alloc *mem, const brim_embed_options *options,
                                  brim_model *model, brim_error *err)
{
    brim_sim_options sim = {.path = options->device + strlen(SIM_PREFIX),
                            .ceiling_bytes = options->memory_bytes,
                            .log = options->log};

    brim_status status = check_unused(options, err);
    if (status != BRIM_OK) return status;
    if (has_sim_folder())
        brim_log_write(options->log, BRIM_LOG_NOTE,
                       "-m sim is the simulated device: the folder is meant by -m ./sim");
    model->task = brim_task_sim(!options->raw);
    status = open_stub_processor(mem, &model->processor, err);
    if (status == BRIM_OK) status = brim_session_open_sim(mem, &sim, &model->session, err);
    return status;
}

/* ---- A real one ---- */

/* True where every picture becomes a tensor of one shape, which is told then. */
static bool has_one_shape(const brim_processor *processor, uint32_t *height, uint32_t *width)
{
    brim_image_info wide = brim_image_info_of(1600, 1200, 1);
    brim_image_info tall = brim_image_info_of(1200, 1600, 1);
    uint32_t tall_height, tall_width;

    return brim_processor_shape(processor, &wide, height, width, NULL) == BRIM_OK &&
           brim_processor_shape(processor, &tall, &tall_height, &tall_width, NULL) == BRIM_OK &&
           tall_height == *height && tall_width == *width;
}

/* What the model insists on must be what the processor makes. */
static brim_status check_sizes(const brim_model *model, brim_error *err)
{
    const int64_t *dims = model->session->image.dims;
    uint32_t height = 0, width = 0;

    if (brim_processor_slot_layout(model->processor) != BRIM_LAYOUT_PLANES)
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "%s makes patches, and models that take them are not supported yet:"
                         " use a checkpoint of fixed size",
                         model->files.processor);
    if (dims[2] <= 0 && dims[3] <= 0) return BRIM_OK;
    bool one_shape = has_one_shape(model->processor, &height, &width);
    if (one_shape && (dims[2] <= 0 || height == dims[2]) && (dims[3] <= 0 || width == dims[3]))
        return BRIM_OK;
    return brim_fail(
        err, BRIM_E_ARG,
        "%s gives pictures of %ux%u%s, %s takes only %lldx%lld (width x height, -1 any):"
        " check size and crop_size",
        model->files.processor, width, height, one_shape ? "" : " and other sizes",
        model->files.onnx, (long long)dims[3], (long long)dims[2]);
}

static brim_status open_onnx(const brim_alloc *mem, const brim_embed_options *options,
                             brim_budget *budget, brim_model *model, brim_error *err)
{
    brim_processor_options processing = {.order = options->resample_order, .log = options->log};
    brim_onnx_options onnx = {.n_threads = options->n_threads,
                              .layer = options->layer,
                              .budget = budget,
                              .log = options->log};

    model->task = brim_task_embed(!options->raw);
    brim_status status =
        brim_model_files_find(mem, options->model, options->precision, options->processor,
                              options->log, &model->files, err);
    if (status == BRIM_OK)
        status =
            brim_processor_open(mem, model->files.processor, &processing, &model->processor, err);
    if (status != BRIM_OK) return status;
    onnx.path = model->files.onnx;
    status = brim_room_check_load(budget, onnx.path, err);
    if (status == BRIM_OK) status = brim_session_open_onnx(mem, &onnx, &model->session, err);
    if (status == BRIM_OK) status = check_sizes(model, err);
    if (status == BRIM_OK)
        status = brim_task_embed_check(&model->session->layers[model->session->layer], err);
    return status;
}

/* ---- Either ---- */

brim_status brim_model_open(const brim_alloc *mem, const brim_embed_options *options,
                            brim_budget *budget, brim_model *model, brim_error *err)
{
    *model = (brim_model){.is_simulated = brim_device_is_simulated(options->device)};
    brim_status status = model->is_simulated ? open_simulated(mem, options, model, err)
                                             : open_onnx(mem, options, budget, model, err);
    if (status != BRIM_OK) brim_model_close(model);
    return status;
}

void brim_model_close(brim_model *model)
{
    brim_session_close(model->session);
    brim_processor_close(model->processor);
    brim_model_files_fini(&model->files);
    *model = (brim_model){0};
}

const char *brim_model_name(const brim_model *model)
{
    return model->is_simulated ? SIM_MODEL : model->files.name;
}

brim_status brim_model_identify(const brim_model *model, brim_store *store,
                                char out[BRIM_HASH_BYTES], brim_error *err)
{
    if (!model->is_simulated) return brim_identify_model(store, model->files.onnx, out, err);
    brim_hash_bytes(SIM_IDENTITY, strlen(SIM_IDENTITY), out);
    return BRIM_OK;
}

size_t brim_model_slot_bytes(const brim_model *model)
{
    brim_batch_shape shape = {.dtype = model->session->image.dtype,
                              .stub_bytes = model->session->stub_bytes};
    size_t bytes;

    if (shape.stub_bytes == 0 && !has_one_shape(model->processor, &shape.height, &shape.width))
        return 0;
    return brim_batch_bytes(&shape, 1, &bytes) == BRIM_OK ? bytes : 0;
}
