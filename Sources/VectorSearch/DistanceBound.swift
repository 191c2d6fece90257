import CKernels

extension lk_distance_bound {
    /// What the distance kernel's result for a row is at least, out of the dot product of its codes with a
    /// query's.
    ///
    /// With the row x = s c + e and the query q = t b + f, and by Cauchy and Schwarz,
    ///
    ///     ‖q − x‖² = ‖q‖² + ‖x‖² − 2 q·x
    ///     q·x = t s b·c + q·e + f·(x − e) ≤ t s b·c + (‖q‖ + ‖f‖) ‖e‖ + ‖f‖ ‖x‖
    ///
    /// where ‖x‖ ≤ (‖x‖² + 1) / 2. What rounding can do to the kernel's sum of n squares is below
    /// 4 (n + 4) u (‖q‖² + ‖x‖²), u = 2⁻²⁴ (Higham, "Accuracy and Stability of Numerical Algorithms",
    /// section 3.1); to the dozen operations here, whose terms are no larger than 4 (‖q‖² + ‖x‖² + 1), below
    /// 64 u (‖q‖² + ‖x‖² + 1).
    init(_ query: QuantizedQuery) {
        let squaredNorm = Double(query.squaredNorm)
        let error = Double(query.error)
        let rounding = (4 * Double(query.codes.count + 4) + 64) * 0x1p-24
        let offset = query.codes.reduce(0) { $0 + Int32($1) } * Int32(QuantizedRows.zero)
        self.init(
            base: Float(squaredNorm * (1 - rounding) - rounding - error).nextDown,
            norm_weight: Float(1 - rounding - error).nextDown, dot_weight: 2 * query.scale, dot_offset: offset,
            error_weight: Float(2 * (squaredNorm.squareRoot() + error)).nextUp)
    }
}
