#if SystemStores
/// Days since the first of January 1970 in the Gregorian calendar.
enum DayNumber {
    /// - Parameters:
    ///   - month: 1...12.
    ///   - day: 1...31.
    static func of(year: Int, month: Int, day: Int) -> Int {
        // Years that begin in March, so that the leap day is their last; 400 of them have 146,097 days.
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
#endif
