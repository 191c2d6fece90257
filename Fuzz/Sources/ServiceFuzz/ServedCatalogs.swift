import Foundation
import FuzzSupport
import Logging
import Lookalike
import LookalikeService

/// A service of this process on a port of its own, with a catalog of three entities.
struct ServedCatalogs: Sendable {
    static let shared = ServedCatalogs(named: "catalogs")
    /// One that wants keys, and lets the pages of an origin in.
    static let keyed = ServedCatalogs(named: "keyed-catalogs") { configuration in
        configuration.keys = KeyRing([readKey.entry, writeKey.entry])
        configuration.origins = ["https://shop.example"]
        configuration.samples = FuzzFolder.url
    }
    static let readKey = APIKey.make(scope: .read, name: "r")
    static let writeKey = APIKey.make(scope: .write, name: "w")
    static let name = "c"

    let port: Int
    /// The model of the catalog, as JSON.
    private let identity: Data
    /// The files of a snapshot of the catalog.
    let snapshot: [String: Data]

    private init(named folderName: String, configure: (inout ServiceConfiguration) -> Void = { _ in }) {
        let folder = FuzzFolder.url.appendingPathComponent(folderName)
        let ready = DispatchSemaphore(value: 0)
        let found = Found()
        do {
            let items = (0..<3).map {
                IndexItem(
                    CatalogEntity(
                        id: "\($0)", type: "t", title: "T\($0)", labels: ["l"], attributes: ["year": "199\($0)"]),
                    image: .data(FuzzedImage.png))
            }
            let model = try FeaturePrintModel(contentsOf: FuzzFolder.smallModel)
            _ = try CatalogIndexer(at: folder.appendingPathComponent(Self.name), model: model).index(items)
            identity = try JSONEncoder().encode(model.identity)
            snapshot = try Self.snapshot(of: folder.appendingPathComponent(Self.name))
            var configuration = ServiceConfiguration(catalogs: folder)
            configuration.port = 0
            // What cannot be answered at once, the harness waits for.
            configuration.limits.queueTime = .seconds(60)
            configure(&configuration)
            var logger = Logger(label: "fuzz")
            logger.logLevel = .critical
            let service = try LookalikeService(configuration, logger: logger) { port in
                found.port = port
                ready.signal()
            }
            Task.detached {
                do { try await service.run() } catch { fatalError("the service ended: \(error)") }
            }
        } catch {
            fatalError("the service: \(error)")
        }
        ready.wait()
        port = found.port
    }

    private static func snapshot(of catalog: URL) throws -> [String: Data] {
        let copy = FuzzFolder.url.appendingPathComponent("snapshot")
        try? FileManager.default.removeItem(at: copy)
        wait { try? await Catalog(at: catalog).copy(to: copy) }
        let names = try FileManager.default.contentsOfDirectory(atPath: copy.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: copy.appendingPathComponent($0))) })
    }

    enum ImageCoding { case base64, binary }

    /// A body with the model of the catalog in the place of MODEL, an image in that of IMAGE, and the id of a query
    /// that was just answered in that of QUERY. No mutation would find digests, checksums and random numbers.
    static func filled(_ body: Data, _ coding: ImageCoding = .base64) -> Data {
        let image = coding == .base64 ? FuzzedImage.png.base64EncodedData() : FuzzedImage.png
        return body.replacing([("MODEL", { shared.identity }), ("IMAGE", { image }), ("QUERY", KeptQuery.make)])
    }

    /// A request with keys that this process made.
    static func withKeys(_ request: Data) -> Data {
        request.replacing([("READKEY", { Data(readKey.key.utf8) }), ("WRITEKEY", { Data(writeKey.key.utf8) })])
    }

    /// Written before the semaphore is signalled, and read after.
    private final class Found: @unchecked Sendable { var port = 0 }
}

/// A small image, as a file and in a form.
enum FuzzedImage {
    static let png: Data = {
        let side = 24
        let pixels = (0..<(side * side)).flatMap { at -> [UInt8] in
            [UInt8(at % side / 3 * 31), UInt8(at / side / 3 * 31), UInt8(at * 7 & 255)]
        }
        do {
            return try PixelBuffer(pixels, width: side, height: side, format: .rgb8).pngData()
        } catch {
            fatalError("\(pixels.count) bytes are an image: \(error)")
        }
    }()

    /// With the boundary `x`.
    static let form =
        Data("--x\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a\"\r\n\r\n".utf8) + png
        + Data("\r\n--x\r\nContent-Disposition: form-data; name=\"limit\"\r\n\r\n2\r\n--x--\r\n".utf8)
}

extension Data {
    /// The words with what is made for them in their place.
    fileprivate func replacing(_ words: [(word: String, make: () -> Data)]) -> Data {
        var filled = Data()
        var rest = self
        func first() -> (place: Range<Data.Index>, make: () -> Data)? {
            words.compactMap { word in rest.range(of: Data(word.word.utf8)).map { ($0, word.make) } }
                .min { $0.0.lowerBound < $1.0.lowerBound }
        }
        while let (place, make) = first() {
            filled += rest[..<place.lowerBound]
            filled += make()
            rest = rest[place.upperBound...]
            // Each may be there any number of times.
            if filled.count > 1 << 20 { break }
        }
        return filled + rest
    }
}
