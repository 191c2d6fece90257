// giflib: the first frame of a GIF file (GIF89a).

#ifdef LK_GIF

#include <gif_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CImageCodecs.h"

struct lk_gif_reader {
    const uint8_t *bytes;
    size_t count;
    size_t position;
    GifFileType *gif;
    int transparent;  // the index of a color, or -1
    lk_image_header header;
};

static int read_bytes(GifFileType *gif, GifByteType *out, int count) {
    lk_gif_reader *from = gif->UserData;
    size_t left = from->count - from->position;
    size_t taken = (size_t)count < left ? (size_t)count : left;
    memcpy(out, from->bytes + from->position, taken);
    from->position += taken;
    return (int)taken;
}

static void explain(const lk_gif_reader *reader, int error, char *message) {
    const char *words = GifErrorString(error);
    if (reader->position == reader->count) words = "the file ends early";
    snprintf(message, LK_CODEC_MESSAGE_LENGTH, "%s", words ? words : "giflib gave no reason");
}

void lk_gif_close(lk_gif_reader *reader) {
    if (!reader) return;
    if (reader->gif) DGifCloseFile(reader->gif, NULL);
    free(reader);
}

// Reads extensions up to the first image. A graphic control among them may name a transparent color.
static bool find_frame(lk_gif_reader *reader, char *message) {
    GifFileType *gif = reader->gif;
    for (;;) {
        GifRecordType type;
        if (DGifGetRecordType(gif, &type) == GIF_ERROR) break;
        if (type == TERMINATE_RECORD_TYPE) {
            snprintf(message, LK_CODEC_MESSAGE_LENGTH, "it has no frame");
            return false;
        }
        if (type == IMAGE_DESC_RECORD_TYPE) {
            if (DGifGetImageDesc(gif) == GIF_ERROR) break;
            return true;
        }
        int code = 0;
        GifByteType *block = NULL;
        if (DGifGetExtension(gif, &code, &block) == GIF_ERROR) break;
        bool is_first = true;
        while (block) {
            GraphicsControlBlock control;
            // Before a block comes its length.
            if (is_first && code == GRAPHICS_EXT_FUNC_CODE &&
                DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
                reader->transparent = control.TransparentColor;
            is_first = false;
            if (DGifGetExtensionNext(gif, &block) == GIF_ERROR) {
                explain(reader, gif->Error, message);
                return false;
            }
        }
    }
    explain(reader, gif->Error, message);
    return false;
}

lk_gif_reader *lk_gif_open(const uint8_t *bytes, size_t count, lk_image_header *header, char *message) {
    lk_gif_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "out of memory");
        return NULL;
    }
    reader->bytes = bytes;
    reader->count = count;
    reader->transparent = NO_TRANSPARENT_COLOR;
    int error = 0;
    reader->gif = DGifOpen(reader, read_bytes, &error);
    if (!reader->gif) {
        explain(reader, error, message);
        lk_gif_close(reader);
        return NULL;
    }
    if (!find_frame(reader, message)) {
        lk_gif_close(reader);
        return NULL;
    }
    const GifImageDesc *frame = &reader->gif->Image;
    // All sides have 16 bits. A frame that reaches outside the canvas makes it larger.
    uint32_t right = (uint32_t)frame->Left + (uint32_t)frame->Width;
    uint32_t bottom = (uint32_t)frame->Top + (uint32_t)frame->Height;
    uint32_t width = (uint32_t)reader->gif->SWidth, height = (uint32_t)reader->gif->SHeight;
    memset(header, 0, sizeof *header);
    header->width = right > width ? right : width;
    header->height = bottom > height ? bottom : height;
    bool is_covered = frame->Left == 0 && frame->Top == 0 && right >= width && bottom >= height;
    header->channels = is_covered && reader->transparent == NO_TRANSPARENT_COLOR ? 3 : 4;
    header->orientation = 1;
    header->scans = 1;
    reader->header = *header;
    return reader;
}

static bool read_row(lk_gif_reader *reader, uint32_t row, GifPixelType *indices, uint8_t *pixels, size_t stride,
                     char *message) {
    const GifImageDesc *frame = &reader->gif->Image;
    const ColorMapObject *colors = frame->ColorMap ? frame->ColorMap : reader->gif->SColorMap;
    if (DGifGetLine(reader->gif, indices, frame->Width) == GIF_ERROR) {
        explain(reader, reader->gif->Error, message);
        return false;
    }
    uint32_t channels = reader->header.channels;
    uint8_t *out = pixels + ((size_t)frame->Top + row) * stride + (size_t)frame->Left * channels;
    for (int x = 0; x < frame->Width; x++, out += channels) {
        int index = indices[x];
        bool is_known = colors && index < colors->ColorCount;
        GifColorType color = is_known ? colors->Colors[index] : (GifColorType){0, 0, 0};
        out[0] = color.Red;
        out[1] = color.Green;
        out[2] = color.Blue;
        if (channels == 4) out[3] = index == reader->transparent ? 0 : 255;
    }
    return true;
}

bool lk_gif_decode(lk_gif_reader *reader, uint8_t *pixels, size_t stride, char *message) {
    const GifImageDesc *frame = &reader->gif->Image;
    GifPixelType *indices = malloc((size_t)frame->Width + 1);
    if (!indices) {
        snprintf(message, LK_CODEC_MESSAGE_LENGTH, "out of memory");
        return false;
    }
    // Pixels that no frame covers are transparent.
    memset(pixels, 0, stride * reader->header.height);
    // Four passes of an interlaced frame (GIF89a, appendix E); one of another.
    static const uint32_t first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    bool is_fine = true;
    for (int pass = 0; pass < (frame->Interlace ? 4 : 1); pass++) {
        uint32_t begin = frame->Interlace ? first[pass] : 0, by = frame->Interlace ? step[pass] : 1;
        for (uint32_t row = begin; is_fine && row < (uint32_t)frame->Height; row += by)
            is_fine = read_row(reader, row, indices, pixels, stride, message);
    }
    free(indices);
    return is_fine;
}

#endif
