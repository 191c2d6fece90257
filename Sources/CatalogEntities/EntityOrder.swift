/// The order of a list by a field: entities whose value is a number, by that; then others by their texts, without
/// regard to case and diacritics; then those without a value. Ties, and entities without a value, are in the catalog's
/// order. A descending list has the same three parts, the first two of them backward.
package struct EntityOrder: Sendable, Hashable {
    /// A field with one value.
    package var field: EntityField
    package var isDescending: Bool
    /// Whether dates come first, as instants (``DateSpan``), in place of numbers.
    package var comparesDates: Bool

    package init(field: EntityField, isDescending: Bool = false, comparesDates: Bool = false) {
        (self.field, self.isDescending, self.comparesDates) = (field, isDescending, comparesDates)
    }
}

/// A number as it is compared.
package enum FieldNumber: Sendable, Hashable {
    case real(Double)
    /// One that a `Double` would round.
    case whole(Int64)

    /// The number that a text is; see ``FieldValue/number(_:)``.
    package init?(_ text: String) {
        guard let number = FieldValue.number(text) else { return nil }
        let whole = FieldValue.isRounded(text) ? FieldValue.integer(text) : nil
        self = whole.map(FieldNumber.whole) ?? .real(number)
    }
}

/// A place in a list, from which the next page is read: the values of its last entity, not an offset. So the next page
/// neither repeats nor skips an entity that stays as it is, whatever is added, changed or removed meanwhile.
package struct EntityPlace: Sendable, Hashable {
    /// The parts of a list, in order.
    package enum Part: Sendable, Hashable {
        case number(FieldNumber, folded: String)
        case text(String)
        /// Without a value, or in the catalog's order.
        case rest
        /// By how well the entity matches a text.
        case relevance(Double)
    }

    package var part: Part
    package var row: Int64
    /// Whether the text is only the beginning of the value.
    package var isCut = false

    package init(_ part: Part, row: Int64) { (self.part, self.row) = (part, row) }
}

/// A place as text, for URLs: hexadecimal digits and hyphens.
extension EntityPlace: LosslessStringConvertible {
    /// Longer values are cut, since URLs have limits.
    private static let longestText = 512

    package init?(_ description: String) {
        let parts = description.split(separator: "-", omittingEmptySubsequences: false)
        guard (2...4).contains(parts.count), parts.allSatisfy({ $0.utf8.allSatisfy(Self.isDigit) }),
            let row = Int64(parts[0], radix: 16), row >= 0
        else { return nil }
        let values = parts.dropFirst(2)
        func number() -> Double? {
            guard let bits = values.first.flatMap({ UInt64($0, radix: 16) }) else { return nil }
            let number = Double(bitPattern: bits)
            return number.isFinite ? number : nil
        }
        switch (parts[1], values.count) {
        case ("a", 2):
            guard let number = number(), let text = values.last.flatMap(Self.text) else { return nil }
            self.init(.number(.real(number), folded: text), row: row)
        case ("f", 2):
            guard let bits = values.first.flatMap({ UInt64($0, radix: 16) }),
                let text = values.last.flatMap(Self.text)
            else { return nil }
            self.init(.number(.whole(Int64(bitPattern: bits)), folded: text), row: row)
        case ("b", 1), ("c", 1):
            guard let text = values.first.flatMap(Self.text) else { return nil }
            self.init(.text(text), row: row)
            isCut = parts[1] == "c"
        case ("d", 0): self.init(.rest, row: row)
        case ("e", 1):
            guard let number = number() else { return nil }
            self.init(.relevance(number), row: row)
        default: return nil
        }
    }

    package var description: String {
        func hex(_ number: Double) -> String { String(number.bitPattern, radix: 16) }
        let row = String(row, radix: 16)
        switch part {
        case .number(.real(let number), let folded): return "\(row)-a-\(hex(number))-\(Self.hex(folded))"
        case .number(.whole(let number), let folded):
            return "\(row)-f-\(String(UInt64(bitPattern: number), radix: 16))-\(Self.hex(folded))"
        case .text(let text) where text.utf8.count > Self.longestText:
            return "\(row)-c-\(Self.hex(Self.beginning(of: text)))"
        case .text(let text): return "\(row)-\(isCut ? "c" : "b")-\(Self.hex(text))"
        case .rest: return "\(row)-d"
        case .relevance(let number): return "\(row)-e-\(hex(number))"
        }
    }

    private static func beginning(of text: String) -> String {
        var beginning = String.UnicodeScalarView()
        var length = 0
        for scalar in text.unicodeScalars {
            length += UTF8.width(scalar)
            guard length <= longestText else { break }
            beginning.append(scalar)
        }
        return String(beginning)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) }

    private static func hex(_ text: String) -> String {
        text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func text(_ hex: Substring) -> String? {
        let digits = Array(hex.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// A state of all entities and their metadata.
package struct EntityState: Sendable, Hashable {
    private let revision: CatalogRevision?
    private let metadataRevision: Int64

    package init(revision: CatalogRevision?, metadataRevision: Int64) {
        (self.revision, self.metadataRevision) = (revision, metadataRevision)
    }
}
