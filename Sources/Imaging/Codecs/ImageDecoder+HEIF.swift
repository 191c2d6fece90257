import CImageCodecs

#if LK_HEIF
extension ImageDecoder {
    static func heif(
        _ bytes: UnsafeRawBufferPointer, options: DecodingOptions
    ) throws(ImageError.Reason) -> PixelBuffer {
        let tiles = HEIFTiles(bytes)
        guard !tiles.areAmbiguous else { throw .damaged("it has several meta boxes") }
        guard !tiles.haveAlpha else { throw .damaged("its tiles have alpha channels") }
        guard tiles.count(upTo: options.maximumTileCount) <= options.maximumTileCount else {
            throw .tooManyTiles(limit: options.maximumTileCount)
        }
        let long = options.neededLongSide ?? 0
        let (width, height) = (
            max(options.neededSize?.width ?? 0, long), max(options.neededSize?.height ?? 0, long)
        )
        do throws(ImageError.Reason) {
            let image = try heif(bytes, canvas: tiles.largestCanvas, needed: (width, height), options: options)
            let source = image.sourceSize
            let isEnough = options.keepsEnough(
                max(image.width, image.height), of: max(source.width, source.height))
            if isEnough || width == 0 { return image }
            return try heif(bytes, canvas: tiles.largestCanvas, needed: (0, 0), options: options)
        } catch {
            // The thumbnail may be damaged or have another size than it says, as those of some cameras.
            guard width > 0, case .damaged = error else { throw error }
            return try heif(bytes, canvas: tiles.largestCanvas, needed: (0, 0), options: options)
        }
    }

    /// - Parameter needed: 0 for the whole image; else a thumbnail that is large enough may be read.
    private static func heif(
        _ bytes: UnsafeRawBufferPointer, canvas: (width: Int, height: Int), needed: (width: Int, height: Int),
        options: DecodingOptions
    ) throws(ImageError.Reason) -> PixelBuffer {
        let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var header = lk_image_header()
        var full: (width: UInt32, height: UInt32) = (0, 0)
        var reader: OpaquePointer?
        try check {
            reader = lk_heif_open(
                base, bytes.count, UInt32(clamping: needed.width), UInt32(clamping: needed.height), &header,
                &full.width, &full.height, $0)
            return reader != nil
        }
        defer { lk_heif_close(reader) }
        // A thumbnail needs no canvas of the file's other images.
        if header.width == full.width, header.height == full.height {
            let count = canvas.width * canvas.height
            guard count <= options.maximumPixelCount else {
                throw .tooManyPixels(width: canvas.width, height: canvas.height, limit: options.maximumPixelCount)
            }
            // Three colors, and a copy that is turned or cropped.
            header.working_bytes = max(header.working_bytes, UInt64(count) * 6)
        }
        return try image(
            of: header, colors: header.colors, size: (Int(full.width), Int(full.height)), options: options
        ) { pixels, _, message in
            lk_heif_decode(reader, pixels, message)
        } decoded: {
            lk_heif_decoded_size(reader, &$0.width, &$0.height)
        }
    }
}
#endif

/// The tiles of which the images of a HEIF file are made, and the canvases on which they are put together.
///
/// A few bytes make a tile out of one that is there already, and a grid may have grids for tiles, so that the time to
/// decode a file is not bounded by its size or its pixels. The size of a canvas is in the data of its item, which
/// libheif does not compare with the size of the image. Malformed boxes are left to libheif, which reads the first box
/// of each type, too.
private struct HEIFTiles {
    /// The depth of grids in grids; deeper ones are refused, before they take the stack.
    private static let maximumDepth = 8

    /// Items that an item is derived from, tiles of a grid for instance; one for each time that they are named.
    private var parts: [UInt32: [UInt32]] = [:]
    /// Items that another one belongs to as an alpha channel, a depth map or the like.
    private var mainImages: Set<UInt32> = []
    /// The types of the items that are put together from others.
    private var derivedTypes: [UInt32: String] = [:]

    /// Whether a reader may choose one of several `meta` boxes.
    private(set) var areAmbiguous = false
    /// The canvas with the most pixels of all grids and overlays of the file.
    private(set) var largestCanvas = (width: 0, height: 0)

    init(_ bytes: UnsafeRawBufferPointer) {
        let file = bytes[...]
        var metas: [Slice<UnsafeRawBufferPointer>] = []
        Self.forEachBox(in: file) { type, body in if type == "meta" { metas.append(body) } }
        areAmbiguous = metas.count > 1
        guard let meta = metas.first?.dropFirst(4) else { return }
        if let references = Self.box("iref", in: meta) { readReferences(references) }
        if let items = Self.box("iinf", in: meta) { readTypes(items) }
        if let places = Self.box("iloc", in: meta) {
            readCanvases(places, file: file, itemData: Self.box("idat", in: meta) ?? file.prefix(0))
        }
    }

    /// Reads an `iref` box: ISO/IEC 14496-12, section 8.11.12.
    private mutating func readReferences(_ box: Slice<UnsafeRawBufferPointer>) {
        guard let version = box.first, box.count > 4 else { return }
        let idSize = version == 0 ? 2 : 4
        Self.forEachBox(in: box.dropFirst(4)) { type, body in
            guard type == "dimg" || type == "auxl" else { return }
            var fields = FieldReader(body)
            let from = fields.id(idSize), count = fields.number(2)
            guard fields.rest.count >= Int(count) * idSize else { return }
            let items = (0..<count).map { _ in fields.id(idSize) }
            if type == "dimg" { parts[from, default: []] += items } else { mainImages.formUnion(items) }
        }
    }

    /// Reads an `iinf` box: ISO/IEC 14496-12, section 8.11.6.
    private mutating func readTypes(_ box: Slice<UnsafeRawBufferPointer>) {
        var fields = FieldReader(box)
        let version = fields.number(4) >> 24
        _ = fields.number(version == 0 ? 2 : 4)
        Self.forEachBox(in: fields.rest) { type, body in
            guard type == "infe" else { return }
            var fields = FieldReader(body)
            let version = fields.number(4) >> 24
            let id = fields.id(version == 3 ? 4 : 2)
            _ = fields.number(2)
            let kind = String(decoding: fields.rest.prefix(4), as: UTF8.self)
            if version >= 2, kind == "grid" || kind == "iovl" { derivedTypes[id] = kind }
        }
    }

    /// Reads an `iloc` box: ISO/IEC 14496-12, section 8.11.3; ISO/IEC 23008-12, sections 6.6.2.2 and 6.6.2.3.
    private mutating func readCanvases(
        _ box: Slice<UnsafeRawBufferPointer>, file: Slice<UnsafeRawBufferPointer>,
        itemData: Slice<UnsafeRawBufferPointer>
    ) {
        var fields = FieldReader(box)
        let version = fields.number(4) >> 24
        let sizes = fields.number(2)
        let (offsetSize, lengthSize, baseSize) = (Int(sizes >> 12), Int(sizes >> 8 & 15), Int(sizes >> 4 & 15))
        let indexSize = version == 0 ? 0 : Int(sizes & 15)
        var count = fields.number(version < 2 ? 2 : 4)
        while count > 0, !fields.isOver {
            count -= 1
            let id = fields.id(version < 2 ? 2 : 4)
            let source = version > 0 && fields.number(2) & 15 == 1 ? itemData : file
            _ = fields.number(2)
            let base = fields.number(baseSize)
            var extents = fields.number(2)
            // Extents without fields are all the same.
            if indexSize + offsetSize + lengthSize == 0 { extents = min(extents, 1) }
            var data: [UInt8] = []
            while extents > 0, !fields.isOver {
                extents -= 1
                _ = fields.number(indexSize)
                let (offset, length) = (fields.number(offsetSize), fields.number(lengthSize))
                let (start, overflow) = base.addingReportingOverflow(offset)
                // Only the beginning of the data matters.
                guard data.count < Self.canvasHeader, !overflow, start < UInt64(source.count) else { continue }
                data += source.dropFirst(Int(start)).prefix(Int(min(length, UInt64(Self.canvasHeader))))
            }
            if let type = derivedTypes[id] { noteCanvas(of: type, data) }
        }
    }

    /// The bytes of version, flags, what the type adds, and two sides.
    private static let canvasHeader = 18

    private mutating func noteCanvas(of type: String, _ data: [UInt8]) {
        data.withUnsafeBytes { bytes in
            var fields = FieldReader(bytes[...])
            let flags = fields.number(2)
            // The rows and columns of a grid; the background of an overlay.
            _ = fields.number(type == "grid" ? 2 : 8)
            let side = flags & 1 == 0 ? 2 : 4
            // Six times the product of two such sides fits an Int.
            let largest: UInt64 = 1 << 30 - 1
            let (width, height) = (Int(min(fields.number(side), largest)), Int(min(fields.number(side), largest)))
            guard !fields.isOver, width * height > largestCanvas.width * largestCanvas.height else { return }
            largestCanvas = (width, height)
        }
    }

    /// Whether a tile has an alpha channel of its own. libheif reads one that is smaller than the tile beyond its end.
    var haveAlpha: Bool {
        parts.contains { item, tiles in derivedTypes[item] == "grid" && !mainImages.isDisjoint(with: tiles) }
    }

    /// The largest number of tiles of an image, tiles of nested grids counted as often as they are decoded; at most one
    /// more than `limit`.
    func count(upTo limit: Int) -> Int {
        // One more than the limit is counted; no file has 2³² tiles.
        let limit = min(limit, 1 << 32)
        var counts: [UInt32: Int] = [:]
        func count(_ item: UInt32, depth: Int) -> Int {
            guard let parts = parts[item] else { return 1 }
            guard depth < Self.maximumDepth else { return limit + 1 }
            if let known = counts[item] { return known }
            // This holds while the item is counted: an image that is a part of itself has no end.
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
        var rest = bytes
        while rest.count >= 8 {
            var fields = FieldReader(rest)
            var size = fields.number(4)
            let type = String(decoding: fields.rest.prefix(4), as: UTF8.self)
            _ = fields.number(4)
            if size == 0 { size = UInt64(rest.count) }
            if size == 1 { size = fields.number(8) }
            let header = rest.count - fields.rest.count
            guard !fields.isOver, size >= header, size <= rest.count else { return }
            body(type, rest.prefix(Int(size)).dropFirst(header))
            rest = rest.dropFirst(Int(size))
        }
    }

    /// Numbers that follow each other, most significant byte first; zeros beyond the end.
    private struct FieldReader {
        private(set) var rest: Slice<UnsafeRawBufferPointer>
        private(set) var isOver = false

        init(_ bytes: Slice<UnsafeRawBufferPointer>) { rest = bytes }

        mutating func number(_ size: Int) -> UInt64 {
            guard rest.count >= size else {
                (isOver, rest) = (true, rest.prefix(0))
                return 0
            }
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size).reduce(0) { $0 << 8 | UInt64($1) }
        }

        mutating func id(_ size: Int) -> UInt32 { UInt32(truncatingIfNeeded: number(size)) }
    }
}
