#if SystemStores
public import Foundation
public import Lookalike
public import SystemStores

/// A catalog of the photos of contacts, which are found by a picture that shows one of them: on a screen, in print, in
/// part or turned.
///
/// The catalog finds the photo and not the face: another photo of the same person is another image.
///
/// ```swift
/// let photos = try ContactPhotoCatalog(at: folder)
/// for problem in try photos.update(with: contacts) { print(problem) }
/// let found = try await photos.search(matching: pixels)
/// let people = contacts.filter { contact in found.contains { $0.entity.id == contact.id } }
/// ```
public struct ContactPhotoCatalog: Sendable {
    private let photos: URL
    private let catalogFolder: URL
    private let model: FeaturePrintModel?

    /// - Parameters:
    ///   - url: a folder for the catalog and for the photos as files; it is made if there is none.
    ///   - model: nil for the model that the catalog has or, for a new one, the default model.
    /// - Throws: an error of the file system if the folder cannot be made.
    public init(at url: URL, model: FeaturePrintModel? = nil) throws {
        photos = url.appendingPathComponent("photos", isDirectory: true)
        catalogFolder = url.appendingPathComponent("catalog", isDirectory: true)
        self.model = model
        try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
    }

    /// Indexes the photos that are new or changed, and removes those whose contacts have none any more, or one that
    /// cannot be decoded. The entities have the contacts' ids and names; the type is `contact`.
    ///
    /// Photos in the cards alone are indexed: those that are elsewhere are not fetched.
    /// - Returns: the photos that cannot be decoded.
    /// - Throws: `CatalogError`, an error of the file system, and `CancellationError`.
    public func update(with contacts: [Contact]) throws -> [StoreProblem] {
        var items: [IndexItem] = []
        var files: Set<String> = []
        var origins: [String: String] = [:]
        for contact in contacts {
            guard case .data(let data, _)? = contact.photo else { continue }
            let file = photos.appendingPathComponent(Self.fileName(of: contact.id))
            guard files.insert(file.lastPathComponent).inserted else { continue }
            // A photo that did not change keeps its time, and is not indexed again.
            if (try? Data(contentsOf: file)) != data { try data.write(to: file, options: .atomic) }
            origins[file.path] = contact.file
            items.append(
                IndexItem(
                    entity: CatalogEntity(
                        id: contact.id, type: "contact", title: contact.name, subtitle: contact.organization,
                        image: file.path),
                    origin: file.path))
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: photos.path) where !files.contains(name) {
            try FileManager.default.removeItem(at: photos.appendingPathComponent(name))
        }
        let indexer = try CatalogIndexer(at: catalogFolder, model: model)
        let report = try indexer.index(items)
        // The photo that such a contact had is not theirs any more.
        for problem in report.problems where origins[problem.subject] != nil {
            try FileManager.default.removeItem(atPath: problem.subject)
        }
        // Also the last one: that its file is gone is no disk that is not mounted.
        _ = try indexer.prune(evenIfAll: true)
        let names = Dictionary(items.map { ($0.entity.image, $0.entity.title ?? "") }, uniquingKeysWith: { a, _ in a })
        return report.problems.map { problem in
            StoreProblem(
                subject: origins[problem.subject] ?? problem.subject,
                reason: "the photo of “\(names[problem.subject] ?? "")”: \(problem.reason)")
        }
    }

    /// The contacts whose photo an image shows, surest first; their ids are the entities'.
    ///
    /// - Throws: `CatalogError`, also before the first update; `ModelError` for an image that cannot be embedded, and
    ///   `CancellationError`.
    public func search(matching image: PixelBuffer, limit: Int = 5) async throws -> [CatalogMatch] {
        try await Catalog(at: catalogFolder, model: model).search(
            matching: image, options: SearchOptions(limit: limit))
    }

    /// A name for the file of an id, which may have any characters and any length.
    private static func fileName(of id: String) -> String {
        let safe = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        guard safe.utf8.count > 180 else { return safe }
        // FNV-1a (Fowler, Noll, Vo) over what does not fit.
        let digest = id.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return safe.prefix(150) + "-" + String(digest, radix: 16)
    }
}
#endif
