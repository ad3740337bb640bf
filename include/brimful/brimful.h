/* brimful.h - all of the library's public headers. Start reading at job.h. */
#ifndef BRIMFUL_H
#define BRIMFUL_H

#include "brimful/arena.h"
#include "brimful/governor.h"
#include "brimful/image.h"
#include "brimful/job.h"
#include "brimful/log.h"
#include "brimful/memory.h"
#include "brimful/observe.h"
#include "brimful/plan.h"
#include "brimful/status.h"
#include "brimful/store.h"
#include "brimful/text.h"
#include "brimful/version.h"

#endif /* BRIMFUL_H */
