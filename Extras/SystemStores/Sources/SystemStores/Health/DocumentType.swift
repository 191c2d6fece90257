#if SystemStores
/// The document type at the beginning of an XML file, which is not read: those of Health's exports have been invalid in
/// some versions of the system, and an export needs no entities of its own.
enum DocumentType {
    enum Result {
        /// More of the file is needed to tell.
        case incomplete
        /// The document type has these bytes; nil if there is none.
        case found(Range<Int>?)
        case problem(String)
    }

    /// Looks for the document type in the first bytes of a file.
    static func find(in bytes: [UInt8]) -> Result {
        if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) {
            return .problem("is UTF-16 text, and not UTF-8")
        }
        var index = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): index += 1
            case UInt8(ascii: "<"):
                // Long enough for the longest of the openings below.
                guard bytes.count - index >= 9 else { return .incomplete }
                if bytes[index...].starts(with: "<?".utf8) {
                    guard let end = end(of: "?>", in: bytes, from: index + 2) else { return .incomplete }
                    index = end
                } else if bytes[index...].starts(with: "<!--".utf8) {
                    guard let end = end(of: "-->", in: bytes, from: index + 4) else { return .incomplete }
                    index = end
                } else if bytes[index...].starts(with: "<!DOCTYPE".utf8) {
                    return documentType(in: bytes, from: index)
                } else {
                    return .found(nil)
                }
            // The parser says what is wrong with it.
            default: return .found(nil)
            }
        }
        return .incomplete
    }

    private static func documentType(in bytes: [UInt8], from start: Int) -> Result {
        var index = start + 9
        var isInSubset = false
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                guard let end = bytes[(index + 1)...].firstIndex(of: bytes[index]) else { return .incomplete }
                index = end + 1
            case UInt8(ascii: "["):
                isInSubset = true
                index += 1
            case UInt8(ascii: "]"):
                isInSubset = false
                index += 1
            case UInt8(ascii: ">") where !isInSubset: return .found(start..<(index + 1))
            case UInt8(ascii: "<"):
                guard bytes.count - index >= 8 else { return .incomplete }
                if bytes[index...].starts(with: "<!ENTITY".utf8) {
                    return .problem("declares entities, which no Health export has")
                }
                if bytes[index...].starts(with: "<!--".utf8) {
                    guard let end = end(of: "-->", in: bytes, from: index + 4) else { return .incomplete }
                    index = end
                } else if bytes[index...].starts(with: "<?".utf8) {
                    guard let end = end(of: "?>", in: bytes, from: index + 2) else { return .incomplete }
                    index = end
                } else {
                    index += 1
                }
            default: index += 1
            }
        }
        return .incomplete
    }

    /// The index after the first mark.
    private static func end(of mark: String, in bytes: [UInt8], from start: Int) -> Int? {
        let mark = Array(mark.utf8)
        var index = start
        while let first = bytes[min(index, bytes.count)...].firstIndex(of: mark[0]) {
            if bytes[first...].starts(with: mark) { return first + mark.count }
            index = first + 1
        }
        return nil
    }
}
#endif
