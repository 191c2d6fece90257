/// The solution of linear equations, by Gaussian elimination with partial pivoting.
///
/// - Parameters:
///   - matrix: the coefficients, row by row.
///   - right: the right sides, as many as there are unknowns.
/// - Returns: nil if the equations do not determine a solution.
/// - Complexity: O(unknowns³).
package func solution(of matrix: [Double], _ right: [Double]) -> [Double]? {
    var (a, b) = (matrix, right)
    let n = right.count
    for column in 0..<n {
        var pivot = column
        for row in column + 1..<n where abs(a[row * n + column]) > abs(a[pivot * n + column]) { pivot = row }
        guard abs(a[pivot * n + column]) > 1e-12 else { return nil }
        if pivot != column {
            for k in 0..<n { a.swapAt(column * n + k, pivot * n + k) }
            b.swapAt(column, pivot)
        }
        for row in column + 1..<n {
            let factor = a[row * n + column] / a[column * n + column]
            guard factor != 0 else { continue }
            for k in column..<n { a[row * n + k] -= factor * a[column * n + k] }
            b[row] -= factor * b[column]
        }
    }
    for row in stride(from: n - 1, through: 0, by: -1) {
        var sum = b[row]
        for k in row + 1..<n { sum -= a[row * n + k] * b[k] }
        b[row] = sum / a[row * n + row]
    }
    return b
}
