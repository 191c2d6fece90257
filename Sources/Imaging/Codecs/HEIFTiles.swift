/// How many tiles the images of a HEIF file are made of.
///
/// A few bytes make a tile out of one that is there already, and a grid may have grids for tiles, so that the time to
/// decode a file is not bounded by its size or its pixels.
struct HEIFTiles {
    /// Grids in grids; deeper ones are refused, before they take the stack.
    private static let maximumDepth = 8

    /// Items that an item is derived from, tiles of a grid for instance; one for each time that they are named.
    private var parts: [UInt32: [UInt32]] = [:]

    /// Reads the item references (`iref`; ISO/IEC 14496-12, section 8.11.12). What is malformed is left to libheif.
    init(_ bytes: UnsafeRawBufferPointer) {
        let file = bytes[...]
        guard let meta = Self.box("meta", in: file), meta.count > 4,
            let references = Self.box("iref", in: meta.dropFirst(4)), references.count > 4
        else { return }
        let idSize = references[references.startIndex] == 0 ? 2 : 4
        Self.forEachBox(in: references.dropFirst(4)) { type, body in
            guard type == "dimg", body.count >= idSize + 2 else { return }
            let from = Self.number(body, at: body.startIndex, size: idSize)
            let count = Int(Self.number(body, at: body.startIndex + idSize, size: 2))
            let first = body.startIndex + idSize + 2
            guard first + count * idSize <= body.endIndex else { return }
            parts[from, default: []] += (0..<count).map {
                Self.number(body, at: first + $0 * idSize, size: idSize)
            }
        }
    }

    /// The largest number of tiles of an image, those of nested grids counted as often as they are decoded; at most one
    /// more than `limit`.
    func count(upTo limit: Int) -> Int {
        var counts: [UInt32: Int] = [:]
        func count(_ item: UInt32, depth: Int) -> Int {
            guard let parts = parts[item] else { return 1 }
            guard depth < Self.maximumDepth else { return limit + 1 }
            if let known = counts[item] { return known }
            // While it is counted: an image that is a part of itself has no end.
            counts[item] = limit + 1
            var sum = 0
            for part in parts where sum <= limit { sum += count(part, depth: depth + 1) }
            counts[item] = min(sum, limit + 1)
            return min(sum, limit + 1)
        }
        return parts.keys.map { count($0, depth: 0) }.max() ?? 0
    }

    private static func box(_ name: String, in bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer>? {
        var found: Slice<UnsafeRawBufferPointer>?
        forEachBox(in: bytes) { type, body in if found == nil, type == name { found = body } }
        return found
    }

    /// Calls `body` with the type and the contents of boxes that follow each other.
    private static func forEachBox(
        in bytes: Slice<UnsafeRawBufferPointer>, _ body: (String, Slice<UnsafeRawBufferPointer>) -> Void
    ) {
        var at = bytes.startIndex
        while at + 8 <= bytes.endIndex {
            var size = Int(number(bytes, at: at, size: 4))
            var header = 8
            if size == 0 { size = bytes.endIndex - at }
            if size == 1, at + 16 <= bytes.endIndex, number(bytes, at: at + 8, size: 4) == 0 {
                (size, header) = (Int(number(bytes, at: at + 12, size: 4)), 16)
            }
            guard size >= header, size <= bytes.endIndex - at else { return }
            body(String(decoding: bytes[(at + 4)..<(at + 8)], as: UTF8.self), bytes[(at + header)..<(at + size)])
            at += size
        }
    }

    private static func number(_ bytes: Slice<UnsafeRawBufferPointer>, at: Int, size: Int) -> UInt32 {
        bytes[at..<(at + size)].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
