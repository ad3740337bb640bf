/* stage.c - the stages by name. */
#include "brimful/observe.h"

const char *brim_stage_name(brim_stage stage)
{
    static const char *const NAMES[BRIM_N_STAGES] = {
        [BRIM_STAGE_READING] = "reading",
        [BRIM_STAGE_DECODING] = "decoding",
        [BRIM_STAGE_MODEL] = "model",
        [BRIM_STAGE_STORING] = "storing",
    };
    return (unsigned)stage < BRIM_N_STAGES ? NAMES[stage] : "unknown";
}
