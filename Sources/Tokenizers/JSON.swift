import Foundation

/// A JSON value whose strings are the bytes of the file.
///
/// A vocabulary may have pieces that are canonically equivalent, such as “é” in one scalar and in two: as keys of
/// Swift's strings they would be one.
enum JSON {
    case null
    case bool(Bool)
    case number(Double)
    case string([UInt8])
    case array([JSON])
    case object([(key: [UInt8], value: JSON)])

    init(_ data: Data) throws(TokenizerError) {
        var reader = Reader(bytes: [UInt8](data))
        self = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.place == reader.bytes.count else { throw reader.problem("has more than one value") }
    }

    /// The value of a key; nil if it is missing or null.
    subscript(_ key: String) -> JSON? {
        guard case .object(let members) = self,
            let member = members.last(where: { $0.key.elementsEqual(key.utf8) })
        else { return nil }
        if case .null = member.value { return nil }
        return member.value
    }

    var bytes: [UInt8]? { if case .string(let bytes) = self { bytes } else { nil } }
    var string: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
    var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
    var double: Double? { if case .number(let number) = self { number } else { nil } }
    var integer: Int? { double.flatMap { Int(exactly: $0) } }
    var array: [JSON]? { if case .array(let array) = self { array } else { nil } }
    var object: [(key: [UInt8], value: JSON)]? { if case .object(let members) = self { members } else { nil } }
    /// The object with another value of a key.
    func setting(_ key: String, to value: JSON) -> JSON {
        let others = (object ?? []).filter { !$0.key.elementsEqual(key.utf8) }
        return .object(others + [(Array(key.utf8), value)])
    }

    /// The bytes of a file with the value.
    var data: Data {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return Data(bytes)
    }

    private func write(to bytes: inout [UInt8]) {
        func list<Element>(_ elements: [Element], _ marks: StaticString, _ write: (Element) -> Void) {
            bytes.append(marks.utf8Start[0])
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                write(element)
            }
            bytes.append(marks.utf8Start[1])
        }
        func write(_ string: [UInt8]) {
            bytes.append(UInt8(ascii: "\""))
            for byte in string {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
                case 0..<0x20: bytes += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
                default: bytes.append(byte)
                }
            }
            bytes.append(UInt8(ascii: "\""))
        }
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let bool): bytes += "\(bool)".utf8
        case .number(let number): bytes += (Int(exactly: number).map { "\($0)" } ?? "\(number)").utf8
        case .string(let string): write(string)
        case .array(let elements): list(elements, "[]") { $0.write(to: &bytes) }
        case .object(let members):
            list(members, "{}") { member in
                write(member.key)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
        }
    }

    /// What the file calls a part, such as a normalizer.
    var type: String { self["type"]?.string ?? "" }
}

private struct Reader {
    let bytes: [UInt8]
    var place = 0

    private static let deepest = 64

    func problem(_ words: String) -> TokenizerError { .malformed("byte \(place) \(words)") }

    mutating func skipSpace() {
        while place < bytes.count, [0x20, 0x0a, 0x0d, 0x09].contains(bytes[place]) { place += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard place < bytes.count, bytes[place] == byte else { return false }
        place += 1
        return true
    }

    private mutating func take(_ word: StaticString, _ value: JSON) throws(TokenizerError) -> JSON {
        let end = place + word.utf8CodeUnitCount
        guard end <= bytes.count, bytes[place..<end].elementsEqual(word.description.utf8) else {
            throw problem("is no JSON")
        }
        place = end
        return value
    }

    mutating func value(depth: Int) throws(TokenizerError) -> JSON {
        skipSpace()
        guard place < bytes.count, depth < Self.deepest else { throw problem("is no JSON") }
        switch bytes[place] {
        case UInt8(ascii: "{"):
            place += 1
            var members: [(key: [UInt8], value: JSON)] = []
            if take(UInt8(ascii: "}")) { return .object(members) }
            repeat {
                skipSpace()
                let key = try string()
                guard take(UInt8(ascii: ":")) else { throw problem("lacks a colon") }
                members.append((key, try value(depth: depth + 1)))
            } while take(UInt8(ascii: ","))
            guard take(UInt8(ascii: "}")) else { throw problem("lacks the end of an object") }
            return .object(members)
        case UInt8(ascii: "["):
            place += 1
            var elements: [JSON] = []
            if take(UInt8(ascii: "]")) { return .array(elements) }
            repeat { elements.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
            guard take(UInt8(ascii: "]")) else { throw problem("lacks the end of an array") }
            return .array(elements)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try take("true", .bool(true))
        case UInt8(ascii: "f"): return try take("false", .bool(false))
        case UInt8(ascii: "n"): return try take("null", .null)
        default:
            let start = place
            while place < bytes.count, "+-.eE0123456789".utf8.contains(bytes[place]) { place += 1 }
            guard let number = Double(String(decoding: bytes[start..<place], as: UTF8.self)) else {
                throw problem("is no JSON")
            }
            return .number(number)
        }
    }

    private mutating func string() throws(TokenizerError) -> [UInt8] {
        guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") else { throw problem("is no string") }
        place += 1
        var result: [UInt8] = []
        while place < bytes.count {
            let start = place
            while place < bytes.count, bytes[place] != UInt8(ascii: "\""), bytes[place] != UInt8(ascii: "\\") {
                place += 1
            }
            result += bytes[start..<place]
            guard place + 1 < bytes.count || place < bytes.count && bytes[place] == UInt8(ascii: "\"") else { break }
            place += 1
            if bytes[place - 1] == UInt8(ascii: "\"") { return result }
            place += 1
            switch bytes[place - 1] {
            case UInt8(ascii: "n"): result.append(0x0a)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "r"): result.append(0x0d)
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0c)
            case UInt8(ascii: "u"):
                var unit = try codeUnit()
                if (0xd800..<0xdc00).contains(unit), place + 1 < bytes.count, bytes[place] == UInt8(ascii: "\\"),
                    bytes[place + 1] == UInt8(ascii: "u")
                {
                    place += 2
                    unit = 0x10000 + (unit - 0xd800) << 10 + (try codeUnit()) &- 0xdc00
                }
                guard let scalar = Unicode.Scalar(unit) else { throw problem("follows half of a character") }
                result += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            case let byte: result.append(byte)
            }
        }
        throw problem("lacks the end of a string")
    }

    private mutating func codeUnit() throws(TokenizerError) -> UInt32 {
        guard place + 4 <= bytes.count,
            let unit = UInt32(String(decoding: bytes[place..<(place + 4)], as: UTF8.self), radix: 16)
        else { throw problem("is no escaped character") }
        place += 4
        return unit
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral
{
    init(stringLiteral value: String) { self = .string(Array(value.utf8)) }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements.map { (Array($0.utf8), $1) }) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int) { self = .number(Double(value)) }
}
