/// A global image descriptor, or embedding: a unit vector that is close to those of similar images.
///
/// Distances lie in 0...2. Two images most likely show the same thing if their distance is below
/// ``FeaturePrintModel/matchThreshold``.
public struct FeaturePrint: Sendable, Hashable {
    /// The components; the sum of their squares is 1.
    public let vector: [Float]
    /// The model that made it. Only prints of one model can be compared.
    public let model: ModelIdentity

    /// A print from stored components.
    ///
    /// - Precondition: the components are finite.
    public init(vector: [Float], model: ModelIdentity) {
        precondition(vector.allSatisfy(\.isFinite), "a component of the print is not finite")
        self.vector = vector
        self.model = model
    }

    /// The Euclidean distance, 0...2 for unit vectors. O(dimension).
    ///
    /// - Throws: ``FeaturePrintError`` if the prints were made with different models or have different dimensions.
    public func distance(to other: FeaturePrint) throws(FeaturePrintError) -> Double {
        guard model == other.model else { throw .differentModels(model, other.model) }
        guard vector.count == other.vector.count else {
            throw .wrongDimension(other.vector.count, expected: vector.count)
        }
        var sum = 0.0
        for (a, b) in zip(vector, other.vector) {
            let difference = Double(a) - Double(b)
            sum += difference * difference
        }
        return sum.squareRoot()
    }
}
