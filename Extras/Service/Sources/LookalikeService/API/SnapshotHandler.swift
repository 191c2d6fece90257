#if Service
import Digests
import Foundation
import HTTPTypes
import Hummingbird
import Lookalike
import Multipart
import NIOCore

/// `POST /v1/catalogs/{catalog}/snapshot` and `…/restore`
struct SnapshotHandler: Sendable {
    let service: ServiceState

    /// Answers a tar archive of the catalog as it is now. Searches and changes go on meanwhile.
    func snapshot(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let name = try context.catalogName()
        try service.checkDisk()
        let archive = try await service.snapshots.archive(of: name)
        var headers: HTTPFields = [
            .contentType: "application/x-tar", .cacheControl: "no-store",
            .contentDisposition: "attachment; filename=\"\(name).tar\"",
        ]
        // The digest of the whole archive (RFC 9530).
        if let field = HTTPField.Name("Repr-Digest") {
            headers[field] = "sha-256=:\(archive.digest.base64EncodedString()):"
        }
        let mostTime = service.bodies.idleTime + .seconds(archive.size / Self.slowestBytesPerSecond)
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(contentLength: archive.size) { writer in
                let start = ContinuousClock.now
                let file = try FileHandle(forReadingFrom: archive.url)
                defer { try? file.close() }
                while let data = try await computing({ try file.read(upToCount: 1 << 20) }), !data.isEmpty {
                    try await writer.write(ByteBuffer(bytes: data))
                    // The archive would stay on the disk, and keep others from theirs.
                    guard ContinuousClock.now - start <= mostTime else { throw CancellationError() }
                }
                try await writer.finish(nil)
                withExtendedLifetime(archive) {}
            })
    }

    /// A client that reads a snapshot more slowly is disconnected.
    private static let slowestBytesPerSecond = 1 << 20

    /// Replaces a catalog by a snapshot, or makes it. The snapshot is checked before; if it is damaged, the catalog
    /// stays as it is. With `dry-run=true` it stays in any case, and the answer says what would be.
    func restore(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try context.require(.write)
        let name = try context.catalogName()
        guard HeaderValue(request.headers[.contentType] ?? "").name == "application/x-tar" else {
            throw Problem(.unsupportedMediaType, "A snapshot is application/x-tar.")
        }
        let fields = try RequestFields(query: request.uri.query)
        try fields.check(["dry-run"])
        let isDryRun = try fields.flag("dry-run") ?? false
        // Before the body is read.
        if !isDryRun { try await service.tasks.check(thatNoneWritesTo: [name]) }
        try service.checkDisk()
        let work = try service.store.makeWorkFolder()
        let archive = work.url.appendingPathComponent("snapshot.tar")
        try await save(request, to: archive)
        let folder = work.url.appendingPathComponent("catalog")
        try await computing { try SnapshotArchive.extract(archive, to: folder) }
        let details: CatalogHandler.Details
        do {
            // Opening makes the derived files, too.
            let catalog = try await opening(folder) { try await Catalog.open(at: folder) }
            guard catalog.model.summary.operationCount <= Self.mostOperations else {
                throw Problem(.damagedSnapshot, "The snapshot's model takes too long for an image.")
            }
            // All that requests read later is read before anything is replaced.
            if let problem = try await catalog.verify().first {
                throw Problem(.damagedSnapshot, "The snapshot's catalog is damaged: \(problem).")
            }
            try await catalog.forEachEntity { entity in
                do throws(Problem) {
                    _ = try EntityID.named(entity.id)
                } catch {
                    throw Problem(
                        .damagedSnapshot, "The snapshot has an entity that no request can name. \(error.detail)")
                }
            }
            details = try await CatalogHandler.details(
                of: ServedCatalog(name: name, catalog: catalog, writer: CatalogWriter(url: folder)), in: nil)
        } catch let error as CatalogError {
            switch error.reason {
            // The disk is full, or the service lacks something; the snapshot may be whole.
            case .modelUnavailable, .unwritable, .failed, .busy: throw error
            default: break
            }
            throw Problem(.damagedSnapshot, "The snapshot holds no catalog that can be opened.")
        }
        if isDryRun {
            let names = try service.store.names()
            return Response(DryRun(catalog: details, replaced: names.contains(name) ? try await present(name) : nil))
        }
        try await service.store.replace(name, with: folder) {
            try await service.tasks.check(thatNoneWritesTo: [name])
        }
        // Another restore may replace the catalog meanwhile.
        return Response(try await service.store.using(name) { try await CatalogHandler.details(of: $0, in: nil) })
    }

    /// What a restore would make: a catalog, with one member more.
    struct DryRun: Encodable, Sendable {
        private enum CodingKeys: String, CodingKey { case replaced }

        let catalog: CatalogHandler.Details
        /// What is there now; nil if nothing is, or what is cannot be opened.
        let replaced: CatalogHandler.Details?

        func encode(to encoder: any Encoder) throws {
            try catalog.encode(to: encoder)
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encodeIfPresent(replaced, forKey: .replaced)
        }
    }

    private func present(_ name: CatalogName) async throws -> CatalogHandler.Details? {
        try? await service.store.using(name) { try await CatalogHandler.details(of: $0, in: nil) }
    }

    /// The operations that a model may take per image, some ten seconds of a core: a search cannot be stopped within a
    /// pass of the network.
    private static let mostOperations = 500_000_000_000

    /// Writes the body of a request to a file as it arrives.
    ///
    /// - Throws: ``Problem`` for a snapshot that is larger than the limit or than the space, or that comes too slowly.
    private func save(_ request: Request, to url: URL) async throws {
        let limit = service.configuration.limits.snapshotBytes
        let tooLarge = Problem(.bodyTooLarge, "The snapshot has more than \(limit) bytes, the limit.")
        if let announced = request.headers[.contentLength].flatMap({ Int($0) }) {
            guard announced <= limit else { throw tooLarge }
            // A disk that is full would fail the changes of others meanwhile.
            guard announced <= DiskSpace.available(at: url.deletingLastPathComponent()) ?? .max else {
                throw Problem(.storage, "The disk has no space for the snapshot.")
            }
        }
        guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
            throw Problem(.storage, "The snapshot cannot be stored.")
        }
        let file = try FileHandle(forWritingTo: url)
        defer { try? file.close() }
        var (count, pace, waiting) = (0, BodyPace(idleTime: service.bodies.idleTime), Data())
        func write() async throws {
            let data = waiting
            waiting = Data()
            try await computing { try file.write(contentsOf: data) }
        }
        var start = ContinuousClock.now
        do {
            for try await buffer in request.body {
                try pace.add(buffer.readableBytes, after: .now - start)
                count += buffer.readableBytes
                guard count <= limit else { throw tooLarge }
                buffer.withUnsafeReadableBytes { waiting.append(contentsOf: $0) }
                if waiting.count >= 1 << 18 { try await write() }
                start = .now
            }
            try await write()
        } catch let error as CocoaError {
            throw Problem(.storage, "The snapshot cannot be stored (\(error.code.rawValue)).")
        }
    }
}

/// A snapshot of a catalog: a tar archive of its files, and of a file `SHA256SUMS` with the digest of each.
///
/// `tar -xf` and `sha256sum -c` read it. Source: POSIX.1-2017, pax, “ustar Interchange Format” and “pax Header Block”.
enum SnapshotArchive {
    private static let sums = "SHA256SUMS"
    private static let block = 512
    private static let chunk = 1 << 20

    /// Writes the files of a folder, without its subfolders. Returns the SHA-256 of the archive.
    static func write(_ folder: URL, to archive: URL) throws -> Data {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        guard FileManager.default.createFile(atPath: archive.path, contents: nil) else {
            throw Problem(.storage, "The snapshot cannot be written.")
        }
        let output = try FileHandle(forWritingTo: archive)
        defer { try? output.close() }
        var whole = SHA256()
        func put(_ data: Data) throws {
            whole.update(data)
            try output.write(contentsOf: data)
        }
        func pad(_ size: Int) throws { try put(Data(count: (block - size % block) % block)) }
        var lines = ""
        for name in names {
            let url = folder.appendingPathComponent(name)
            let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int ?? 0
            let input = try FileHandle(forReadingFrom: url)
            defer { try? input.close() }
            try put(header(name, size: size))
            var digest = SHA256()
            while let data = try input.read(upToCount: chunk), !data.isEmpty {
                digest.update(data)
                try put(data)
            }
            try pad(size)
            lines += "\(digest.finalize().hexadecimal)  \(name)\n"
        }
        try put(header(sums, size: lines.utf8.count))
        try put(Data(lines.utf8))
        try pad(lines.utf8.count)
        try put(Data(count: 2 * block))
        try output.synchronize()
        return whole.finalize()
    }

    /// Writes the files of an archive into a new folder.
    ///
    /// The archive may be one that `tar` has made of the files of a snapshot: with a folder around them, with names
    /// that start with `./`, in any order, and with headers of pax or GNU tar.
    ///
    /// - Throws: ``Problem`` if the archive is damaged, or has files that no snapshot has.
    static func extract(_ archive: URL, to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let input = try FileHandle(forReadingFrom: archive)
        defer { try? input.close() }
        var digests: [String: String] = [:]
        var expected: String?
        var parent: [Substring]?
        while let entry = try nextFile(of: input) {
            let path = entry.path.split(separator: "/").filter { $0 != "." }
            // macOS adds files for what others do not know of a file.
            guard let last = path.last, !last.hasPrefix("._") else {
                try skip(entry.size, of: input)
                continue
            }
            let name = String(last)
            guard parent ?? path.dropLast() == path.dropLast(), path.count <= 2 else {
                throw Problem(.damagedSnapshot, "The snapshot's files are in several folders.")
            }
            parent = path.dropLast()
            if name == sums {
                guard entry.size <= chunk, expected == nil else { throw truncated }
                expected = String(decoding: try bytes(entry.size, of: input), as: UTF8.self)
            } else {
                guard Catalog.copiedFileNames.contains(name), digests[name] == nil else {
                    throw Problem(.damagedSnapshot, "The snapshot has a file that no snapshot has, or one twice.")
                }
                digests[name] = try copy(entry.size, from: input, to: folder.appendingPathComponent(name))
                try skipPadding(of: entry.size, of: input)
            }
        }
        guard let expected else {
            throw Problem(
                .damagedSnapshot, "The archive has no file \(sums): a snapshot is made by a request, not of a folder.")
        }
        guard case .catalog = Catalog.state(of: folder) else {
            throw Problem(.damagedSnapshot, "The snapshot lacks its catalog.")
        }
        let found = Set(digests.map { "\($0.value)  \($0.key)" })
        guard found == Set(expected.split(separator: "\n").map(String.init)) else {
            throw Problem(.damagedSnapshot, "The snapshot is not as it was written: a digest differs.")
        }
    }

    /// Reads to the content of the next file; nil at the end of the archive.
    private static func nextFile(of input: FileHandle) throws -> (path: String, size: Int)? {
        var (path, size): (String?, Int?)
        while true {
            guard let head = try input.read(upToCount: block), head.count == block else { throw truncated }
            if head.allSatisfy({ $0 == 0 }) { return nil }
            let entry = try entry(head)
            switch entry.kind {
            case "0", "\0": return (path ?? entry.path, size ?? entry.size)
            // A folder, and what holds for all files.
            case "5", "g": try skip(entry.size, of: input)
            case "x", "L":
                guard entry.size <= chunk else { throw truncated }
                let content = try bytes(entry.size, of: input)
                if entry.kind == "L" {
                    path = String(decoding: content.prefix { $0 != 0 }, as: UTF8.self)
                } else {
                    let fields = paxFields(content)
                    path = fields["path"] ?? path
                    size = fields["size"].flatMap { Int($0) } ?? size
                }
            default: throw Problem(.damagedSnapshot, "The snapshot is not a tar archive of files alone.")
            }
        }
    }

    /// The fields of an extended header: lines of a length, a space, a name, “=” and a value.
    private static func paxFields(_ data: Data) -> [String: String] {
        var fields: [String: String] = [:]
        var rest = data[...]
        while let space = rest.firstIndex(of: UInt8(ascii: " ")),
            let length = Int(String(decoding: rest[..<space], as: UTF8.self)), length > 0, length <= rest.count
        {
            let line = String(decoding: rest[(space + 1)..<(rest.startIndex + length)].dropLast(), as: UTF8.self)
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { fields[String(parts[0])] = String(parts[1]) }
            rest = rest.dropFirst(length)
        }
        return fields
    }

    /// Reads a small content and what fills its last block.
    private static func bytes(_ size: Int, of input: FileHandle) throws -> Data {
        guard let data = try input.read(upToCount: size), data.count == size || size == 0 else { throw truncated }
        try skipPadding(of: size, of: input)
        return data
    }

    private static func skip(_ size: Int, of input: FileHandle) throws {
        try input.seek(toOffset: try input.offset() + UInt64(size))
        try skipPadding(of: size, of: input)
    }

    private static func skipPadding(of size: Int, of input: FileHandle) throws {
        let rest = (block - size % block) % block
        if rest > 0, try input.read(upToCount: rest)?.count != rest { throw truncated }
    }

    private static let truncated = Problem(.damagedSnapshot, "The snapshot is truncated.")

    private static func copy(_ size: Int, from input: FileHandle, to url: URL) throws -> String {
        guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
            throw Problem(.storage, "The snapshot cannot be stored.")
        }
        let output = try FileHandle(forWritingTo: url)
        defer { try? output.close() }
        var digest = SHA256()
        var left = size
        while left > 0 {
            guard let data = try input.read(upToCount: min(left, chunk)), !data.isEmpty else { throw truncated }
            digest.update(data)
            try output.write(contentsOf: data)
            left -= data.count
        }
        try output.synchronize()
        return digest.finalize().hexadecimal
    }

    private static func header(_ name: String, size: Int) -> Data {
        var header = Data(count: block)
        func put(_ text: String, at offset: Int) {
            header.replaceSubrange(offset..<(offset + text.utf8.count), with: Data(text.utf8))
        }
        func octal(_ value: Int, digits: Int) -> String {
            let text = String(value, radix: 8)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        put(name, at: 0)
        put("0000644\0" + "0000000\0" + "0000000\0", at: 100)
        if size < 1 << 33 {
            put(octal(size, digits: 11) + "\0", at: 124)
        } else {
            // GNU and BSD tar write larger sizes in base 256.
            header[124] = 0x80
            for index in 0..<8 { header[128 + index] = UInt8(truncatingIfNeeded: size >> (8 * (7 - index))) }
        }
        put(octal(Int(Date().timeIntervalSince1970), digits: 11) + "\0", at: 136)
        put("        0", at: 148)
        put("ustar\0" + "00", at: 257)
        let sum = header.reduce(0) { $0 + Int($1) }
        put(octal(sum, digits: 6) + "\0 ", at: 148)
        return header
    }

    private static func entry(_ header: Data) throws -> (path: String, size: Int, kind: Unicode.Scalar) {
        let bytes = [UInt8](header)
        func octal(_ range: Range<Int>) -> Int? {
            let text = bytes[range].prefix { $0 != 0 }.filter { $0 != 0x20 }
            return Int(String(decoding: text, as: UTF8.self), radix: 8)
        }
        let sum = bytes.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 0x20 : Int($1.element)) }
        guard octal(148..<156) == sum else { throw Problem(.damagedSnapshot, "The snapshot is not a tar archive.") }
        let size =
            bytes[124] & 0x80 == 0
            ? octal(124..<136) : bytes[128..<136].reduce(0) { $0 << 8 | Int($1) }
        guard let size, size >= 0 else { throw Problem(.damagedSnapshot, "The snapshot has a file without a size.") }
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range].prefix { $0 != 0 }, as: UTF8.self) }
        // GNU tar has other things where ustar has the begin of a long path.
        let isUStar = bytes[257..<263].elementsEqual(Array("ustar\0".utf8))
        let path = isUStar && bytes[345] != 0 ? text(345..<500) + "/" + text(0..<100) : text(0..<100)
        return (path, size, Unicode.Scalar(bytes[156]))
    }
}
#endif
