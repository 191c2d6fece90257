/// Rows of floats in memory, one after the other, with their squared norms.
///
/// The matrix does not own its memory: it keeps `owner`, which does, alive. Nobody may write to it.
public struct PrintMatrix: @unchecked Sendable {
    public let rowCount: Int
    public let dimension: Int
    let rows: UnsafePointer<Float>
    /// ‖x‖² of each row.
    let squaredNorms: UnsafePointer<Float>
    private let owner: AnyObject & Sendable

    /// Wraps memory without a copy.
    ///
    /// - Precondition: `rows` has `rowCount * dimension` floats and `squaredNorms` has `rowCount`.
    public init(
        rows: UnsafeBufferPointer<Float>, squaredNorms: UnsafeBufferPointer<Float>, dimension: Int,
        owner: any AnyObject & Sendable
    ) {
        precondition(dimension > 0, "rows have at least one component")
        precondition(rows.count == squaredNorms.count * dimension, "every row has a norm")
        self.rowCount = squaredNorms.count
        self.dimension = dimension
        self.owner = owner
        // An empty buffer may have no address; nothing is read from this one then.
        let nowhere = UnsafePointer<Float>(bitPattern: MemoryLayout<Float>.alignment)
        guard let rows = rows.baseAddress ?? nowhere, let norms = squaredNorms.baseAddress ?? nowhere else {
            preconditionFailure("an address that is not zero is a pointer")
        }
        self.rows = rows
        self.squaredNorms = norms
    }

    /// Copies rows.
    ///
    /// - Precondition: the count of `values` is a multiple of `dimension`.
    public init(_ values: [Float], dimension: Int) {
        precondition(dimension > 0 && values.count % dimension == 0, "the values make whole rows")
        let memory = OwnedRows(values, dimension: dimension)
        self.init(rows: memory.rows, squaredNorms: memory.squaredNorms, dimension: dimension, owner: memory)
    }

    public func row(_ index: Int) -> UnsafeBufferPointer<Float> {
        precondition((0..<rowCount).contains(index), "row \(index) of \(rowCount)")
        return UnsafeBufferPointer(start: rows + index * dimension, count: dimension)
    }

    /// The squared norm that belongs to a row: summed in double precision.
    public static func squaredNorm(_ row: UnsafeBufferPointer<Float>) -> Float {
        Float(row.reduce(0.0) { $0 + Double($1) * Double($1) })
    }
}

private final class OwnedRows: @unchecked Sendable {
    let rows: UnsafeBufferPointer<Float>
    let squaredNorms: UnsafeBufferPointer<Float>

    init(_ values: [Float], dimension: Int) {
        let count = values.count / dimension
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(1, values.count) * MemoryLayout<Float>.stride, alignment: 64)
        let copy = memory.bindMemory(to: Float.self)
        _ = copy.initialize(from: values)
        let norms = UnsafeMutableBufferPointer<Float>.allocate(capacity: count)
        rows = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(copy)[..<values.count])
        for index in 0..<count {
            let row = UnsafeBufferPointer(rebasing: rows[(index * dimension)..<((index + 1) * dimension)])
            norms.initializeElement(at: index, to: PrintMatrix.squaredNorm(row))
        }
        squaredNorms = UnsafeBufferPointer(norms)
    }

    deinit {
        UnsafeMutableRawPointer(mutating: rows.baseAddress)?.deallocate()
        squaredNorms.deallocate()
    }
}
