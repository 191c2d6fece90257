extension FeaturePrintModel {
    /// Checks a print that comes from outside, as from a file or a request, before it is compared with this model's.
    ///
    /// - Throws: ``FeaturePrintError`` if another model made it, if it has another number of components, or if its
    ///   norm differs from 1 by more than rounding explains.
    /// - Complexity: O(dimension).
    public func check(_ print: FeaturePrint) throws(FeaturePrintError) {
        guard print.model == identity else { throw .differentModels(identity, print.model) }
        guard print.vector.count == dimension else {
            throw .wrongDimension(print.vector.count, expected: dimension)
        }
        // Distances are computed from products; of long vectors they overflow, too.
        let norm = Self.norm(of: print.vector)
        guard abs(norm - 1) <= Self.normTolerance else { throw .notNormalized(norm: norm) }
    }

    package static func norm(of vector: [Float]) -> Double {
        vector.reduce(0) { $0 + Double($1) * Double($1) }.squareRoot()
    }

    /// The rounding error of a norm that is computed from single precision, with a margin.
    package static let normTolerance = 1e-3
}
