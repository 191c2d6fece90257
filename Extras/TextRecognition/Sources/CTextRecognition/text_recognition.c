// Text by Tesseract. A file of its own, so that Swift needs no headers of the library.

#include "CTextRecognition.h"

#ifdef LK_TEXT_RECOGNITION

#include <stdlib.h>
#include <string.h>
#include <tesseract/capi.h>

struct lk_text_reader {
    TessBaseAPI *api;
};

// Whether all languages were found; the library is content with one.
static int has_all(TessBaseAPI *api, const char *languages) {
    char **loaded = TessBaseAPIGetLoadedLanguagesAsVector(api);
    if (loaded == NULL) return 0;
    int is_all = 1;
    for (const char *name = languages; is_all && *name != 0;) {
        const size_t length = strcspn(name, "+");
        is_all = 0;
        for (char **each = loaded; *each != NULL; each++)
            is_all |= strlen(*each) == length && strncmp(*each, name, length) == 0;
        name += length + (name[length] == '+');
    }
    TessDeleteTextArray(loaded);
    return is_all;
}

lk_text_reader *lk_text_reader_open(const char *folder, const char *languages) {
    lk_text_reader *reader = malloc(sizeof *reader);
    if (reader == NULL) return NULL;
    reader->api = TessBaseAPICreate();
    if (reader->api == NULL) {
        free(reader);
        return NULL;
    }
    // It reports what it dislikes of an image to standard error.
    TessBaseAPISetVariable(reader->api, "debug_file", "/dev/null");
    if (TessBaseAPIInit3(reader->api, folder, languages) != 0 || !has_all(reader->api, languages)) {
        lk_text_reader_close(reader);
        return NULL;
    }
    // Words anywhere, in no layout of a page.
    TessBaseAPISetPageSegMode(reader->api, PSM_SPARSE_TEXT);
    return reader;
}

void lk_text_reader_close(lk_text_reader *reader) {
    if (reader == NULL) return;
    TessBaseAPIDelete(reader->api);
    free(reader);
}

// Adds a word to a line; returns whether there was memory.
static int append(char **text, const char *word) {
    const size_t length = *text == NULL ? 0 : strlen(*text), added = strlen(word);
    char *longer = realloc(*text, length + added + 2);
    if (longer == NULL) return 0;
    if (length > 0) longer[length] = ' ';
    memcpy(longer + length + (length > 0), word, added + 1);
    *text = longer;
    return 1;
}

// Reads the words of the line that the iterator is at, and moves it to the next line; returns whether there is one, or
// -1 without memory.
static int read_line(TessResultIterator *words, float least_confidence, lk_text_line *line) {
    const TessPageIterator *place = TessResultIteratorGetPageIteratorConst(words);
    int count = 0;
    for (int is_first = 1;; is_first = 0) {
        if (!is_first) {
            if (!TessResultIteratorNext(words, RIL_WORD)) break;
            if (TessPageIteratorIsAtBeginningOf(place, RIL_TEXTLINE)) {
                if (count > 0) line->confidence /= (float)count;
                return 1;
            }
        }
        const float confidence = TessResultIteratorConfidence(words, RIL_WORD) / 100;
        int left, top, right, bottom;
        if (confidence < least_confidence ||
            !TessPageIteratorBoundingBox(place, RIL_WORD, &left, &top, &right, &bottom))
            continue;
        char *word = TessResultIteratorGetUTF8Text(words, RIL_WORD);
        if (word == NULL) continue;
        const int is_added = append(&line->text, word);
        TessDeleteText(word);
        if (!is_added) return -1;
        line->confidence += confidence;
        line->box[0] = count == 0 || left < line->box[0] ? left : line->box[0];
        line->box[1] = count == 0 || top < line->box[1] ? top : line->box[1];
        line->box[2] = count == 0 || right > line->box[2] ? right : line->box[2];
        line->box[3] = count == 0 || bottom > line->box[3] ? bottom : line->box[3];
        count++;
    }
    if (count > 0) line->confidence /= (float)count;
    return 0;
}

int lk_text_reader_read(lk_text_reader *reader, const uint8_t *gray, int width, int height, float least_confidence,
                        lk_text_line **lines) {
    *lines = NULL;
    TessBaseAPISetImage(reader->api, gray, width, height, 1, width);
    // Without a resolution it guesses one, and says so.
    TessBaseAPISetSourceResolution(reader->api, 300);
    if (TessBaseAPIRecognize(reader->api, NULL) != 0) return -1;
    TessResultIterator *words = TessBaseAPIGetIterator(reader->api);
    int count = 0, next = words != NULL;
    while (next > 0) {
        lk_text_line *more = realloc(*lines, (size_t)(count + 1) * sizeof *more);
        if (more == NULL) {
            next = -1;
            break;
        }
        *lines = more;
        lk_text_line *line = &more[count];
        memset(line, 0, sizeof *line);
        next = read_line(words, least_confidence, line);
        if (line->text != NULL) count++;
    }
    if (words != NULL) TessResultIteratorDelete(words);
    TessBaseAPIClear(reader->api);
    if (next < 0) {
        lk_text_lines_release(*lines, count);
        *lines = NULL;
        return -1;
    }
    return count;
}

void lk_text_lines_release(lk_text_line *lines, int count) {
    for (int index = 0; index < count; index++) free(lines[index].text);
    free(lines);
}

#endif
