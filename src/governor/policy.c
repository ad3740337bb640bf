/* policy.c - the names of the policies. */
#include "brimful/governor.h"

const char *brim_policy_name(brim_policy policy)
{
    static const char *const NAMES[BRIM_N_POLICIES] = {"knee", "aimd", "estimate", "watermark",
                                                       "fixed"};

    return (unsigned)policy < BRIM_N_POLICIES ? NAMES[policy] : NULL;
}
