import CommandProcess
import Foundation

/// The progress of a long job: a bar with rate and remaining time on a terminal, a line every few seconds elsewhere.
struct ProgressBar {
    /// Nothing is shown of a job that takes less time.
    private let delay: Duration
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let start = ContinuousClock.now
    private var lastShown: ContinuousClock.Instant?

    init(delay: Duration = .zero) { self.delay = delay }

    mutating func show(_ done: Int, of total: Int) {
        let now = ContinuousClock.now
        if lastShown == nil, now - start < delay { return }
        if let lastShown, now - lastShown < (isTerminal ? .milliseconds(100) : .seconds(5)), done < total { return }
        lastShown = now
        draw(done, of: total, at: now)
    }

    private func draw(_ done: Int, of total: Int, at now: ContinuousClock.Instant) {
        let rate = Double(done) / max((now - start) / .seconds(1), 1e-6)
        let left = rate > 0 ? Double(max(0, total - done)) / rate : 0
        let figures = String(format: "%d of %d, %.0f images/s, %@ left", done, total, rate, Self.duration(left))
        guard isTerminal else {
            StandardError.print(figures)
            return
        }
        // The escape sequence erases what remains of a longer line.
        StandardError.writeAsIs("\r\(Self.bar(done, of: total)) \(figures)\u{1B}[K")
    }

    /// Thirty characters, full when all is done.
    private static func bar(_ done: Int, of total: Int) -> String {
        let width = 30
        let filled = done < total ? max(0, done) * width / total : width
        return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    }

    func finish() {
        if isTerminal, lastShown != nil { StandardError.writeAsIs("\n") }
    }

    private static func duration(_ seconds: Double) -> String {
        let whole = Int(seconds.rounded(.up))
        return whole < 60
            ? "\(whole) s"
            : whole < 3600 ? "\(whole / 60) min \(whole % 60) s" : "\(whole / 3600) h \(whole % 3600 / 60) min"
    }
}
