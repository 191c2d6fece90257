#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_text_reader lk_text_reader;

typedef struct {
    // UTF-8, with a NUL at its end; without line breaks.
    char *text;
    // The mean of its words, 0...1.
    float confidence;
    // Left, top, right and bottom in pixels of the image as it was read.
    int box[4];
} lk_text_line;

// NULL if the data of a language are missing, or without memory. The folder is NULL for that of the library; languages
// are names with plus signs between.
lk_text_reader *lk_text_reader_open(const char *folder, const char *languages);
void lk_text_reader_close(lk_text_reader *reader);

// Reads 8-bit gray pixels. Returns the number of lines, or -1 if it failed; they are released by lk_text_lines_release.
int lk_text_reader_read(lk_text_reader *reader, const uint8_t *gray, int width, int height, float least_confidence,
                        lk_text_line **lines);
void lk_text_lines_release(lk_text_line *lines, int count);

#ifdef __cplusplus
}
#endif
