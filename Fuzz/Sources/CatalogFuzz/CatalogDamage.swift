import CatalogEdits
import Digests
import Foundation
import FuzzSupport
import GRDB
import Lookalike

/// What is done to the files of a catalog.
enum CatalogDamage: Sendable {
    /// Bytes of a file are changed.
    case file(String)
    /// Bytes of a derived file are changed, and then its digests are made right again, so that its header is believed.
    case derivedFile(String)
    /// A value in the database is changed.
    case row
    /// Bytes of the model are changed, and then the database takes it for its own if it can be read.
    case model

    /// The order is part of the format of inputs.
    static let allKinds: [CatalogDamage] = [
        .file("catalog.sqlite"), .file("prints.matrix"), .file("features.lists"),
        .derivedFile("prints.matrix"), .derivedFile("features.lists"), .row, .model, .file("prints.ivf"),
        .derivedFile("prints.ivf"), .file("duplicates.groups"), .derivedFile("duplicates.groups"),
    ]

    func apply(_ input: [UInt8], to template: CatalogTemplate, in folder: URL) {
        switch self {
        case .file(let name): template.write(to: folder, changing: name) { ByteEdits(input[...]).apply(to: &$0) }
        case .derivedFile(let name):
            template.write(to: folder, changing: name) { contents in
                ByteEdits(input[...]).apply(to: &contents)
                Self.restoreDigests(&contents)
            }
        case .row:
            template.write(to: folder)
            RowEdit(input)?.apply(to: folder.appendingPathComponent("catalog.sqlite"))
        case .model:
            template.write(to: folder, changing: "model.safetensors") { ByteEdits(input[...]).apply(to: &$0) }
            Self.adoptModel(in: folder)
        }
    }

    /// As in the header of a derived file: that of the contents, and then that of the header.
    private static func restoreDigests(_ contents: inout [UInt8]) {
        guard contents.count >= 192 else { return }
        contents.replaceSubrange(104..<136, with: SHA256.hash(Data(contents[192...])))
        contents.replaceSubrange(176..<192, with: SHA256.hash(Data(contents[..<176])).prefix(16))
    }

    private static func adoptModel(in folder: URL) {
        let file = folder.appendingPathComponent("model.safetensors")
        // A pass of a larger one would take longer than the time limit.
        guard let model = try? FeaturePrintModel(contentsOf: file), model.summary.operationCount < 100_000_000,
            let queue = try? DatabaseQueue(path: folder.appendingPathComponent("catalog.sqlite").path)
        else { return }
        try? queue.write { db in
            for (key, value) in [("modelDigest", model.identity.digest), ("dimension", "\(model.dimension)")] {
                try db.execute(sql: "UPDATE setting SET value = ? WHERE key = ?", arguments: [value, key])
            }
        }
        try? queue.close()
    }
}
