public import CatalogEntities
import CatalogStore
import Compute
import FeaturePrints
public import Foundation
import LocalFeatures

extension Catalog {
    /// Writes `prints.npy`, a float32 matrix with one row per image; `entities.jsonl`, one line per image in the same
    /// order; and `features.jsonl`, one line per image with local features, into a folder. Creates the folder if it is
    /// missing. O(images) time, and little memory: each line is written as it is read.
    ///
    /// A line of `entities.jsonl` has the entity; its `image` is the line's. A line of `features.jsonl` has the
    /// entity's `id`, the `imageIndex` if the entity has several images, the `width` and `height` of the image in which
    /// the keypoints were detected, `keypoints` as [x, y, scale, angle], their visual `words`, and their `codes` in
    /// Base64, 12 bytes each: signature and far components of a ``DescriptorCode``, little-endian.
    ///
    /// The files of an earlier export are replaced. A file `entities.jsonl` or `features.jsonl` without a `prints.npy`
    /// beside it is taken for somebody's own, such as a manifest, and is not.
    ///
    /// - Parameter condition: the entities to write; all by default.
    /// - Returns: the number of entities that were written.
    /// - Throws: ``CatalogError`` if the catalog cannot be read, the folder has such a file, or a file cannot be
    ///   written; and `CancellationError`.
    @discardableResult
    public func export(to url: URL, where condition: Condition = .everything) async throws -> Int {
        try await reading {
            func unwritable(_ error: any Error) -> CatalogError {
                CatalogError(subject: url.path, reason: .unwritable((error as NSError).localizedDescription))
            }
            do {
                return try write(to: url, where: condition)
            } catch let error as CocoaError {
                throw unwritable(error)
            } catch let error as POSIXError {
                throw unwritable(error)
            }
        }
    }

    private func write(to url: URL, where condition: Condition) throws -> Int {
        guard url.isFileURL else { throw CatalogError(subject: url.absoluteString, reason: .notAFolder) }
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let printsFile = url.appendingPathComponent("prints.npy")
        let lineFiles = ["entities.jsonl", "features.jsonl"].map { url.appendingPathComponent($0) }
        if FileStamp.isMissing(printsFile.path), let own = lineFiles.first(where: { !FileStamp.isMissing($0.path) }) {
            throw CatalogError(
                subject: url.path,
                reason: .unwritable(
                    "“\(own.lastPathComponent)” is not of an earlier export, since there is no “prints.npy”; "
                        + "export to another folder"))
        }
        let (prints, lines, features) = (
            try PartialFile(printsFile), try PartialFile(lineFiles[0]), try PartialFile(lineFiles[1])
        )
        try prints.append(NumPyFile.header(rowCount: 0, columns: model.dimension))
        var (count, imageCount, last) = (0, 0, String?.none)
        // One read, so that all files show the same state.
        try store.forEachStored(where: condition) { entity, place, print in
            guard let vector = HalfPrecision.vector(print, dimension: model.dimension) else {
                throw folder.error(.damaged("the print of “\(entity.id)” is not \(model.dimension) finite floats"))
            }
            try prints.append(NumPyFile.data(vector))
            try lines.append(Data((try JSONLine.text(ExportedImage(entity: entity, place: place)) + "\n").utf8))
            imageCount += 1
            if last.map({ ExactText($0) }) != ExactText(entity.id) { count += 1 }
            last = entity.id
        } features: { entity, place, data in
            guard let decoded = LocalFeatures(encoded: data) else {
                throw folder.error(.damaged("the local features of “\(entity.id)” cannot be read"))
            }
            let line = ExportedFeatures(entity.id, imageIndex: entity.images.count > 1 ? place : nil, decoded)
            try features.append(Data(try line.text(with: decoded).utf8))
        }
        try prints.replaceBeginning(by: NumPyFile.header(rowCount: imageCount, columns: model.dimension))
        // Files of an earlier export would be taken for this one's if it does not finish.
        for file in lineFiles { unlink(file.path) }
        for file in [prints, lines, features] { try file.finish() }
        return count
    }
}

/// A file that gets its name when it is written whole; what is unfinished is removed.
private final class PartialFile {
    private let url: URL
    private let temporary: URL
    private let handle: FileHandle
    private var buffer = Data()

    private static let bufferSize = 1 << 20

    init(_ url: URL) throws {
        self.url = url
        temporary = url.appendingPathExtension("\(getpid()).part")
        try Data().write(to: temporary)
        handle = try FileHandle(forWritingTo: temporary)
    }

    deinit { unlink(temporary.path) }

    func append(_ data: Data) throws {
        buffer += data
        if buffer.count >= Self.bufferSize { try flush() }
    }

    func replaceBeginning(by data: Data) throws {
        try flush()
        try handle.seek(toOffset: 0)
        try handle.write(contentsOf: data)
    }

    func finish() throws {
        try flush()
        try handle.close()
        guard rename(temporary.path, url.path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    private func flush() throws {
        try handle.write(contentsOf: buffer)
        buffer.removeAll(keepingCapacity: true)
    }
}

/// A line of `entities.jsonl`.
private struct ExportedImage: Encodable {
    let entity: CatalogEntity
    let place: Int

    private enum CodingKeys: CodingKey { case image }

    func encode(to encoder: any Encoder) throws {
        try entity.encode(to: encoder)
        guard entity.images.indices.contains(place) else { return }
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(entity.images[place], forKey: .image)
    }
}

/// What a line of `features.jsonl` has before its lists of numbers, by the order of keys.
private struct ExportedFeatures: Encodable {
    let id: String
    let imageIndex: Int?
    let height: Int
    let codes: Data

    init(_ id: String, imageIndex: Int?, _ features: LocalFeatures) {
        (self.id, self.imageIndex) = (id, imageIndex)
        height = features.height
        codes = Data(features.codes.flatMap { $0.bytes })
    }

    /// The line. An encoder takes a millisecond for a thousand numbers, ten times as long as their descriptions.
    func text(with features: LocalFeatures) throws -> String {
        var text = try JSONLine.text(self)
        text.removeLast()
        text.reserveCapacity(text.utf8.count + 64 * features.keypoints.count)
        var separator = ",\"keypoints\":[["
        for keypoint in features.keypoints {
            for number in [keypoint.x, keypoint.y, keypoint.scale, keypoint.angle] {
                text += separator
                text += number.description
                separator = ","
            }
            separator = "],["
        }
        text += features.keypoints.isEmpty ? ",\"keypoints\":[]" : "]]"
        text += ",\"width\":\(features.width),\"words\":["
        text += features.words.map { $0.description }.joined(separator: ",")
        return text + "]}\n"
    }
}

extension Catalog {
    /// Writes a copy of the catalog as it is at one moment, while it is searched and changed: its database, and its
    /// model if that is not the default one. The derived files are made when the copy is first opened.
    ///
    /// - Parameter url: the folder of the copy, which is made.
    /// - Throws: ``CatalogError`` if the folder exists or cannot be written, or another catalog has taken the place of
    ///   this one, and `CancellationError`. An unfinished copy has no database under its name.
    /// - Complexity: O(catalog).
    public func copy(to url: URL) async throws {
        try await executor.compute { cancellation in
            let copy = try CatalogFolder(checking: url)
            do {
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            } catch {
                throw copy.error(.unwritable((error as NSError).localizedDescription))
            }
            // Not the file that has its name now: another catalog may have taken the place of this one.
            let (folder, store) = (folder, store)
            if !CatalogModels.isDefault(model) || !FileStamp.isMissing(folder.model.path) {
                do {
                    try model.fileData.write(to: copy.model, options: .atomic)
                } catch {
                    throw copy.error(.unwritable((error as NSError).localizedDescription))
                }
                try copy.synchronize(copy.model.path)
            }
            let identity = try store.copy(to: copy) { try cancellation.check() }
            guard identity == model.identity else {
                throw folder.error(identity.map { .otherModel(catalog: $0, given: model.identity) } ?? .missing)
            }
            try copy.publishDatabase()
        }
    }
}
