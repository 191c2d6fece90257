/// Whether an answer is read fast enough to be kept meanwhile.
///
/// A client that reads a little now and then would keep its answer and its connection for as long as it likes.
package struct AnswerPace: Sendable {
    /// How long a client may take for as many bytes as ``BodyPace`` asks for in that time.
    package let idleTime: Duration

    package init(idleTime: Duration) { self.idleTime = idleTime }

    /// - Parameters:
    ///   - before: the bytes that waited to be sent an idle time ago.
    ///   - left: those that wait now.
    package func allows(waiting before: Int, then left: Int) -> Bool {
        let seconds: Double = idleTime / .seconds(1)
        return left == 0 || Double(before - left) >= seconds * Double(BodyPace.slowestBytesPerSecond)
    }
}
