// Elements of an XML document as its bytes come: libxml2's push parser.
//
// A target of its own, since libxml2's headers bring ICU's along, and those are not the ones that Foundation has.

#ifndef CXMLREADER_H
#define CXMLREADER_H

#include <stddef.h>

typedef struct lk_xml_reader lk_xml_reader;

// An attribute with its entities replaced. The value has no zero at its end. Valid during the call.
typedef struct {
    const char *_Nonnull name;
    const char *_Nonnull value;
    size_t length;
} lk_xml_attribute;

typedef void (*lk_xml_begin)(void *_Nullable context, const char *_Nonnull name,
                             const lk_xml_attribute *_Nullable attributes, size_t count);
typedef void (*lk_xml_end)(void *_Nullable context, const char *_Nonnull name);

typedef enum {
    LK_XML_OK,
    // Nothing that begins like a document.
    LK_XML_EMPTY,
    // The document ends before its last end tag.
    LK_XML_TRUNCATED,
    LK_XML_MALFORMED,
    LK_XML_STOPPED,
    // An element with very many attributes.
    LK_XML_TOO_MANY,
    LK_XML_NO_MEMORY,
} lk_xml_status;

// For documents without a document type, which might declare entities. Loads no other files, and keeps libxml2's limits
// on the length of texts and on depth. Elements have 1000 attributes at most. NULL without memory.
lk_xml_reader *_Nullable lk_xml_reader_make(void *_Nullable context, lk_xml_begin _Nonnull begin,
                                            lk_xml_end _Nonnull end);
void lk_xml_reader_free(lk_xml_reader *_Nullable reader);

// Calls begin and end for the elements in the next bytes.
lk_xml_status lk_xml_reader_read(lk_xml_reader *_Nonnull reader, const char *_Nullable bytes, int count);
// Ends the document.
lk_xml_status lk_xml_reader_finish(lk_xml_reader *_Nonnull reader);
// From within begin: reads no more.
void lk_xml_reader_stop(lk_xml_reader *_Nonnull reader);

// The line that is read, from 1.
int lk_xml_reader_line(const lk_xml_reader *_Nonnull reader);
// What is wrong with the document; NULL if nothing is known.
const char *_Nullable lk_xml_reader_message(const lk_xml_reader *_Nonnull reader);

#endif
