#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The order of the bytes of a pixel; the fourth byte is ignored.
typedef enum { LK_BARCODE_GRAY, LK_BARCODE_RGB, LK_BARCODE_RGBX, LK_BARCODE_BGRX } lk_barcode_pixels;

// Room for the largest QR code, 2,953 bytes.
enum { LK_BARCODE_TEXT = 3072 };

typedef struct {
    // UTF-8, with a NUL at its end.
    char text[LK_BARCODE_TEXT];
    // The name of the symbology, such as “EAN-13”.
    const char *symbology;
    // x and y of the corners in pixels, clockwise from the code's own top left.
    int corners[8];
} lk_barcode;

// Reads at most `capacity` codes of 8-bit pixels; returns how many it found, or -1 without memory.
int lk_read_barcodes(const uint8_t *pixels, int width, int height, int bytes_per_row, lk_barcode_pixels format,
                     lk_barcode *codes, int capacity);

#ifdef __cplusplus
}
#endif
