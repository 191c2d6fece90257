// Barcodes by zxing-cpp, whose interface is C++.

#include "CBarcodes.h"

#ifdef LK_BARCODES

#define ZX_USE_UTF8 1
#include <ZXing/ReadBarcode.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace ZXing;

// Codes of larger images are looked for in halves of them, too: few of their lines are as narrow as a pixel.
static const int LARGE_SIDE = 500;
// zxing-cpp reads linear codes along rows and columns, so tilted ones are read in turned images. A line at half of this
// angle crosses a code with a fifth of its length in height.
static const int TURN_DEGREES = 22, TURNS = 4;
// Turned images are no larger: in photographs that are, the lines of a code that can be told apart are wider.
static const size_t MOST_TURNED_PIXELS = 4000000;

struct Gray {
    std::vector<uint8_t> pixels;
    int width, height;
    // Where a point is in the first image: the matrix' rows times x, y and 1.
    double matrix[6];
};

static Gray gray_pixels(const uint8_t *pixels, int width, int height, int bytes_per_row, lk_barcode_pixels format) {
    const int step = format == LK_BARCODE_GRAY ? 1 : format == LK_BARCODE_RGB ? 3 : 4;
    // Green has most of the luma, and the order of the others matters little.
    const int green = format == LK_BARCODE_GRAY ? 0 : 1, last = format == LK_BARCODE_GRAY ? 0 : 2;
    Gray gray{std::vector<uint8_t>(static_cast<size_t>(width) * height), width, height, {1, 0, 0, 0, 1, 0}};
    for (int y = 0; y < height; y++) {
        const uint8_t *row = pixels + static_cast<ptrdiff_t>(y) * bytes_per_row;
        uint8_t *out = gray.pixels.data() + static_cast<size_t>(y) * width;
        for (int x = 0; x < width; x++, row += step)
            out[x] = static_cast<uint8_t>((row[0] + 2 * row[green] + row[last]) / 4);
    }
    return gray;
}

static Gray halved(const Gray &gray) {
    const int width = gray.width / 2, height = gray.height / 2;
    Gray half{std::vector<uint8_t>(static_cast<size_t>(width) * height), width, height, {}};
    for (int y = 0; y < height; y++) {
        const uint8_t *row = gray.pixels.data() + static_cast<size_t>(2 * y) * gray.width, *next = row + gray.width;
        uint8_t *out = half.pixels.data() + static_cast<size_t>(y) * width;
        for (int x = 0; x < width; x++)
            out[x] = static_cast<uint8_t>((row[2 * x] + row[2 * x + 1] + next[2 * x] + next[2 * x + 1] + 2) / 4);
    }
    for (int i = 0; i < 6; i++) half.matrix[i] = gray.matrix[i] * (i % 3 == 2 ? 1 : 2);
    return half;
}

static Gray inverted(Gray gray) {
    for (uint8_t &pixel : gray.pixels) pixel = static_cast<uint8_t>(255 - pixel);
    return gray;
}

// The image turned about its center, in its bounding box, with white around it.
static Gray turned(const Gray &gray, double radians) {
    const double c = std::cos(radians), s = std::sin(radians);
    const int width = static_cast<int>(std::ceil(gray.width * std::abs(c) + gray.height * std::abs(s)));
    const int height = static_cast<int>(std::ceil(gray.width * std::abs(s) + gray.height * std::abs(c)));
    const double left = gray.width / 2.0 - (c * width - s * height) / 2;
    const double top = gray.height / 2.0 - (s * width + c * height) / 2;
    Gray out{std::vector<uint8_t>(static_cast<size_t>(width) * height, 255), width, height, {}};
    const double own[6] = {c, -s, left, s, c, top};
    const double *m = gray.matrix;
    for (int row = 0; row < 6; row += 3)
        for (int column = 0; column < 3; column++)
            out.matrix[row + column] =
                m[row] * own[column] + m[row + 1] * own[3 + column] + (column == 2 ? m[row + 2] : 0);
    // Bilinear, in 256ths of a pixel.
    const int step_x = static_cast<int>(std::lround(c * 65536)), step_y = static_cast<int>(std::lround(s * 65536));
    for (int y = 0; y < height; y++) {
        int64_t at_x = std::llround((left - s * y) * 65536), at_y = std::llround((top + c * y) * 65536);
        uint8_t *row = out.pixels.data() + static_cast<size_t>(y) * width;
        for (int x = 0; x < width; x++, at_x += step_x, at_y += step_y) {
            const int64_t from_x = at_x >> 16, from_y = at_y >> 16;
            if (from_x < 0 || from_y < 0 || from_x >= gray.width - 1 || from_y >= gray.height - 1) continue;
            const uint8_t *from = gray.pixels.data() + from_y * gray.width + from_x, *next = from + gray.width;
            const int part_x = static_cast<int>(at_x >> 8 & 255), part_y = static_cast<int>(at_y >> 8 & 255);
            const int upper = from[0] * (256 - part_x) + from[1] * part_x;
            const int lower = next[0] * (256 - part_x) + next[1] * part_x;
            row[x] = static_cast<uint8_t>((upper * (256 - part_y) + lower * part_y + 32768) >> 16);
        }
    }
    return out;
}

// Paints over a code, so that the next one is found. Of a linear code, which is higher than the lines that were read,
// an eighth of its length around it.
static void cover(Gray &gray, const Result &code) {
    int left = gray.width, right = 0, top = gray.height, bottom = 0;
    for (int corner = 0; corner < 4; corner++) {
        left = std::min(left, code.position()[corner].x);
        right = std::max(right, code.position()[corner].x + 1);
        top = std::min(top, code.position()[corner].y);
        bottom = std::max(bottom, code.position()[corner].y + 1);
    }
    const bool is_linear = BarcodeFormats(BarcodeFormat::LinearCodes).testFlag(code.format());
    const int margin = is_linear ? std::max(right - left, bottom - top) / 8 + 2 : 2;
    left = std::max(left - margin, 0);
    right = std::min(right + margin, gray.width);
    for (int y = std::max(top - margin, 0); y < std::min(bottom + margin, gray.height) && left < right; y++)
        std::memset(gray.pixels.data() + static_cast<size_t>(y) * gray.width + left, 255,
                    static_cast<size_t>(right - left));
}

// Adds the codes of an image that are not among those that were found before.
static int read(Gray gray, BarcodeFormats formats, lk_barcode *codes, int count, int capacity) {
    DecodeHints hints;
    // Debian 12 has version 1.4 with assertions, which end the process where it compares linear codes with each other,
    // and where it looks for Aztec or PDF417 codes in some photographs. So it looks for one code at a time, at one
    // scale, and for the kinds that products have.
    hints.setFormats(formats);
    hints.setMaxNumberOfSymbols(1);
    hints.setTryDownscale(false);
    // A part of a tall code may be found again.
    for (int trial = 0; trial < 4 * capacity && count < capacity; trial++) {
        const auto found =
            ReadBarcodes(ImageView(gray.pixels.data(), gray.width, gray.height, ImageFormat::Lum), hints);
        if (found.empty() || !found[0].isValid()) break;
        cover(gray, found[0]);
        const std::string text = found[0].text();
        if (text.empty() || text.size() >= LK_BARCODE_TEXT || text.find('\0') != std::string::npos) continue;
        const auto isSame = [&](const lk_barcode &code) { return text == code.text; };
        if (std::any_of(codes, codes + count, isSame)) continue;
        lk_barcode &code = codes[count++];
        std::memcpy(code.text, text.c_str(), text.size() + 1);
        code.symbology = ToString(found[0].format());
        for (int corner = 0; corner < 4; corner++) {
            const auto point = found[0].position()[corner];
            const double *m = gray.matrix;
            code.corners[2 * corner] = static_cast<int>(std::lround(m[0] * point.x + m[1] * point.y + m[2]));
            code.corners[2 * corner + 1] = static_cast<int>(std::lround(m[3] * point.x + m[4] * point.y + m[5]));
        }
    }
    return count;
}

// Whether a code is the left half of another one: that of an EAN-13 looks like a UPC-E of the same six digits.
static bool is_half(const lk_barcode &code, const lk_barcode *codes, int count) {
    return std::strcmp(code.symbology, ToString(BarcodeFormat::UPCE)) == 0 &&
           std::any_of(codes, codes + count, [&](const lk_barcode &other) {
               return std::strcmp(other.symbology, ToString(BarcodeFormat::EAN13)) == 0 &&
                      std::memcmp(code.text + 1, other.text + 1, 6) == 0;
           });
}

extern "C" int lk_read_barcodes(const uint8_t *pixels, int width, int height, int bytes_per_row,
                                lk_barcode_pixels format, lk_barcode *codes, int capacity) {
    // Others have no check digit, and would be found in textures.
    const BarcodeFormats checked = BarcodeFormat::EAN13 | BarcodeFormat::EAN8 | BarcodeFormat::UPCA |
                                   BarcodeFormat::UPCE | BarcodeFormat::Code128 | BarcodeFormat::DataBar;
    try {
        Gray gray = gray_pixels(pixels, width, height, bytes_per_row, format);
        int count = 0;
        while (true) {
            count = read(gray, BarcodeFormat::LinearCodes | BarcodeFormat::QRCode, codes, count, capacity);
            // White codes on dark packages.
            count = read(inverted(gray), checked | BarcodeFormat::QRCode, codes, count, capacity);
            const bool is_turned = gray.pixels.size() <= MOST_TURNED_PIXELS;
            for (int turn = 1; turn < TURNS && is_turned; turn++) {
                const Gray tilted = turned(gray, turn * TURN_DEGREES * std::acos(-1.0) / 180);
                count = read(tilted, checked, codes, count, capacity);
                count = read(inverted(tilted), checked, codes, count, capacity);
            }
            if (count == capacity || std::min(gray.width, gray.height) < LARGE_SIDE) break;
            gray = halved(gray);
        }
        for (int i = count - 1; i >= 0; i--)
            if (is_half(codes[i], codes, count)) std::copy(codes + i + 1, codes + count--, codes + i);
        return count;
    } catch (...) {
        return -1;
    }
}

#endif
