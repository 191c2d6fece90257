import Foundation
import Lookalike
import MilvusCatalog
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// A Milvus Lite server of its own for a test, on a free port of the loopback interface.
///
/// `MILVUS_LITE` names the program `milvus-lite`, which PyPI's package of that name installs.
final class MilvusServer {
    static let program = ProcessInfo.processInfo.environment["MILVUS_LITE"]

    let port: Int
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("milvus-\(UUID().uuidString)")
    private var process: Process?

    init() async throws {
        port = try FreePort().number
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await start()
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func address(_ collection: String) throws -> MilvusAddress {
        try MilvusAddress("milvus://127.0.0.1:\(port)/\(collection)")
    }

    /// Starts the server, and returns when it answers.
    func start() async throws {
        launch()
        try await waitUntilReady()
    }

    func launch() {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program ?? "")
        process.arguments = [
            "server", "--data-dir", folder.appendingPathComponent("data").path, "--host", "127.0.0.1", "--port",
            "\(port)",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { Issue.record("\(Self.program ?? "") does not start: \(error)") }
        self.process = process
    }

    /// Milvus Lite reads its data before it listens.
    private func waitUntilReady() async throws {
        let options = MilvusOptions(readDeadline: .seconds(60))
        do {
            _ = try await MilvusCatalog(address("none"), options: options)
        } catch let error as MilvusError where error.reason == .missing {}
    }

    /// Ends the server as a crash does.
    func stop() {
        guard let process else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }
}

/// A listening port that accepts connections and never answers; free again when this is gone.
final class FreePort {
    let number: Int
    private let descriptor: CInt

    init() throws {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isBound)
        number = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}

/// A folder for a test, removed with it.
final class TemporaryFolder {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("milvus-test-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }

    func callAsFunction(_ name: String) -> URL { url.appendingPathComponent(name) }
}

/// The images of the demo: drawn covers, two things, and photographs of some.
enum Demo {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Examples/Demo")

    static func index(into url: URL, localFeatures: Bool = true) throws -> Catalog {
        let indexer = try CatalogIndexer(at: url, localFeatures: localFeatures)
        for name in ["covers/albums.csv", "things/things.csv"] {
            let report = try indexer.index(ImageSource.entries(at: folder.appendingPathComponent(name)))
            try #require(report.problems.isEmpty)
        }
        return try Catalog(at: url)
    }

    static func queries() throws -> [PixelBuffer] {
        let urls = ["queries", "renderings"].flatMap { name in
            (try? FileManager.default.contentsOfDirectory(
                at: folder.appendingPathComponent(name), includingPropertiesForKeys: nil)) ?? []
        }.filter { ["jpg", "png"].contains($0.pathExtension) }.sorted { $0.path < $1.path }
        try #require(urls.count > 15)
        return try urls.map { try PixelBuffer(contentsOf: $0) }
    }
}

/// The default model with one bias changed: another model, as far as prints go.
enum OtherModel {
    static func load() throws -> FeaturePrintModel {
        let file = Demo.folder.appendingPathComponent("../../Models/default.safetensors").standardizedFileURL
        var data = try Data(contentsOf: file)
        data[data.count - 3] ^= 0x55
        let folder = try TemporaryFolder()
        try data.write(to: folder("other.safetensors"))
        return try FeaturePrintModel(contentsOf: folder("other.safetensors"))
    }
}

/// Entities with prints alone, in directions that follow from their numbers.
enum Drawn {
    static func print(_ number: Int, of model: FeaturePrintModel) -> FeaturePrint {
        var generator = SplitMix(state: UInt64(number) &* 977 &+ 5)
        let components = (0..<model.dimension).map { _ in Float(Int64(bitPattern: generator.next()) >> 40) }
        let norm = components.reduce(0) { $0 + $1 * $1 }.squareRoot()
        return FeaturePrint(vector: components.map { $0 / norm }, model: model.identity)
    }

    static func index(
        _ count: Int, into url: URL, first: Int = 0,
        entity: (Int) -> CatalogEntity = { CatalogEntity(id: "entity-\($0)") }
    ) throws -> Catalog {
        let indexer = try CatalogIndexer(at: url)
        let items = (first..<first + count).map { IndexItem(entity($0), image: .print(print($0, of: indexer.model))) }
        let report = try indexer.index(items)
        try #require(report.added == count, "\(report.problems)")
        return try Catalog(at: url)
    }
}

private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
