/// An ICC profile (ICC.1:2022, section 7), as far as it consists of curves and a matrix.
struct ICCProfile {
    /// The components of a pixel that a profile is for.
    enum ColorModel {
        case gray
        case rgb
        case cmyk
    }

    /// Why a profile cannot be used.
    struct Problem: Error {
        let words: String
    }

    let model: ColorModel
    private let bytes: UnsafeRawBufferPointer
    private let tags: [UInt32: Range<Int>]

    /// - Throws: ``Problem`` for what is no profile of gray, red, green and blue, or inks.
    init(_ bytes: UnsafeRawBufferPointer) throws(Problem) {
        self.bytes = bytes
        guard bytes.count >= 132, Self.number(bytes, 36) == Self.signature("acsp") else {
            throw Problem(words: "it has no header")
        }
        switch Self.number(bytes, 16) {
        case Self.signature("GRAY"): model = .gray
        case Self.signature("RGB "): model = .rgb
        case Self.signature("CMYK"): model = .cmyk
        default: throw Problem(words: "it is of no color model that images have")
        }
        let count = Int(Self.number(bytes, 128))
        guard count <= 256, 132 + 12 * count <= bytes.count else { throw Problem(words: "its tag table is cut off") }
        var tags: [UInt32: Range<Int>] = [:]
        for index in 0..<count {
            let at = 132 + 12 * index
            let (start, size) = (Int(Self.number(bytes, at + 4)), Int(Self.number(bytes, at + 8)))
            guard start + size <= bytes.count else { throw Problem(words: "it is cut off") }
            tags[Self.number(bytes, at)] = start..<(start + size)
        }
        self.tags = tags
    }

    /// Whether the profile has a table instead of curves and a matrix, or beside them; the table then counts.
    var hasTable: Bool { tags[Self.signature("A2B0")] != nil }

    /// The curve of gray.
    func grayCurve() throws(Problem) -> ToneCurve { try curve("kTRC") }

    /// The curves of red, green and blue, and the matrix to XYZ.
    func matrixAndCurves() throws(Problem) -> (curves: [ToneCurve], toXYZ: ColorMatrix) {
        let encoded = tags[Self.signature("rTRC")]
        let red = try curve("rTRC")
        // The three curves are mostly one.
        let green = tags[Self.signature("gTRC")] == encoded ? red : try curve("gTRC")
        let blue = tags[Self.signature("bTRC")] == encoded ? red : try curve("bTRC")
        let columns = [try point("rXYZ"), try point("gXYZ"), try point("bXYZ")]
        let matrix = ColorMatrix(rows: (0..<3).map { row in columns.map { $0[row] } })
        guard matrix.inverse != nil else { throw Problem(words: "its primaries do not span a plane") }
        return ([red, green, blue], matrix)
    }

    private func tag(_ name: StaticString, atLeast size: Int) throws(Problem) -> Range<Int> {
        guard let range = tags[Self.signature(name)], range.count >= size else {
            throw Problem(words: "it has no usable \(name)")
        }
        return range
    }

    /// Reads an `XYZType`.
    private func point(_ name: StaticString) throws(Problem) -> [Double] {
        let start = try tag(name, atLeast: 20).lowerBound
        return (0..<3).map { fixed(start + 8 + 4 * $0) }
    }

    private func curve(_ name: StaticString) throws(Problem) -> ToneCurve {
        let curve = try storedCurve(name)
        guard !curve.isFlat else { throw Problem(words: "its \(name) hardly rises") }
        return curve
    }

    /// Reads a `curveType` or a `parametricCurveType`.
    private func storedCurve(_ name: StaticString) throws(Problem) -> ToneCurve {
        let range = try tag(name, atLeast: 12)
        let start = range.lowerBound
        switch Self.number(bytes, start) {
        case Self.signature("curv"):
            let count = Int(Self.number(bytes, start + 8))
            guard 12 + 2 * count <= range.count else { throw Problem(words: "its \(name) is cut off") }
            if count == 0 { return .gamma(1) }
            let values = (0..<count).map { UInt16(Self.short(bytes, start + 12 + 2 * $0)) }
            return count == 1 ? .gamma(Double(values[0]) / 256) : .table(values)
        case Self.signature("para"):
            let counts = [1, 3, 4, 5, 7]
            let kind = Self.short(bytes, start + 8)
            guard kind < counts.count, 12 + 4 * counts[kind] <= range.count else {
                throw Problem(words: "its \(name) is of an unknown kind")
            }
            var p = (0..<counts[kind]).map { fixed(start + 12 + 4 * $0) }
            let g = p.removeFirst()
            switch kind {
            case 0: return .gamma(g)
            case 1, 2:
                guard p[0] != 0 else { throw Problem(words: "its \(name) divides by zero") }
                let offset = kind == 2 ? p[2] : 0
                return .parametric(g: g, a: p[0], b: p[1], c: 0, d: -p[1] / p[0], e: offset, f: offset)
            default:
                return .parametric(
                    g: g, a: p[0], b: p[1], c: p[2], d: p[3], e: kind == 4 ? p[4] : 0, f: kind == 4 ? p[5] : 0)
            }
        default: throw Problem(words: "its \(name) is no curve")
        }
    }

    /// Reads an `s15Fixed16Number`.
    private func fixed(_ at: Int) -> Double { Double(Int32(bitPattern: Self.number(bytes, at))) / 65_536 }

    private static func number(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
    }

    private static func short(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> Int {
        Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt16.self)))
    }

    private static func signature(_ name: StaticString) -> UInt32 {
        name.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } }
    }
}
