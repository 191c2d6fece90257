/// When pixels are summed in whole cells before they are filtered.
///
/// A triangle of support `s` weighs the pixels within `s` of a centre. Where `s` is above four, its
/// weights hardly change over `⌊s / 2⌋` neighbours, so these are summed first and weighed together:
/// between two and three cells are left for each output pixel and the filter costs next to nothing.
/// The sum is exact, in integers. What it does to the result: it widens the triangle a little.
public enum BoxReduction: Sendable {
    /// ⌊scale / 2⌋ pixels a cell where the scale is above four, otherwise none.
    case automatic
    /// The triangle filter alone.
    case never

    /// Sixteen bits hold the sum of 257 rows of bytes.
    private static let largestFactor = 256

    func factor(source: Int, target: Int) -> Int {
        switch self {
        case .never: 1
        case .automatic: source > 4 * target ? min(source / (2 * target), Self.largestFactor) : 1
        }
    }
}
