import Synchronization

/// The time that each stage of a job took, summed over images and threads.
public final class StageTimings: Sendable {
    /// The stages of indexing and searching, in their order.
    public enum Stage: String, Sendable, CaseIterable {
        /// Reading and decoding image files.
        case decode
        /// Making thumbnails.
        case thumbnail
        /// Resizing and rectifying crops to the network's input.
        case resize
        /// Forward passes.
        case network
        /// Extracting local features.
        case features
        /// Comparing prints, and votes of visual words.
        case search
        /// Geometric verification.
        case verify
    }

    private let totals = Mutex<[Stage: (time: Duration, count: Int)]>([:])

    /// No timings yet.
    public init() {}

    /// Runs `body` and adds its time, for `count` images, to `stage`.
    public func measure<Result, Failure: Error>(
        _ stage: Stage, count: Int = 1, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = ContinuousClock.now
        defer { add(ContinuousClock.now - start, to: stage, count: count) }
        return try body()
    }

    /// Adds a time, for `count` images, to a stage. May be called from any thread.
    public func add(_ time: Duration, to stage: Stage, count: Int = 1) {
        totals.withLock { totals in
            let old = totals[stage] ?? (.zero, 0)
            totals[stage] = (old.time + time, old.count + count)
        }
    }

    /// The stages that ran, in their order, with their total time and number of images.
    public var stages: [(stage: Stage, time: Duration, count: Int)] {
        totals.withLock { totals in
            Stage.allCases.compactMap { stage in totals[stage].map { (stage, $0.time, $0.count) } }
        }
    }
}

/// Runs `body`, measured if there are timings to add to.
package func measured<Result, Failure: Error>(
    _ timings: StageTimings?, _ stage: StageTimings.Stage, count: Int = 1, _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    guard let timings else { return try body() }
    return try timings.measure(stage, count: count, body)
}
