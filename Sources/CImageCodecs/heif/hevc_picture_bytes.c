// The beginning of a sequence parameter set; ITU-T H.265, sections 7.3.1 (NAL units), 7.3.2.2 and 7.3.3.

#ifdef LK_HEIF

#include "CImageCodecs.h"

// Bits of a NAL unit, without the bytes that keep start codes out of it.
typedef struct {
    const uint8_t *bytes;
    size_t count;
    size_t byte;
    int bit;
    int zeros;
    bool is_over;
} bit_reader;

static uint32_t read_bit(bit_reader *reader) {
    if (reader->bit == 0 && reader->zeros >= 2 && reader->byte < reader->count && reader->bytes[reader->byte] == 3) {
        reader->byte++;
        reader->zeros = 0;
    }
    if (reader->byte >= reader->count) {
        reader->is_over = true;
        return 0;
    }
    const uint8_t byte = reader->bytes[reader->byte];
    const uint32_t bit = byte >> (7 - reader->bit) & 1;
    if (++reader->bit == 8) {
        reader->zeros = byte == 0 ? reader->zeros + 1 : 0;
        reader->bit = 0;
        reader->byte++;
    }
    return bit;
}

static uint32_t read_bits(bit_reader *reader, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++) value = value << 1 | read_bit(reader);
    return value;
}

// An unsigned Exp-Golomb code, ue(v); section 9.2.
static uint64_t read_code(bit_reader *reader) {
    int zeros = 0;
    while (!reader->is_over && zeros < 32 && read_bit(reader) == 0) zeros++;
    return ((uint64_t)1 << zeros) - 1 + read_bits(reader, zeros);
}

enum { PROFILE_BITS = 88, LEVEL_BITS = 8 };

static void skip_profiles(bit_reader *reader, uint32_t sub_layers) {
    read_bits(reader, PROFILE_BITS + LEVEL_BITS);
    bool has_profile[8], has_level[8];
    for (uint32_t i = 0; i < sub_layers; i++) {
        has_profile[i] = read_bit(reader);
        has_level[i] = read_bit(reader);
    }
    if (sub_layers > 0) read_bits(reader, 2 * (int)(8 - sub_layers));
    for (uint32_t i = 0; i < sub_layers; i++)
        read_bits(reader, has_profile[i] * PROFILE_BITS + has_level[i] * LEVEL_BITS);
}

bool lk_hevc_picture_bytes(const uint8_t *unit, size_t count, uint64_t *bytes) {
    enum { SEQUENCE_PARAMETER_SET = 33, SEPARATE_PLANES = 3, FORMATS = 4, MOST_EXTRA_BITS = 8 };
    // Halves of samples per pixel: gray, 4:2:0, 4:2:2, 4:4:4.
    static const uint64_t samples[FORMATS] = {2, 3, 4, 6};
    *bytes = 0;
    bit_reader reader = {.bytes = unit, .count = count};
    read_bit(&reader);
    const uint32_t type = read_bits(&reader, 6), layer = read_bits(&reader, 6);
    read_bits(&reader, 3);
    // Layers above the first are another format's, which decoders leave out.
    if (reader.is_over || type != SEQUENCE_PARAMETER_SET || layer > 0) return true;
    read_bits(&reader, 4);
    const uint32_t sub_layers = read_bits(&reader, 3);
    read_bit(&reader);
    skip_profiles(&reader, sub_layers);
    read_code(&reader);
    const uint64_t format = read_code(&reader);
    if (format == SEPARATE_PLANES) read_bit(&reader);
    const uint64_t width = read_code(&reader), height = read_code(&reader);
    // The conformance window.
    if (read_bit(&reader))
        for (int i = 0; i < 4; i++) read_code(&reader);
    const uint64_t luma = read_code(&reader), chroma = read_code(&reader);
    if (reader.is_over || format >= FORMATS || luma > MOST_EXTRA_BITS || chroma > MOST_EXTRA_BITS) return false;
    const uint64_t most = UINT64_MAX / samples[SEPARATE_PLANES];
    if (width > UINT32_MAX || height > UINT32_MAX || (width > 0 && height > most / width)) *bytes = UINT64_MAX;
    else *bytes = width * height * samples[format] / 2 * (luma > 0 || chroma > 0 ? 2 : 1);
    return true;
}

#endif
