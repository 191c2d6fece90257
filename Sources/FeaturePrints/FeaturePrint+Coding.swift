import Foundation

/// Coded as the model's identity and the components: little-endian 32-bit floats, which JSON has in Base64.
extension FeaturePrint: Codable {
    private enum CodingKeys: String, CodingKey { case model, vector }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let bytes = try values.decode(Data.self, forKey: .vector)
        let size = MemoryLayout<UInt32>.size
        let vector = bytes.withUnsafeBytes { bytes in
            stride(from: 0, through: bytes.count - size, by: size).map { offset in
                Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
            }
        }
        guard !vector.isEmpty, bytes.count % size == 0, vector.allSatisfy(\.isFinite) else {
            throw DecodingError.dataCorruptedError(
                forKey: .vector, in: values,
                debugDescription: "\(bytes.count) bytes are not the finite 32-bit floats of a print")
        }
        self.init(vector: vector, model: try values.decode(ModelIdentity.self, forKey: .model))
    }

    public func encode(to encoder: any Encoder) throws {
        var bytes = Data(capacity: vector.count * MemoryLayout<UInt32>.size)
        for value in vector { withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) } }
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(model, forKey: .model)
        try values.encode(bytes, forKey: .vector)
    }
}
