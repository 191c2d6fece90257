import CKernels

extension lk_distance_bound {
    /// Lower bound on the squared distance that the float32 kernel computes for a row, from an int8 dot product.
    ///
    /// With the row x = s c + e and the query q = t b + f, and by Cauchy and Schwarz,
    ///
    ///     ‖q − x‖² = ‖q‖² + ‖x‖² − 2 q·x
    ///     q·x = t s b·c + q·e + f·(x − e) ≤ t s b·c + (‖q‖ + ‖f‖) ‖e‖ + ‖f‖ ‖x‖
    ///
    /// where ‖x‖ ≤ (‖x‖² + 1) / 2. The rounding error of the kernel's sum of n squares is below
    /// 4 (n + 4) u (‖q‖² + ‖x‖²), u = 2⁻²⁴ (Higham, "Accuracy and Stability of Numerical Algorithms",
    /// section 3.1); that of the dozen operations here, whose terms are at most 4 (‖q‖² + ‖x‖² + 1), below
    /// 64 u (‖q‖² + ‖x‖² + 1).
    init(_ query: QuantizedQuery) {
        let squaredNorm = Double(query.squaredNorm)
        let residualNorm = Double(query.residualNorm)
        let rounding = (4 * Double(query.codes.count + 4) + 64) * 0x1p-24
        let offset = query.codes.reduce(0) { $0 + Int32($1) } * Int32(QuantizedRows.zero)
        self.init(
            base: Float(squaredNorm * (1 - rounding) - rounding - residualNorm).nextDown,
            norm_weight: Float(1 - rounding - residualNorm).nextDown, dot_weight: 2 * query.scale, dot_offset: offset,
            residual_weight: Float(2 * (squaredNorm.squareRoot() + residualNorm)).nextUp)
    }
}
