/// What an image looks like to a network: a vector of length one.
///
/// The closer two prints, the more alike the images. Distances lie in 0...2; a model's
/// ``FeaturePrintModel/recommendedMaxDistance`` tells up to where two images show the same thing.
public struct FeaturePrint: Sendable, Hashable {
    /// The components; the sum of their squares is 1.
    public let vector: [Float]
    public let model: ModelIdentity

    /// A print from stored components.
    ///
    /// - Precondition: the components are finite.
    public init(vector: [Float], model: ModelIdentity) {
        precondition(vector.allSatisfy(\.isFinite), "a print's components are finite")
        self.vector = vector
        self.model = model
    }

    /// The Euclidean distance, 0...2 for unit vectors. O(length).
    ///
    /// - Throws: ``FeaturePrintError`` when the prints come from different models.
    public func distance(to other: FeaturePrint) throws(FeaturePrintError) -> Double {
        guard model == other.model, vector.count == other.vector.count else {
            throw .differentModels(model, other.model)
        }
        var sum = 0.0
        for (a, b) in zip(vector, other.vector) {
            let difference = Double(a) - Double(b)
            sum += difference * difference
        }
        return sum.squareRoot()
    }
}
