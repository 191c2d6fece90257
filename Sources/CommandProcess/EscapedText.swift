extension String {
    /// The text on one line, with visible escapes such as `\n` and `\u{1B}` for what would act on a terminal or
    /// imitate another line: control characters, line and paragraph separators, and bidirectional formatting.
    ///
    /// Ids and titles come from manifests and file names. Other characters stay as they are, the backslash too: text
    /// output is for reading, and JSON output is exact.
    public var escaped: String {
        guard unicodeScalars.contains(where: { $0.isHazardous }) else { return self }
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.isHazardous: result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Unicode.Scalar {
    fileprivate var isHazardous: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F: true
        // Line and paragraph separators.
        case 0x2028, 0x2029: true
        // Bidirectional embeddings, overrides, isolates and marks.
        case 0x202A...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C: true
        default: false
        }
    }
}
