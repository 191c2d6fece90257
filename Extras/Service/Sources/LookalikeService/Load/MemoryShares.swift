#if Service
import Compute
public import Foundation
import Synchronization

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
        undo = min(64 * Self.megabyte, kept / 2)
        openCatalogs = min(64, max(1, (kept - undo) / Self.perCatalog))
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

/// Memory that is lent in parts. Who needs more than is left waits, and then comes first.
@_spi(Service) public final class MemoryLane: Sendable {
    private struct State {
        var free: Int
        var waiting: [(count: Int, outcome: FirstOutcome<Void>)] = []
    }

    private let size: Int
    private let state: Mutex<State>

    @_spi(Service) public init(size: Int) {
        self.size = size
        state = Mutex(State(free: size))
    }

    /// The parts that wait.
    @_spi(Service) public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// How many parts of a size there are, up to a number and at least one, and the bytes that they have.
    func parts(of size: Int, atMost most: Int) -> (count: Int, bytes: Int) {
        let count = max(1, min(most, self.size / max(1, size)))
        return (count, min(self.size, count * min(size, self.size)))
    }

    /// Runs `body` with a part of the memory, or all of it if there is less.
    ///
    /// - Throws: `CancellationError`, and what `body` throws.
    @_spi(Service) public func lending<Answer>(_ count: Int, _ body: () async throws -> Answer) async throws -> Answer {
        let count = min(max(0, count), size)
        let outcome = FirstOutcome<Void>()
        let isLent = state.withLock { state in
            guard state.waiting.isEmpty, count <= state.free else {
                state.waiting.append((count, outcome))
                return false
            }
            state.free -= count
            return true
        }
        if !isLent {
            try await withTaskCancellationHandler {
                try await outcome.value
            } onCancel: {
                let isWaiting = state.withLock { state in
                    guard let index = state.waiting.firstIndex(where: { $0.outcome === outcome }) else { return false }
                    state.waiting.remove(at: index)
                    return true
                }
                if isWaiting { outcome.set(.failure(CancellationError())) }
                // Others may have waited for it alone.
                giveBack(0)
            }
        }
        defer { giveBack(count) }
        return try await body()
    }

    private func giveBack(_ count: Int) {
        let next = state.withLock { state in
            state.free += count
            var next: [FirstOutcome<Void>] = []
            while let first = state.waiting.first, first.count <= state.free {
                state.free -= first.count
                next.append(first.outcome)
                state.waiting.removeFirst()
            }
            return next
        }
        for outcome in next { outcome.set(.success(())) }
    }
}

/// Gives memory that was freed back to the system when nothing has been done for a while: the allocator keeps it, after
/// images of hundreds of megabytes as well.
@_spi(Service) public final class IdleMemory: Sendable {
    private struct State {
        var running = 0
        var hasWorked = false
        var hasWorkedLately = false
    }

    private let state = Mutex(State())
    private let trim: @Sendable () -> Void

    /// - Parameter trim: gives the memory back.
    @_spi(Service) public init(trim: @escaping @Sendable () -> Void = IdleMemory.trimAllocator) { self.trim = trim }

    /// Notes that a request has begun.
    @_spi(Service) public func begin() {
        state.withLock { state in
            state.running += 1
            (state.hasWorked, state.hasWorkedLately) = (true, true)
        }
    }

    /// Notes that a request has ended.
    @_spi(Service) public func end() { state.withLock { $0.running -= 1 } }

    /// Gives memory back if there was work since the last time, and none since the last call. It is called every some
    /// seconds.
    ///
    /// - Returns: whether it did.
    @_spi(Service) @discardableResult public func check() -> Bool {
        let isIdle = state.withLock { state in
            defer { state.hasWorkedLately = false }
            guard state.running == 0, state.hasWorked, !state.hasWorkedLately else { return false }
            state.hasWorked = false
            return true
        }
        if isIdle { trim() }
        return isIdle
    }

    /// `malloc_trim` of the GNU library, where it is there.
    @_spi(Service) public static func trimAllocator() {
        typealias Trim = @convention(c) (Int) -> CInt
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: Trim.self)(0)
    }

    /// Has the GNU library give large parts back as soon as they are freed, and keep few heaps of small ones: by itself
    /// it keeps parts of up to 32 MiB, in each of eight heaps a processor.
    static func limitAllocator() {
        typealias Set = @convention(c) (CInt, CInt) -> CInt
        guard let symbol = dlsym(nil, "mallopt") else { return }
        let set = unsafeBitCast(symbol, to: Set.self)
        // M_MMAP_THRESHOLD and M_ARENA_MAX in malloc.h.
        _ = set(-3, 1 << 20)
        _ = set(-8, CInt(clamping: max(2, availableProcessorCount)))
    }
}
#endif
