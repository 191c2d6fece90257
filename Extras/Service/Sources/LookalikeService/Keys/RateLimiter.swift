#if Service
import Foundation
import HTTPTypes
import Synchronization

/// Counts the requests of each key, or without keys of each address: so many may come a second, and those of ten
/// seconds at once.
final class RateLimiter: Sendable {
    private struct Bucket {
        /// Requests that may come now.
        var left: Double
        var time: ContinuousClock.Instant
    }

    private let buckets = Mutex<[WorkClient: Bucket]>([:])

    private static let burst = 10.0
    /// Beyond as many, those that are full are forgotten.
    private static let mostBuckets = 10_000

    /// - Throws: ``Problem`` if the client has sent too many requests.
    func admit(_ client: WorkClient, rate: Double) throws(Problem) { try take(1, client, rate: rate) }

    /// Refuses a request that ``admit(_:rate:)`` would refuse now, and counts no other one.
    func check(_ client: WorkClient, rate: Double) throws(Problem) { try take(0, client, rate: rate) }

    private func take(_ count: Double, _ client: WorkClient, rate: Double) throws(Problem) {
        // A key has the same rate from all addresses.
        let client = client.key == nil ? client : WorkClient(key: client.key, address: "")
        let most = max(1, rate * Self.burst)
        let now = ContinuousClock.now
        let wait: Double? = buckets.withLock { buckets in
            if buckets.count >= Self.mostBuckets {
                buckets = buckets.filter { $0.value.left + (now - $0.value.time) / .seconds(1) * rate < most }
            }
            var bucket = buckets[client] ?? Bucket(left: most, time: now)
            bucket.left = min(most, bucket.left + (now - bucket.time) / .seconds(1) * rate)
            bucket.time = now
            defer { buckets[client] = bucket }
            guard bucket.left >= 1 else { return (1 - bucket.left) / rate }
            bucket.left -= count
            return nil
        }
        guard let wait else { return }
        let seconds = Int(max(1, wait.rounded(.up)))
        throw Problem(
            .rateLimited, "These are more than \(rate.formatted()) requests a second; try again in \(seconds) s.",
            headers: [.retryAfter: "\(seconds)"])
    }
}
#endif
