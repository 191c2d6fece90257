/// The time that a text names: an instant, or a whole day, month or year (ISO 8601).
///
/// `1969`, `1969-07`, `1969-07-20`, `1969-07-20T20:17`, `1969-07-20 20:17:40.5`; after a day or a time, a zone such as
/// `Z`, `UTC`, `+02:00`, `+0200` or `+02`. Without a zone, it is in universal time.
public struct DateSpan: Sendable, Hashable {
    /// Its first instant, in seconds since 1970.
    public let start: Double
    /// The first instant after a day, month or year; ``start`` for an instant.
    public let end: Double

    /// The time that a text names; nil for a text that is no date, and for a day that no calendar has.
    public init?(_ text: String) {
        guard (4...40).contains(text.utf8.count), let first = text.utf8.first, (0x30...0x39).contains(first) else {
            return nil
        }
        var rest = ArraySlice(text.utf8)
        func skip(_ bytes: String) -> Bool {
            guard let byte = rest.first, bytes.utf8.contains(byte) else { return false }
            rest.removeFirst()
            return true
        }
        func number(_ count: Int, in range: ClosedRange<Int>) -> Int? {
            let digits = rest.prefix(count)
            guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            rest.removeFirst(count)
            let value = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
            return range.contains(value) ? value : nil
        }
        /// Seconds east of Greenwich.
        func zone() -> Int? {
            if rest.isEmpty { return 0 }
            _ = skip(" ")
            if ["Z", "z", "UTC", "GMT"].contains(where: { rest.elementsEqual($0.utf8) }) {
                rest = []
                return 0
            }
            let isWest = rest.first == UInt8(ascii: "-")
            guard skip("+-"), let hours = number(2, in: 0...23) else { return nil }
            _ = skip(":")
            guard let minutes = rest.isEmpty ? 0 : number(2, in: 0...59) else { return nil }
            return (isWest ? -1 : 1) * (hours * 3600 + minutes * 60)
        }

        guard let year = number(4, in: 0...9999) else { return nil }
        var (month, day) = (1, 1)
        var next = Self.days(year + 1, 1, 1)
        var seconds = 0.0
        var hasTime = false
        var offset = 0
        if !rest.isEmpty {
            guard skip("-"), let value = number(2, in: 1...12) else { return nil }
            month = value
            next = month == 12 ? next : Self.days(year, month + 1, 1)
        }
        if !rest.isEmpty {
            let most = next - Self.days(year, month, 1)
            guard skip("-"), let value = number(2, in: 1...most) else { return nil }
            day = value
            next = Self.days(year, month, day) + 1
            if rest.dropFirst().first.map({ (0x30...0x39).contains($0) }) == true, skip("Tt ") {
                guard let hours = number(2, in: 0...24) else { return nil }
                hasTime = true
                var time = hours * 3600
                if skip(":") {
                    guard let minutes = number(2, in: 0...59) else { return nil }
                    time += minutes * 60
                    if skip(":") {
                        guard let value = number(2, in: 0...60) else { return nil }
                        time += value
                        if skip(".,") {
                            let digits = rest.prefix { (0x30...0x39).contains($0) }
                            guard let fraction = Double("0." + String(decoding: digits, as: UTF8.self)) else {
                                return nil
                            }
                            rest.removeFirst(digits.count)
                            seconds = fraction
                        }
                    }
                }
                guard Double(time) + seconds <= 86_401, hours < 24 || Double(time) + seconds == 86_400 else {
                    return nil
                }
                seconds += Double(time)
            }
            guard let value = zone(), rest.isEmpty else { return nil }
            offset = value
        }
        start = Double(Self.days(year, month, day) * 86_400 - offset) + seconds
        end = hasTime ? start : Double(next * 86_400 - offset)
    }

    /// Days since 1970-01-01 in the Gregorian calendar (H. Hinnant, “chrono-compatible low-level date algorithms”).
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
