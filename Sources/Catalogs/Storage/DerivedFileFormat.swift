/// The numbers that give the sizes of a derived file's sections.
struct DerivedFileShape: Hashable, Sendable {
    /// The dimension of prints, or the number of visual words.
    var width: Int
    /// Entities.
    var count: Int
    /// Features; 0 in a file without any.
    var total = 0
}

/// A kind of derived file: how it starts, and which sections follow the header.
struct DerivedFileFormat: Sendable {
    /// The file's name in the catalog's folder.
    let name: String
    /// Eight bytes.
    let magic: String
    let version: UInt32
    /// The size of an element, in bytes, and the number of elements of each section.
    let sections: @Sendable (DerivedFileShape) -> [(stride: Int, count: Int)]

    private static let alignment = 64

    static func aligned(_ offset: Int) -> Int { (offset + alignment - 1) / alignment * alignment }

    /// Where the sections are; nil if no file can be as large.
    func layout(_ shape: DerivedFileShape) -> (sections: [Range<Int>], byteCount: Int)? {
        guard shape.count < Int.max, shape.total < Int.max else { return nil }
        var ranges: [Range<Int>] = []
        var end = DerivedFileHeader.byteCount
        for (stride, count) in sections(shape) {
            let (byteCount, isTooLarge) = count.multipliedReportingOverflow(by: stride)
            guard !isTooLarge, byteCount < Int.max / 16 else { return nil }
            let start = Self.aligned(end)
            end = start + byteCount
            ranges.append(start..<end)
        }
        return (ranges, end)
    }
}
