#if SystemStores
import Foundation

/// The times of a Health export: `2026-03-01 07:05:09 +0100`.
enum HealthDate {
    /// - Returns: nil for other text and for no time of the calendar.
    static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Date? {
        guard text.count == 25, text[4] == dash, text[7] == dash, text[10] == space, text[13] == colon,
            text[16] == colon, text[19] == space, text[20] == dash || text[20] == plus
        else { return nil }
        guard let year = number(text, 0, 4), let month = number(text, 5, 2), let day = number(text, 8, 2),
            let hour = number(text, 11, 2), let minute = number(text, 14, 2), let second = number(text, 17, 2),
            let zoneHours = number(text, 21, 2), let zoneMinutes = number(text, 23, 2)
        else { return nil }
        guard year > 0, (1...12).contains(month), (1...daysOf(month, year)).contains(day), hour < 24, minute < 60,
            second <= 60, zoneHours <= 14, zoneMinutes < 60
        else { return nil }
        let zone = (zoneHours * 3600 + zoneMinutes * 60) * (text[20] == dash ? -1 : 1)
        let seconds = hour * 3600 + minute * 60 + second - zone
        return Date(
            timeIntervalSince1970: Double(DayNumber.of(year: year, month: month, day: day) * 86_400 + seconds))
    }

    private static let (dash, plus) = (UInt8(ascii: "-"), UInt8(ascii: "+"))
    private static let (space, colon) = (UInt8(ascii: " "), UInt8(ascii: ":"))

    private static func daysOf(_ month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && year % 100 != 0 || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func number(_ text: UnsafeBufferPointer<UInt8>, _ start: Int, _ count: Int) -> Int? {
        var number = 0
        for index in start..<(start + count) {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[index]) else { return nil }
            number = number * 10 + Int(text[index] - UInt8(ascii: "0"))
        }
        return number
    }
}
#endif
