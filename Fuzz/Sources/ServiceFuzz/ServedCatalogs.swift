import Foundation
import FuzzSupport
import Logging
import Lookalike
import LookalikeService

/// A service of this process on a port of its own, with a catalog of three entities.
struct ServedCatalogs: Sendable {
    static let shared = ServedCatalogs()
    static let name = "c"

    let port: Int
    /// The model of the catalog, as JSON.
    private let identity: Data

    private init() {
        let folder = FuzzFolder.url.appendingPathComponent("catalogs")
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
            var configuration = ServiceConfiguration(catalogs: folder)
            configuration.port = 0
            // What cannot be answered at once, the harness waits for.
            configuration.limits.queueTime = .seconds(60)
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

    enum ImageCoding { case base64, binary }

    /// A body with the model of the catalog in the place of MODEL, and an image in that of IMAGE. No mutation would
    /// find their digests and checksums.
    static func filled(_ body: Data, _ coding: ImageCoding = .base64) -> Data {
        let image = coding == .base64 ? FuzzedImage.png.base64EncodedData() : FuzzedImage.png
        var filled = Data()
        var rest = body
        while let place = ["MODEL", "IMAGE"].compactMap({ rest.range(of: Data($0.utf8)) }).min(by: {
            $0.lowerBound < $1.lowerBound
        }) {
            filled += rest[..<place.lowerBound]
            filled += rest[place] == Data("MODEL".utf8) ? shared.identity : image
            rest = rest[place.upperBound...]
            // Each may be there any number of times.
            if filled.count > 1 << 20 { break }
        }
        return filled + rest
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
