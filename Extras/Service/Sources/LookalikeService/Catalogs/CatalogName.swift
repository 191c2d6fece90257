/// The name of a catalog: of its folder, and in paths.
///
/// It starts with a letter or a digit, so it is neither hidden nor `..`, and has no separator of paths.
package struct CatalogName: Hashable, Sendable, LosslessStringConvertible {
    package let description: String

    static let rule =
        "A catalog's name has 1 to 64 letters of a to z, digits, “-”, “_” and “.”, and starts with a letter or a digit."

    package init?(_ text: String) {
        func isAlphanumeric(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        let bytes = Array(text.utf8)
        guard (1...64).contains(bytes.count), isAlphanumeric(bytes[0]),
            bytes.allSatisfy({ isAlphanumeric($0) || "-_.".utf8.contains($0) })
        else { return nil }
        description = text
    }
}
