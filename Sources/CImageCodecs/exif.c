#include <string.h>

#include "CImageCodecs.h"

static uint32_t read_number(const uint8_t *p, int bytes, bool little) {
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint32_t)p[i] << 8 * (little ? i : bytes - 1 - i);
    return value;
}

// The Orientation tag is 0x0112 in the first directory: EXIF 2.32, section 4.6.4; TIFF 6.0, section 2. Anything
// malformed means “as stored”.
uint16_t lk_exif_orientation(const uint8_t *p, size_t count) {
    if (count < 8) return 1;
    bool little = p[0] == 'I';
    if (memcmp(p, little ? "II" : "MM", 2) != 0 || read_number(p + 2, 2, little) != 42) return 1;
    uint32_t directory = read_number(p + 4, 4, little);
    if (directory > count - 2) return 1;
    uint32_t entries = read_number(p + directory, 2, little);
    for (uint32_t i = 0; i < entries; i++) {
        size_t at = (size_t)directory + 2 + (size_t)i * 12;
        if (at + 12 > count) return 1;
        if (read_number(p + at, 2, little) != 0x0112) continue;
        uint32_t value = read_number(p + at + 8, 2, little);
        return value >= 1 && value <= 8 ? (uint16_t)value : 1;
    }
    return 1;
}
