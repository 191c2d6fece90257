import CatalogEntities
public import FeaturePrints
public import Foundation
import LocalFeatures

/// Prints in a NumPy file and their entities as JSON lines: what ``Catalog/export(to:where:)`` writes, or another
/// program.
///
/// Row and line of an image have the same number. Lines that follow each other with the same id are the images of one
/// entity, in order. A line has an `id`, and may have `image` (a path, kept as it is and not read), `type`, `title`,
/// `subtitle`, `labels` (a list) and `attributes` (an object). Other keys become attributes. `images` is ignored.
///
/// Local features and thumbnails may be in further files: for each row the number of bytes, 32 bits little-endian, and
/// the bytes; 0 where an image has none. The bytes are those of ``LocalFeatures/encoded``, and JPEG files.
///
/// ```swift
/// let files = try PrintFiles(prints: printsURL, entities: entitiesURL)
/// let report = try indexer.index(files)
/// ```
///
/// Only the model that a catalog has can have made the prints. The files do not name it, so that only the dimension can
/// be compared.
public struct PrintFiles: Sendable {
    /// The NumPy file.
    public let prints: URL
    /// The JSON lines.
    public let entities: URL
    /// A record of local features for each row; nil for none.
    public let localFeatures: URL?
    /// A record with a thumbnail for each row; nil for none.
    public let thumbnails: URL?
    /// The number of components of a print.
    public let dimension: Int
    /// The number of prints.
    public let count: Int

    /// Checks files from the first row and line to the last. O(rows) time; the ids are in memory.
    ///
    /// - Parameters:
    ///   - prints: a `.npy` file with a float32 matrix in C order, one row per image.
    ///   - entities: a file of JSON lines, one per row.
    ///   - localFeatures: a file of records, one per row; nil for none.
    ///   - thumbnails: the same with JPEG files.
    /// - Throws: ``IndexProblem``, which names the file and the row or line: if a file cannot be read, a row is not a
    ///   unit vector, a line is not an entity's, a row has no line or a line no row, or an id comes again after others.
    public init(prints: URL, entities: URL, localFeatures: URL? = nil, thumbnails: URL? = nil) throws {
        (self.prints, self.entities) = (prints, entities)
        (self.localFeatures, self.thumbnails) = (localFeatures, thumbnails)
        var matrix = try NumPyRows(prints)
        var features = try localFeatures.map { try Records($0) }
        var pictures = try thumbnails.map { try Records($0) }
        (dimension, count) = (matrix.columnCount, matrix.rowCount)
        var lines = try JSONLines(entities)
        var first: [ExactText: Int] = [:]
        var last: ExactText?
        while let line = try lines.next() {
            let image = try line.image()
            guard line.row < count else {
                throw line.problem("has no row in \(prints.path), which has \(count) rows")
            }
            let id = ExactText(image.id)
            if id != last {
                if let other = first[id] {
                    throw line.problem(
                        "has the same id “\(image.id)” as line \(other); images of one entity follow each other")
                }
                first[id] = line.number
                last = id
            }
            guard let vector = try matrix.next() else { break }
            if let place = vector.firstIndex(where: { !$0.isFinite }) {
                throw matrix.problem(line.row, "has \(vector[place]) in column \(place)")
            }
            let norm = FeaturePrintModel.norm(of: vector)
            guard abs(norm - 1) <= FeaturePrintModel.normTolerance else {
                throw matrix.problem(line.row, "has the norm \(norm); prints are unit vectors")
            }
            if let data = try features?.next(), LocalFeatures(encoded: data) == nil {
                throw Self.problem(localFeatures, line.row, "has no local features that can be read")
            }
            if let data = try pictures?.next(), !data.starts(with: [0xFF, 0xD8, 0xFF]) {
                throw Self.problem(thumbnails, line.row, "is not a JPEG file")
            }
        }
        for records in [features, pictures] {
            guard let records, try !records.isAtEnd else { continue }
            throw Self.problem(records.url, count, "has no row in \(prints.path), which has \(count)")
        }
        guard lines.rowCount == count else {
            throw matrix.problem(
                lines.rowCount, "has no line in \(entities.path), which has \(lines.rowCount) lines of \(count)")
        }
    }

    /// A problem of a row of a file.
    fileprivate static func problem(_ url: URL?, _ row: Int, _ words: String) -> IndexProblem {
        IndexProblem(subject: url?.path ?? "", reason: "row \(row), counted from 0, \(words)")
    }

    /// The entities, read again. A problem ends them.
    func entries(of model: ModelIdentity) -> IndexEntries {
        IndexEntries {
            let reader = Result {
                try (
                    NumPyRows(prints), JSONLines(entities), localFeatures.map { try Records($0) },
                    thumbnails.map { try Records($0) }
                )
            }
            guard case .success((var matrix, var lines, var features, var pictures)) = reader else {
                let problem = IndexProblem(subject: prints.path, reason: "has changed meanwhile")
                return AnyIterator([.failure(problem)].makeIterator())
            }
            var (pending, isAtEnd) = (IndexItem?.none, false)
            return AnyIterator {
                guard !isAtEnd else { return nil }
                do {
                    while let line = try lines.next(), let vector = try matrix.next() {
                        let image = try line.image()
                        let print = FeaturePrint(vector: vector, model: model)
                        let (data, thumbnail) = try (features?.next(), pictures?.next())
                        let computed =
                            data == nil && thumbnail == nil
                            ? IndexImage.print(print)
                            : .computed(ComputedImage(print: print, localFeatures: data, thumbnail: thumbnail))
                        if let entity = pending?.entity, ExactText(entity.id) == ExactText(image.id) {
                            pending?.entity.images.append(image.image)
                            pending?.images.append(computed)
                            continue
                        }
                        let complete = pending
                        pending = IndexItem(image, images: [computed], origin: line.origin)
                        if let complete { return .success(complete) }
                    }
                } catch {
                    isAtEnd = true
                    return .failure(
                        error as? IndexProblem ?? IndexProblem(subject: entities.path, reason: "\(error)"))
                }
                isAtEnd = true
                return pending.map { .success($0) }
            }
        }
    }
}

extension CatalogIndexer {
    /// Adds the entities of files with prints. Without further files they are found by these alone, and have no
    /// thumbnails. An entity takes the place of one with the same id.
    ///
    /// The files must not change meanwhile.
    /// - Parameter progress: called after every commit.
    /// - Throws: ``IndexProblem`` if the prints have another dimension than those of the catalog, before anything is
    ///   added; ``CatalogError`` if the catalog cannot be written; and `CancellationError` if the task is cancelled.
    ///   What was committed stays.
    public func index(_ files: PrintFiles, progress: (IndexReport) -> Void = { _ in }) throws -> IndexReport {
        try files.check(for: model)
        return try index(files.entries(of: model.identity), progress: progress)
    }
}

extension PrintFiles {
    /// Checks that the prints may be of a model: that they have its dimension.
    ///
    /// - Throws: ``IndexProblem``.
    public func check(for model: FeaturePrintModel) throws {
        guard dimension == model.dimension else {
            throw IndexProblem(
                subject: prints.path,
                reason: "its rows have \(dimension) components; prints of model \(model.identity) have "
                    + "\(model.dimension)")
        }
    }
}

/// Reads files part by part.
private struct FileParts {
    let url: URL
    private let file: FileHandle
    private var buffer = Data()

    init(_ url: URL) throws {
        self.url = url
        // A pipe has no second pass.
        var status = stat()
        if stat(url.path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw IndexProblem(subject: url.path, reason: "is not a file")
        }
        do {
            file = try FileHandle(forReadingFrom: url)
        } catch {
            throw Self.problem(url, error)
        }
    }

    private static func problem(_ url: URL, _ error: any Error) -> IndexProblem {
        IndexProblem(subject: url.path, reason: "cannot be read: \((error as NSError).localizedDescription)")
    }

    /// Reads more; false at the end of the file.
    private mutating func fill() throws -> Bool {
        do {
            guard let more = try file.read(upToCount: 1 << 20), !more.isEmpty else { return false }
            // A slice keeps what is before it in memory.
            buffer = Data(buffer) + more
            return true
        } catch {
            throw Self.problem(url, error)
        }
    }

    /// The next bytes, fewer at the end.
    mutating func bytes(_ count: Int) throws -> Data {
        while buffer.count < count, try fill() {}
        defer { buffer = buffer.dropFirst(count) }
        return buffer.prefix(count)
    }

    /// The next line without its end; nil after the last one. None may be longer than a mebibyte.
    mutating func line() throws -> Data? {
        var searched = 0
        while true {
            let rest = buffer.dropFirst(searched)
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer = buffer[(end + 1)...] }
                return buffer[..<end]
            }
            searched = buffer.count
            if searched > 1 << 20 { return try bytes(searched) }
            if try !fill() { return searched == 0 ? nil : try bytes(searched) }
        }
    }
}

/// The rows of a NumPy file with a float32 matrix
/// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
private struct NumPyRows {
    let rowCount: Int
    let columnCount: Int
    private var parts: FileParts
    private var row = 0

    init(_ url: URL) throws {
        func refuse(_ reason: String) -> IndexProblem { IndexProblem(subject: url.path, reason: reason) }
        parts = try FileParts(url)
        let start = [UInt8](try parts.bytes(8))
        guard start.count == 8, start[..<6] == [0x93] + Array("NUMPY".utf8)[...] else {
            throw refuse("is not a NumPy file (.npy)")
        }
        let lengthBytes = start[6] == 1 ? 2 : 4
        let length = try parts.bytes(lengthBytes).reversed().reduce(0) { $0 << 8 | Int($1) }
        guard (1...3).contains(start[6]), length < 1 << 20 else { throw refuse("is a NumPy file of another version") }
        let header = String(decoding: try parts.bytes(length), as: UTF8.self)
        guard let type = header.firstMatch(of: /['"]descr['"]\s*:\s*['"]([^'"]*)['"]/)?.1 else {
            throw refuse("its header does not say which numbers it has")
        }
        guard type == "<f4" else {
            throw refuse("has numbers of the type “\(type)”, not float32: save it as prints.astype('<f4')")
        }
        guard header.firstMatch(of: /['"]fortran_order['"]\s*:\s*False/) != nil else {
            throw refuse("is in Fortran order: save it as numpy.ascontiguousarray(prints)")
        }
        guard let shape = header.firstMatch(of: /['"]shape['"]\s*:\s*\(\s*([0-9]+)\s*,\s*([0-9]+)\s*,?\s*\)/),
            let rows = Int(shape.1), let columns = Int(shape.2), columns > 0, columns < 1 << 20
        else { throw refuse("is not a matrix with one row per image") }
        (rowCount, columnCount) = (rows, columns)
    }

    /// The next row; nil after the last one.
    mutating func next() throws -> [Float]? {
        guard row < rowCount else { return nil }
        let bytes = try parts.bytes(columnCount * 4)
        guard bytes.count == columnCount * 4 else { throw problem(row, "is missing: the file is truncated") }
        row += 1
        return bytes.withUnsafeBytes { bytes in
            (0..<columnCount).map {
                Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self)))
            }
        }
    }

    func problem(_ row: Int, _ words: String) -> IndexProblem {
        PrintFiles.problem(parts.url, row, words)
    }
}

/// Bytes with their number before them.
private struct Records {
    private var parts: FileParts
    private var row = 0

    /// More than any local features or thumbnail has.
    private static let longest = 1 << 26

    init(_ url: URL) throws { parts = try FileParts(url) }

    var url: URL { parts.url }

    /// Whether there are no more records.
    var isAtEnd: Bool {
        get throws {
            var parts = parts
            return try parts.bytes(1).isEmpty
        }
    }

    /// The next record; nil for an empty one.
    mutating func next() throws -> Data? {
        let start = try parts.bytes(4)
        let count = start.reversed().reduce(0) { $0 << 8 | Int($1) }
        if start.starts(with: "{\"".utf8) {
            throw PrintFiles.problem(
                url, row,
                "is a line of JSON, as “catalog export” writes features; those to import are made by “lookalike worker”"
            )
        }
        guard start.count == 4, count <= Self.longest else {
            throw PrintFiles.problem(url, row, start.isEmpty ? "is missing" : "is damaged: it has \(count) bytes")
        }
        let data = try parts.bytes(count)
        guard data.count == count else { throw PrintFiles.problem(url, row, "is missing: the file is truncated") }
        row += 1
        return count == 0 ? nil : Data(data)
    }
}

/// The lines of a file that are not blank.
private struct JSONLines {
    /// The number of lines so far that are not blank.
    private(set) var rowCount = 0
    private var parts: FileParts
    private var number = 0

    init(_ url: URL) throws { parts = try FileParts(url) }

    struct Line {
        let url: URL
        let text: Data
        /// Counted from 1, with blank ones.
        let number: Int
        /// Counted from 0, without blank ones.
        let row: Int

        var origin: String { "\(url.path):\(number)" }

        func problem(_ reason: String) -> IndexProblem { IndexProblem(subject: origin, reason: reason) }

        /// The entity of the line, with the line's image.
        func image() throws -> CatalogEntity {
            let object = try JSONValue.object(in: text, origin: origin)
            let values = JSONValue.values(of: object)
            guard let id = values["id"], !id.isEmpty else { throw problem("has no id") }
            var entity = CatalogEntity(
                id: id, values: values, labels: JSONValue.labels(of: object), images: [values["image"] ?? ""])
            entity.attributes.merge(try JSONValue.attributes(of: object, origin: origin)) { $1 }
            guard !entity.hasNUL else { throw problem("contains a NUL character") }
            return entity
        }
    }

    mutating func next() throws -> Line? {
        while var text = try parts.line() {
            number += 1
            // The mark of UTF-8 that some editors write.
            if number == 1, text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
            if text.allSatisfy(Manifest.isWhitespace) { continue }
            rowCount += 1
            return Line(url: parts.url, text: Data(text), number: number, row: rowCount - 1)
        }
        return nil
    }
}
