/*
 * model_files.h - which files of a model folder are used.
 *
 * MODEL is a folder laid out as on the Hugging Face hub (config.json, preprocessor_config.json and
 * one of vision_model.onnx, model.onnx, in the folder or in its onnx/), or one .onnx file whose
 * preprocessor_config.json lies beside it or one folder up. Where there is none, a config.json of
 * timm's, which says how pictures are prepared, takes its place.
 */
#ifndef BRIM_SESSION_MODEL_FILES_H
#define BRIM_SESSION_MODEL_FILES_H

#include "base/log.h"
#include "brimful/memory.h"
#include "brimful/status.h"

typedef struct brim_model_files {
    const brim_alloc *mem;
    char *name;      /* MODEL as a person would say it: the folder's or file's own name */
    char *onnx;      /* path */
    char *processor; /* path */
} brim_model_files;

/*
 * Finds the files of a vision model. precision: NULL or "fp32" for the plain file, else the suffix
 * wanted ("fp16", "quantized", ...): vision_model_fp16.onnx. processor: NULL, or the path of the
 * preprocessor_config.json to take. The file taken is logged. Failures say in one line what to do:
 * no such folder, safetensors only (how to export), precision not there (lists those that are), no
 * preprocessor_config.json. On failure files is zero.
 */
brim_status brim_model_files_find(const brim_alloc *mem, const char *model, const char *precision,
                                  const char *processor, const brim_log *log,
                                  brim_model_files *files, brim_error *err);

/* Zeroes files; a zero one is fine. */
void brim_model_files_fini(brim_model_files *files);

#endif /* BRIM_SESSION_MODEL_FILES_H */
