#include <limits.h>
#include <zlib.h>

#include "CImageCodecs.h"

size_t lk_inflate(const uint8_t *bytes, size_t count, uint8_t *out, size_t capacity) {
    if (count > UINT_MAX || capacity > UINT_MAX) return 0;
    z_stream stream = {
        .next_in = (Bytef *)bytes, .avail_in = (uInt)count, .next_out = out, .avail_out = (uInt)capacity};
    if (inflateInit(&stream) != Z_OK) return 0;
    int status = inflate(&stream, Z_FINISH);
    size_t produced = stream.total_out;
    inflateEnd(&stream);
    return status == Z_STREAM_END ? produced : 0;
}
