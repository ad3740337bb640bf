/* xmp.c - looks for one word in an XMP packet, without parsing the XML around it. */
#include "image/xmp.h"

#include <string.h>

#include "image/exif.h"

uint8_t brim_xmp_orientation(const uint8_t *xmp, size_t bytes)
{
    static const char NAME[] = "tiff:Orientation";
    const size_t n = sizeof(NAME) - 1;
    const uint8_t *at = xmp, *end;

    if (bytes == 0) return 1; /* then there may be no pointer to add to */
    end = xmp + bytes;
    while ((at = memmem(at, (size_t)(end - at), NAME, n)) != NULL) {
        at += n;
        if (end - at >= 2 && at[0] == '>')
            at++;
        else if (end - at >= 3 && at[0] == '=' && at[1] == '"')
            at += 2;
        else
            continue;
        if (*at >= '0' && *at <= '9') return *at >= '1' && *at <= '8' ? (uint8_t)(*at - '0') : 1;
    }
    return 1;
}

uint8_t brim_orientation_of(const uint8_t *exif, size_t exif_bytes, const uint8_t *xmp,
                            size_t xmp_bytes)
{
    uint8_t orientation;

    if (brim_exif_find_orientation(exif, exif_bytes, &orientation)) return orientation;
    return brim_xmp_orientation(xmp, xmp_bytes);
}
