// Barcodes by zxing-cpp, whose interface is C++.

#include "CBarcodes.h"

#ifdef LK_BARCODES

#define ZX_USE_UTF8 1
#include <ZXing/ReadBarcode.h>
#include <algorithm>
#include <cstring>
#include <vector>

using namespace ZXing;

// Codes of larger images are looked for in halves of them, too: few of their lines are as narrow as a pixel.
static const int LARGE_SIDE = 500;

static std::vector<uint8_t> gray_pixels(const uint8_t *pixels, int width, int height, int bytes_per_row,
                                        lk_barcode_pixels format) {
    const int step = format == LK_BARCODE_GRAY ? 1 : format == LK_BARCODE_RGB ? 3 : 4;
    // Green has most of the luma, and the order of the others matters little.
    const int green = format == LK_BARCODE_GRAY ? 0 : 1, last = format == LK_BARCODE_GRAY ? 0 : 2;
    std::vector<uint8_t> gray(static_cast<size_t>(width) * height);
    for (int y = 0; y < height; y++) {
        const uint8_t *row = pixels + static_cast<ptrdiff_t>(y) * bytes_per_row;
        uint8_t *out = gray.data() + static_cast<size_t>(y) * width;
        for (int x = 0; x < width; x++, row += step)
            out[x] = static_cast<uint8_t>((row[0] + 2 * row[green] + row[last]) / 4);
    }
    return gray;
}

static std::vector<uint8_t> halved(const std::vector<uint8_t> &gray, int width, int height) {
    std::vector<uint8_t> half(static_cast<size_t>(width / 2) * (height / 2));
    for (int y = 0; y < height / 2; y++) {
        const uint8_t *row = gray.data() + static_cast<size_t>(2 * y) * width, *next = row + width;
        uint8_t *out = half.data() + static_cast<size_t>(y) * (width / 2);
        for (int x = 0; x < width / 2; x++)
            out[x] = static_cast<uint8_t>((row[2 * x] + row[2 * x + 1] + next[2 * x] + next[2 * x + 1] + 2) / 4);
    }
    return half;
}

extern "C" int lk_read_barcodes(const uint8_t *pixels, int width, int height, int bytes_per_row,
                                lk_barcode_pixels format, lk_barcode *codes, int capacity) {
    try {
        std::vector<uint8_t> gray = gray_pixels(pixels, width, height, bytes_per_row, format);
        DecodeHints hints;
        hints.setMaxNumberOfSymbols(static_cast<uint8_t>(std::min(capacity, 255)));
        // In version 1.4 it compares codes of two scales, and an assertion about their lines ends the process.
        hints.setTryDownscale(false);
        int count = 0;
        for (int scale = 1;; scale *= 2) {
            for (const auto &found : ReadBarcodes(ImageView(gray.data(), width, height, ImageFormat::Lum), hints)) {
                const std::string text = found.text();
                if (count == capacity || !found.isValid() || text.empty() || text.size() >= LK_BARCODE_TEXT) continue;
                if (text.find('\0') != std::string::npos) continue;
                const auto isSame = [&](const lk_barcode &code) { return text == code.text; };
                if (scale > 1 && std::any_of(codes, codes + count, isSame)) continue;
                lk_barcode &code = codes[count++];
                std::memcpy(code.text, text.c_str(), text.size() + 1);
                code.symbology = ToString(found.format());
                for (int corner = 0; corner < 4; corner++) {
                    code.corners[2 * corner] = found.position()[corner].x * scale;
                    code.corners[2 * corner + 1] = found.position()[corner].y * scale;
                }
            }
            if (std::min(width, height) < LARGE_SIDE) return count;
            gray = halved(gray, width, height);
            width /= 2;
            height /= 2;
        }
    } catch (...) {
        return -1;
    }
}

#endif
