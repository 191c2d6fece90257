import Foundation
import GRDB
import LocalFeatures

/// Writes the file of inverted lists from the database.
struct InvertedListsWriter {
    let database: CatalogDatabase
    let model: LocalFeatureModel

    /// O(features) time, 12 bytes of memory per feature.
    func write() throws(CatalogError) {
        try DerivedFile(database.folder.invertedLists, of: database).replace(write)
    }

    private func write(_ db: Database, to url: URL) throws {
        let folder = database.folder
        guard let id = try Setting.catalogID.read(db).flatMap(UUID.init(uuidString:)) else {
            throw folder.error(.damaged("its settings are incomplete"))
        }
        var builder = InvertedListsBuilder(model)
        var keys: [Int64] = []
        try forEachImage(db) { key, features in
            keys.append(key)
            builder.count(features)
        }
        builder.finishCounting()
        var position = 0
        try forEachImage(db) { _, features in
            if let features { builder.place(features, image: position) }
            position += 1
        }
        var header = InvertedListsHeader(
            wordCount: builder.offsets.count - 1, entityCount: keys.count, featureCount: builder.signatures.count,
            revision: try CatalogDatabase.revision(db), catalogID: id, modelDigest: Data(hexadecimal: model.digest),
            contentDigest: Data(count: 32))
        var output = try BufferedFile(url, folder: folder)
        try output.append(Data(count: InvertedListsHeader.byteCount), hashed: false)
        try output.append(keys.withUnsafeBytes { Data($0) })
        try output.pad(to: header.featureCountsOffset)
        try output.append(builder.featureCounts.withUnsafeBytes { Data($0) })
        try output.pad(to: header.listOffsetsOffset)
        try output.append(builder.offsets.withUnsafeBytes { Data($0) })
        try output.pad(to: header.signaturesOffset)
        try output.append(builder.signatures.withUnsafeBytes { Data($0) })
        try output.pad(to: header.entitiesOffset)
        try output.append(builder.images.withUnsafeBytes { Data($0) })
        header.contentDigest = output.digest()
        try output.finish(header: header.encoded)
    }

    private func forEachImage(_ db: Database, _ body: (Int64, LocalFeatures?) throws -> Void) throws {
        let rows = try Row.fetchCursor(db, sql: "SELECT row, data FROM localFeatures ORDER BY row")
        while let row = try rows.next() {
            let (key, data): (Int64, Data) = (row[0], row[1])
            // Damaged features do not keep the catalog from opening; `Catalog.verify()` reports them.
            try body(key, LocalFeatures(encoded: data))
        }
    }
}
