/// Two arrays walked through together, with extents of 1 repeated, in rows that are as long as possible.
struct BroadcastWalk: Sendable {
    /// The extents of the result.
    let extents: [Int]
    /// Elements per row, and each array's stride along it: 1, or 0 where an extent of 1 is repeated.
    let innerCount: Int
    let innerLeft: Int
    let innerRight: Int
    /// The axes before the row: extent, and how far both arrays go.
    private let outer: [(count: Int, left: Int, right: Int)]

    /// Nil if the shapes do not fit each other.
    init?(_ left: [Int], _ right: [Int]) {
        let rank = max(left.count, right.count)
        let a = Array(repeating: 1, count: rank - left.count) + left
        let b = Array(repeating: 1, count: rank - right.count) + right
        guard zip(a, b).allSatisfy({ $0 == $1 || $0 == 1 || $1 == 1 }) else { return nil }
        extents = zip(a, b).map { $0 == 1 ? $1 : $0 }
        var axes: [(count: Int, left: Int, right: Int)] = []
        var (leftStride, rightStride) = (1, 1)
        for axis in (0..<rank).reversed() {
            let steps = (left: a[axis] == 1 ? 0 : leftStride, right: b[axis] == 1 ? 0 : rightStride)
            leftStride *= a[axis]
            rightStride *= b[axis]
            guard extents[axis] > 1 else { continue }
            // An axis that goes on where the one after it ends is part of it.
            if let last = axes.last, steps.left == last.left * last.count, steps.right == last.right * last.count {
                axes[axes.count - 1].count *= extents[axis]
            } else {
                axes.append((extents[axis], steps.left, steps.right))
            }
        }
        let inner = axes.first ?? (count: 1, left: 1, right: 1)
        (innerCount, innerLeft, innerRight) = (inner.count, inner.left, inner.right)
        outer = Array(axes.dropFirst())
    }

    /// Calls `body` with where a row begins in both arrays and in the result.
    func forEachRow(_ body: (_ left: Int, _ right: Int, _ to: Int) -> Void) {
        var to = 0
        func walk(_ axis: Int, _ left: Int, _ right: Int) {
            guard axis >= 0 else {
                body(left, right, to)
                to += innerCount
                return
            }
            for index in 0..<outer[axis].count {
                walk(axis - 1, left + index * outer[axis].left, right + index * outer[axis].right)
            }
        }
        walk(outer.count - 1, 0, 0)
    }
}
