import Foundation
import FuzzSupport
import Lookalike

/// Opens, verifies and searches a catalog in whose files some bytes were changed: database, log, matrix or lists.
///
/// An input is the number of a file, and then changes: two bytes of a position, in 1/65,536 of the file, one with the
/// number of bytes that follow, and those.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCatalogs(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let template = CatalogTemplate.shared
    guard let (name, changes) = FuzzInput(bytes, count).choice(of: template.names) else { return -1 }
    let folder = FuzzFolder.url.appendingPathComponent("catalog")
    template.write(to: folder, changing: name, by: Array(changes))
    wait {
        // Any of these may throw; none may crash, hang or read beyond a file.
        guard let catalog = try? Catalog(at: folder) else { return }
        _ = try? await catalog.verify()
        _ = try? await catalog.info
        _ = try? await catalog.search(matching: template.query, bounds: MatchBounds(maxDistance: 2), crops: .whole)
        _ = try? await catalog.entities(for: ["0", "1"])
        _ = try? await catalog.thumbnail(for: "1")
        if let indexer = try? CatalogIndexer(at: folder) { try? await indexer.remove("1") }
    }
    return 0
}

/// The files of an intact catalog of three entities, with local features.
private struct CatalogTemplate: Sendable {
    static let shared = CatalogTemplate()

    let names = ["catalog.sqlite", "prints.matrix", "features.lists"]
    let query: PixelBuffer
    private let files: [String: [UInt8]]

    private init() {
        func image(_ seed: Int) -> PixelBuffer {
            let side = 96
            let pixels = (0..<(side * side)).flatMap { at -> [UInt8] in
                let (x, y) = (at % side / 8, at / side / 8)
                let value = (x * 37 + y * 91 + x * y * seed * 13 + seed * 7) & 255
                return [UInt8(value), UInt8(value * 3 & 255), UInt8(255 - value)]
            }
            guard let image = try? PixelBuffer(pixels, width: side, height: side, format: .rgb8) else {
                fatalError("\(pixels.count) bytes are an image")
            }
            return image
        }
        let folder = FuzzFolder.url.appendingPathComponent("template")
        do {
            let items = (0..<3).map {
                IndexItem(CatalogEntity(id: "\($0)", title: "T\($0)"), image: .pixels(image($0 + 1)))
            }
            _ = try CatalogIndexer(at: folder).index(items)
            query = image(2)
            var files: [String: [UInt8]] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                files[name] = Array(try Data(contentsOf: folder.appendingPathComponent(name)))
            }
            self.files = files
        } catch {
            fatalError("the intact catalog: \(error)")
        }
    }

    func write(to folder: URL, changing changed: String, by changes: [UInt8]) {
        try? FileManager.default.removeItem(at: folder)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for (name, contents) in files {
                var contents = contents
                if name == changed { Self.apply(changes[...], to: &contents) }
                try Data(contents).write(to: folder.appendingPathComponent(name))
            }
        } catch {
            fatalError("\(folder.path): \(error)")
        }
    }

    private static func apply(_ changes: ArraySlice<UInt8>, to contents: inout [UInt8]) {
        var rest = changes
        while rest.count > 3, !contents.isEmpty {
            let place = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            let length = Int(rest[rest.startIndex + 2])
            rest = rest.dropFirst(3)
            // The last position cuts the file there.
            if place == 65_535 {
                contents.removeLast(min(contents.count, length * 61))
                continue
            }
            let start = contents.count * place / 65_536
            for (offset, byte) in rest.prefix(length).enumerated() where start + offset < contents.count {
                contents[start + offset] = byte
            }
            rest = rest.dropFirst(length)
        }
    }
}
