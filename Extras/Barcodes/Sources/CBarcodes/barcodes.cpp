// Barcodes by zxing-cpp, whose interface is C++.

#include "CBarcodes.h"

#ifdef LK_BARCODES

#define ZX_USE_UTF8 1
#include <ZXing/ReadBarcode.h>
#include <algorithm>
#include <cstring>

extern "C" int lk_read_barcodes(const uint8_t *pixels, int width, int height, int bytes_per_row,
                                lk_barcode_pixels format, lk_barcode *codes, int capacity) {
    using namespace ZXing;
    static const ImageFormat formats[] = {ImageFormat::Lum, ImageFormat::RGB, ImageFormat::RGBX, ImageFormat::BGRX};
    try {
        const ImageView image(pixels, width, height, formats[format], bytes_per_row);
        DecodeHints hints;
        hints.setMaxNumberOfSymbols(static_cast<uint8_t>(std::min(capacity, 255)));
        int count = 0;
        for (const auto &found : ReadBarcodes(image, hints)) {
            const std::string text = found.text();
            if (count == capacity || !found.isValid() || text.empty() || text.size() >= LK_BARCODE_TEXT) continue;
            if (text.find('\0') != std::string::npos) continue;
            lk_barcode &code = codes[count++];
            std::memcpy(code.text, text.c_str(), text.size() + 1);
            code.symbology = ToString(found.format());
            for (int corner = 0; corner < 4; corner++) {
                code.corners[2 * corner] = found.position()[corner].x;
                code.corners[2 * corner + 1] = found.position()[corner].y;
            }
        }
        return count;
    } catch (...) {
        return -1;
    }
}

#endif
