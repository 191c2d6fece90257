import Foundation
import FuzzSupport
import Lookalike

/// The files of an intact catalog of three entities, with local features, thumbnails and all derived files.
struct CatalogTemplate: Sendable {
    static let shared = CatalogTemplate()

    /// The image of an entity.
    let image: PixelBuffer
    private let files: [String: [UInt8]]

    private init() {
        let folder = FuzzFolder.url.appendingPathComponent("template")
        do {
            let images = (1...3).map(patternImage)
            let items = images.enumerated().map { index, image in
                IndexItem(
                    CatalogEntity(
                        id: "\(index)", type: "t", title: "T\(index)", labels: ["l"],
                        attributes: ["year": "199\(index)"]
                    ), image: .pixels(image))
            }
            let indexer = try CatalogIndexer(at: folder, model: FeaturePrintModel(contentsOf: FuzzFolder.smallModel))
            _ = try indexer.index(items)
            try indexer.setPrintIndex(.invertedFile)
            wait { _ = try? await Catalog(at: folder).duplicates() }
            image = images[1]
            var files: [String: [UInt8]] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                files[name] = Array(try Data(contentsOf: folder.appendingPathComponent(name)))
            }
            self.files = files
        } catch {
            fatalError("the intact catalog: \(error)")
        }
    }

    /// Writes the files, one of them changed.
    func write(to folder: URL, changing changed: String? = nil, by change: (inout [UInt8]) -> Void = { _ in }) {
        try? FileManager.default.removeItem(at: folder)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for (name, contents) in files {
                var contents = contents
                if name == changed { change(&contents) }
                try Data(contents).write(to: folder.appendingPathComponent(name))
            }
        } catch {
            fatalError("\(folder.path): \(error)")
        }
    }
}
