/// Whether a body comes fast enough to be kept in memory meanwhile.
///
/// A client that sends a byte now and then is never idle, and would keep its part of ``ByteBudget`` for as long as it
/// likes.
struct BodyPace {
    static let slowestBytesPerSecond = 64 << 10

    /// What a client may wait in all, besides the time for its bytes at the slowest rate.
    private let idleTime: Duration
    private var waited = Duration.zero
    private var received = 0

    init(idleTime: Duration) { self.idleTime = idleTime }

    /// - Parameter wait: how long the bytes were waited for.
    /// - Throws: ``Problem`` if the body is too slow.
    mutating func add(_ count: Int, after wait: Duration) throws(Problem) {
        (received, waited) = (received + count, waited + wait)
        guard waited <= idleTime + .seconds(Double(received) / Double(Self.slowestBytesPerSecond)) else {
            throw Problem(.slowBody, "The body comes at less than \(Self.slowestBytesPerSecond >> 10) KiB a second.")
        }
    }
}
