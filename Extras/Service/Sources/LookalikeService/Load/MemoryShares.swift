#if Service
import Compute
public import Foundation

/// What the parts of a service may take of the memory that it has.
///
/// The program takes its part by itself. The rest is lent: bodies in flight a quarter, pixels five eighths, and what is
/// kept open or for later an eighth. Of the pixels, each image search has a place of its own; larger images wait until
/// others have given back what they need.
@_spi(Service) public struct MemoryShares: Sendable, Equatable {
    /// All of it.
    @_spi(Service) public let total: Int
    /// The program, its models, and what searches at once compute with.
    @_spi(Service) public let program: Int
    /// Bodies in flight together, 512 MiB at most.
    @_spi(Service) public let bodies: Int
    /// A body, 32 MiB at most.
    @_spi(Service) public let body: Int
    /// The pixels of an image that is decoded in the place of its search, 64 MiB at most.
    @_spi(Service) public let image: Int
    /// The pixels of larger images, and of those that are being indexed, together.
    @_spi(Service) public let largeImages: Int
    /// Catalogs that are open at once, 64 at most.
    @_spi(Service) public let openCatalogs: Int
    /// What may be taken back, together: 64 MiB at most.
    @_spi(Service) public let undo: Int
    /// The rows of values and conditions that are kept for lists and facets, together: 64 MiB at most.
    @_spi(Service) public let rows: Int

    private static let megabyte = 1 << 20
    private static let programAlone = 96 * megabyte
    private static let perSearch = 32 * megabyte
    /// What a catalog takes while it is open, without the files that the system may drop.
    private static let perCatalog = 2 * megabyte

    /// - Parameters:
    ///   - total: the bytes of all parts.
    ///   - searches: the image searches at once.
    @_spi(Service) public init(of total: Int, searches: Int) {
        self.total = total
        program = Self.programAlone + searches * Self.perSearch
        let rest = max(0, total - program)
        bodies = min(512 * Self.megabyte, rest / 4)
        let pixels = rest / 8 * 5
        image = min(64 * Self.megabyte, pixels / 2 / max(1, searches))
        largeImages = pixels - searches * image
        // JSON is in memory three times while its images are read, in the place of a search.
        body = min(32 * Self.megabyte, bodies / 2, image)
        let kept = rest / 8
        undo = min(64 * Self.megabyte, kept / 4)
        rows = undo
        openCatalogs = min(64, max(1, (kept - undo - rows) / Self.perCatalog))
    }

    /// The image searches at once that half of the memory has space for.
    @_spi(Service) public static func mostSearches(in total: Int) -> Int {
        max(1, (total / 2 - programAlone) / perSearch)
    }

    /// The least memory with which a service starts: a photograph and its body have space.
    @_spi(Service) public static func least(searches: Int) -> Int {
        programAlone + searches * perSearch + 16 * megabyte * (1 + searches)
    }

    /// The memory of the machine, or of the control groups that the process is in.
    @_spi(Service) public static func available(root: URL = URL(fileURLWithPath: "/")) -> Int {
        let file = try? String(contentsOf: root.appendingPathComponent("proc/meminfo"), encoding: .utf8)
        let line = file?.split(separator: "\n").first { $0.hasPrefix("MemTotal:") }
        let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        let machine = kilobytes.map { $0 << 10 } ?? Int(clamping: ProcessInfo.processInfo.physicalMemory)
        return min(machine, ControlGroups(root: root).memory ?? .max)
    }

    /// The bytes that a text such as `512M`, `1.5G` or `100000` says; nil for another text. The units are powers of
    /// 1,024.
    @_spi(Service) public static func bytes(_ text: String) -> Int? {
        guard let match = text.wholeMatch(of: /([0-9]+(?:\.[0-9]+)?) ?([KMGT]?)(?:i?B)?/.ignoresCase()),
            let number = Double(match.1)
        else { return nil }
        let power =
            "KMGT".firstIndex(of: Character(match.2.isEmpty ? " " : match.2.uppercased()))
            .map { "KMGT".distance(from: "KMGT".startIndex, to: $0) + 1 } ?? 0
        let bytes = number * pow(1024, Double(power))
        return bytes < 0x1p62 ? Int(bytes) : nil
    }
}
#endif
