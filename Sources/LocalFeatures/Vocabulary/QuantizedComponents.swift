/// The first components of a descriptor as int8, for products with unsigned codes.
struct QuantizedComponents {
    private(set) var codes: [Int8]
    /// What one step of a code stands for.
    private(set) var unit: Float = 1
    /// What the zero point of the other side adds to a dot product.
    private(set) var offset: Int32 = 0

    init(count: Int) { codes = Array(repeating: 0, count: count) }

    mutating func set(_ components: Slice<UnsafeBufferPointer<Float>>, zero: Int) {
        var largest: Float = 1e-20
        for value in components { largest = max(largest, abs(value)) }
        unit = largest / 127
        var sum: Int32 = 0
        for (index, value) in components.enumerated() {
            let code = Int8((value / unit).rounded())
            codes[index] = code
            sum += Int32(code)
        }
        offset = sum * Int32(zero)
    }
}
