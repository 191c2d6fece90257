#if ONNXImport
/// A tensor that is known when a network is imported: weights, shapes and indices.
struct ConstantTensor {
    enum Values {
        case floats([Float])
        /// Integers, and 0 and 1 for truth values.
        case integers([Int])
    }

    let extents: [Int]
    let values: Values

    init(extents: [Int], _ values: Values) {
        self.extents = extents
        self.values = values
    }

    init(floats: [Float], extents: [Int]? = nil) {
        self.init(extents: extents ?? [floats.count], .floats(floats))
    }

    init(integers: [Int], extents: [Int]? = nil) {
        self.init(extents: extents ?? [integers.count], .integers(integers))
    }

    var count: Int {
        switch values {
        case .floats(let floats): floats.count
        case .integers(let integers): integers.count
        }
    }

    var floats: [Float] {
        switch values {
        case .floats(let floats): floats
        case .integers(let integers): integers.map { Float($0) }
        }
    }

    /// Nil for floats.
    var integers: [Int]? {
        if case .integers(let integers) = values { integers } else { nil }
    }

    /// The value of a tensor of one element.
    var scalar: Float? { count == 1 ? floats[0] : nil }

    /// The elements at these places.
    func picking(_ places: [Int], extents: [Int]) -> ConstantTensor {
        switch values {
        case .floats(let floats): ConstantTensor(extents: extents, .floats(places.map { floats[$0] }))
        case .integers(let integers): ConstantTensor(extents: extents, .integers(places.map { integers[$0] }))
        }
    }

    func reshaped(_ extents: [Int]) -> ConstantTensor { ConstantTensor(extents: extents, values) }
}
#endif
