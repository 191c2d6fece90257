/// Changes to bytes: two bytes of a position, one with the number of bytes that follow, and those.
///
/// Positions below 4,096 are exact; the others are in 1/65,536 of the contents. The last one cuts the contents there.
public struct ByteEdits {
    private static let exactPositions = 4096
    private let input: ArraySlice<UInt8>

    /// - Parameter input: the edits, one after another.
    public init(_ input: ArraySlice<UInt8>) { self.input = input }

    /// Makes the changes, as far as the contents reach.
    public func apply(to contents: inout [UInt8]) {
        var rest = input
        while rest.count > 3, !contents.isEmpty {
            let position = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            let length = Int(rest[rest.startIndex + 2])
            rest = rest.dropFirst(3)
            if position == 65_535 {
                contents.removeLast(min(contents.count, length * 61))
                continue
            }
            let start = position < Self.exactPositions ? position : contents.count * position / 65_536
            for (offset, byte) in rest.prefix(length).enumerated() where start + offset < contents.count {
                contents[start + offset] = byte
            }
            rest = rest.dropFirst(length)
        }
    }
}
