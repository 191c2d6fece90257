import Foundation

/// Prints as stored: little-endian 32-bit floats.
enum PrintBlob {
    static func data(_ vector: [Float]) -> Data {
        var data = Data(capacity: vector.count * 4)
        for value in vector { withUnsafeBytes(of: value.bitPattern.littleEndian) { data.append(contentsOf: $0) } }
        return data
    }

    /// Nil where the length is wrong or a number is not finite.
    static func vector(_ data: Data, length: Int) -> [Float]? {
        guard data.count == length * 4 else { return nil }
        let vector = data.withUnsafeBytes { bytes in
            (0..<length).map { Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self))) }
        }
        return vector.allSatisfy(\.isFinite) ? vector : nil
    }
}
