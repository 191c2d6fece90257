/// The depth to which the components of an iCalendar text are nested, before it is parsed.
enum ICalendarNesting {
    /// Rather too deep than not deep enough: `BEGIN` counts with blanks in it, too, which libical may drop, and `END`
    /// only as it should be.
    ///
    /// O(text).
    static func isDeeper(than limit: Int, in text: String) -> Bool {
        var depth = 0
        var name: [UInt8] = []
        var hasBlanks = false
        var isName = true
        // A line break before a blank is none (RFC 5545, section 3.1).
        var isAtEnd = false
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\n") {
                isAtEnd = true
                continue
            }
            let isFold = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            if isAtEnd {
                isAtEnd = false
                if isFold { continue }
                (name, hasBlanks, isName) = ([], false, true)
            }
            guard isName else { continue }
            if byte == UInt8(ascii: ":") || byte == UInt8(ascii: ";") {
                isName = false
                if name.elementsEqual("BEGIN".utf8) { depth += 1 }
                if name.elementsEqual("END".utf8), !hasBlanks { depth = max(0, depth - 1) }
                if depth > limit { return true }
            } else if isFold || byte == UInt8(ascii: "\r") {
                hasBlanks = true
            } else if name.count < 8 {
                // Names are compared in capitals.
                name.append(byte & 0xDF)
            }
        }
        return false
    }
}
