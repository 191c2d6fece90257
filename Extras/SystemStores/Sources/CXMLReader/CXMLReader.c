#ifdef LK_SYSTEM_STORES
#include "CXMLReader.h"

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <pthread.h>
#include <stdlib.h>

struct lk_xml_reader {
    xmlParserCtxtPtr parser;
    void *context;
    lk_xml_begin begin;
    lk_xml_end end;
    // Grows to the most attributes of an element.
    lk_xml_attribute *attributes;
    size_t capacity;
    int is_out_of_memory;
    // Since the last '<'.
    size_t equals;
};

// libxml2 2.9 compares each attribute of an element with all others.
static const size_t most_attributes = 1000;

static pthread_once_t initialized = PTHREAD_ONCE_INIT;

static void start_element(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                          int namespace_count, const xmlChar **namespaces, int count, int defaulted,
                          const xmlChar **attributes) {
    (void)prefix, (void)uri, (void)namespace_count, (void)namespaces, (void)defaulted;
    lk_xml_reader *reader = context;
    if ((size_t)count > reader->capacity) {
        lk_xml_attribute *larger = realloc(reader->attributes, (size_t)count * sizeof *larger);
        if (larger == NULL) {
            reader->is_out_of_memory = 1;
            xmlStopParser(reader->parser);
            return;
        }
        reader->attributes = larger;
        reader->capacity = (size_t)count;
    }
    for (int i = 0; i < count; i++) {
        // For each: name, prefix, URI, and where the value begins and ends.
        const xmlChar **attribute = attributes + 5 * i;
        reader->attributes[i] = (lk_xml_attribute){
            .name = (const char *)attribute[0],
            .value = (const char *)attribute[3],
            .length = (size_t)(attribute[4] - attribute[3]),
        };
    }
    reader->begin(reader->context, (const char *)name, reader->attributes, (size_t)count);
}

static void end_element(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri) {
    (void)prefix, (void)uri;
    lk_xml_reader *reader = context;
    reader->end(reader->context, (const char *)name);
}

// Errors are read from the parser.
static void ignore_error(void *context, xmlErrorPtr error) { (void)context, (void)error; }

lk_xml_reader *lk_xml_reader_make(void *context, lk_xml_begin begin, lk_xml_end end) {
    pthread_once(&initialized, xmlInitParser);
    lk_xml_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return NULL;
    reader->context = context;
    reader->begin = begin;
    reader->end = end;
    xmlSAXHandler handler = {
        .initialized = XML_SAX2_MAGIC,
        .startElementNs = start_element,
        .endElementNs = end_element,
        .serror = (xmlStructuredErrorFunc)ignore_error,
    };
    reader->parser = xmlCreatePushParserCtxt(&handler, reader, NULL, 0, NULL);
    if (reader->parser == NULL) {
        free(reader);
        return NULL;
    }
    // With the predefined entities replaced; there are no others.
    xmlCtxtUseOptions(reader->parser, XML_PARSE_NONET | XML_PARSE_NOENT);
    return reader;
}

void lk_xml_reader_free(lk_xml_reader *reader) {
    if (reader == NULL) return;
    xmlFreeParserCtxt(reader->parser);
    free(reader->attributes);
    free(reader);
}

static lk_xml_status status(const lk_xml_reader *reader, int code) {
    if (reader->is_out_of_memory) return LK_XML_NO_MEMORY;
    switch (code) {
    case XML_ERR_OK: return LK_XML_OK;
    case XML_ERR_NO_MEMORY: return LK_XML_NO_MEMORY;
    case XML_ERR_DOCUMENT_EMPTY: return LK_XML_EMPTY;
    case XML_ERR_DOCUMENT_END:
    case XML_ERR_TAG_NOT_FINISHED: return LK_XML_TRUNCATED;
    case XML_ERR_USER_STOP: return LK_XML_STOPPED;
    default: return LK_XML_MALFORMED;
    }
}

// An attribute has an '=', and no value has a '<' (XML 1.0, section 2.4). Texts with many '=' count as well, which no
// export has.
static int has_too_many_attributes(lk_xml_reader *reader, const char *bytes, int count) {
    for (int i = 0; i < count; i++) {
        if (bytes[i] == '<') reader->equals = 0;
        if (bytes[i] == '=' && ++reader->equals > most_attributes) return 1;
    }
    return 0;
}

lk_xml_status lk_xml_reader_read(lk_xml_reader *reader, const char *bytes, int count) {
    if (has_too_many_attributes(reader, bytes, count)) return LK_XML_TOO_MANY;
    return status(reader, xmlParseChunk(reader->parser, bytes, count, 0));
}

lk_xml_status lk_xml_reader_finish(lk_xml_reader *reader) {
    return status(reader, xmlParseChunk(reader->parser, NULL, 0, 1));
}

void lk_xml_reader_stop(lk_xml_reader *reader) { xmlStopParser(reader->parser); }

int lk_xml_reader_line(const lk_xml_reader *reader) { return xmlSAX2GetLineNumber(reader->parser); }

const char *lk_xml_reader_message(const lk_xml_reader *reader) {
    const xmlError *error = xmlCtxtGetLastError(reader->parser);
    return error == NULL ? NULL : error->message;
}
#else
// Nothing is left without the trait, and C wants a declaration.
typedef int lk_xml_reader_is_not_built;
#endif
