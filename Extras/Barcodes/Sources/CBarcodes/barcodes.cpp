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

// Paints over a code, so that the next one is found. Of a linear code, which is higher than the lines that were read, an
// eighth of its length around it.
static void cover(std::vector<uint8_t> &gray, int width, int height, const Result &code) {
    int left = width, right = 0, top = height, bottom = 0;
    for (int corner = 0; corner < 4; corner++) {
        left = std::min(left, code.position()[corner].x);
        right = std::max(right, code.position()[corner].x + 1);
        top = std::min(top, code.position()[corner].y);
        bottom = std::max(bottom, code.position()[corner].y + 1);
    }
    const bool is_linear = BarcodeFormats(BarcodeFormat::LinearCodes).testFlag(code.format());
    const int margin = is_linear ? std::max(right - left, bottom - top) / 8 + 2 : 2;
    left = std::max(left - margin, 0);
    right = std::min(right + margin, width);
    for (int y = std::max(top - margin, 0); y < std::min(bottom + margin, height) && left < right; y++)
        std::memset(gray.data() + static_cast<size_t>(y) * width + left, 255, static_cast<size_t>(right - left));
}

extern "C" int lk_read_barcodes(const uint8_t *pixels, int width, int height, int bytes_per_row,
                                lk_barcode_pixels format, lk_barcode *codes, int capacity) {
    try {
        std::vector<uint8_t> gray = gray_pixels(pixels, width, height, bytes_per_row, format);
        DecodeHints hints;
        // Debian 12 has version 1.4 with assertions, which end the process where it compares linear codes with each
        // other, and where it looks for Aztec or PDF417 codes in some photographs. So it looks for one code at a time,
        // at one scale, and for the kinds that products have.
        hints.setFormats(BarcodeFormat::LinearCodes | BarcodeFormat::QRCode);
        hints.setMaxNumberOfSymbols(1);
        hints.setTryDownscale(false);
        int count = 0;
        for (int scale = 1;; scale *= 2) {
            std::vector<uint8_t> rest = gray;
            // A part of a tall code may be found again.
            for (int trial = 0; trial < 4 * capacity && count < capacity; trial++) {
                const auto found = ReadBarcodes(ImageView(rest.data(), width, height, ImageFormat::Lum), hints);
                if (found.empty() || !found[0].isValid()) break;
                cover(rest, width, height, found[0]);
                const std::string text = found[0].text();
                if (text.empty() || text.size() >= LK_BARCODE_TEXT || text.find('\0') != std::string::npos) continue;
                const auto isSame = [&](const lk_barcode &code) { return text == code.text; };
                if (std::any_of(codes, codes + count, isSame)) continue;
                lk_barcode &code = codes[count++];
                std::memcpy(code.text, text.c_str(), text.size() + 1);
                code.symbology = ToString(found[0].format());
                for (int corner = 0; corner < 4; corner++) {
                    code.corners[2 * corner] = found[0].position()[corner].x * scale;
                    code.corners[2 * corner + 1] = found[0].position()[corner].y * scale;
                }
            }
            if (count == capacity || std::min(width, height) < LARGE_SIDE) return count;
            gray = halved(gray, width, height);
            width /= 2;
            height /= 2;
        }
    } catch (...) {
        return -1;
    }
}

#endif
