import Foundation

/// Prints as stored: little-endian 32-bit floats.
enum PrintBlob {
    static func data(_ vector: [Float]) -> Data {
        vector.map(\.bitPattern.littleEndian).withUnsafeBytes { Data($0) }
    }

    /// Nil if the dimension is wrong or a component is not finite.
    static func vector(_ data: Data, dimension: Int) -> [Float]? {
        guard data.count == dimension * 4 else { return nil }
        let vector = data.withUnsafeBytes { bytes in
            (0..<dimension).map {
                Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self)))
            }
        }
        return vector.allSatisfy(\.isFinite) ? vector : nil
    }
}
