public import Foundation

/// The local features of a catalog image: keypoints with quantized descriptors and visual words.
///
/// Kept per image in 19 bytes per feature, and 8 per dense descriptor. See ``init(encoded:)`` for the layout.
public struct LocalFeatures: Sendable, Equatable {
    /// The size of the image in which the keypoints were detected, in pixels.
    public let width: Int
    /// The height of that image, in pixels.
    public let height: Int
    /// The keypoints, strongest first.
    public let keypoints: [Keypoint]
    /// The nearest visual word of each descriptor.
    public let words: [UInt16]
    /// The descriptors, from the center of their words.
    public let codes: [DescriptorCode]
    /// The dense descriptors of the most reliable cells of the image, 64 bits each.
    public let dense: [UInt64]

    /// The number of features.
    public var count: Int { keypoints.count }

    static let bytesPerFeature = 7 + DescriptorCode.byteCount
    private static let denseBytes = MemoryLayout<UInt64>.size
    private static let headerByteCount = 8
    private static let version: UInt8 = 2

    init(
        width: Int, height: Int, keypoints: [Keypoint], words: [UInt16], codes: [DescriptorCode], dense: [UInt64]
    ) {
        precondition(words.count == keypoints.count && codes.count == keypoints.count)
        (self.width, self.height, self.keypoints, self.words, self.codes) = (width, height, keypoints, words, codes)
        self.dense = dense
    }
}

extension LocalFeatures {
    /// Positions are stored as 4,095ths of a side, scales as 16ths of an octave, angles as 256ths of a turn.
    private static let positionSteps: Float = 4_095
    private static let scaleSteps: Float = 16
    private static let angleSteps: Float = 256

    /// The bytes to store: see ``init(encoded:)``.
    public var encoded: Data {
        var data = Data(capacity: Self.headerByteCount + count * Self.bytesPerFeature + dense.count * Self.denseBytes)
        func append(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.littleEndian) { data.append(contentsOf: $0) }
        }
        func steps(_ position: Float, of side: Int) -> UInt16 {
            UInt16(min(max(position / Float(side) * Self.positionSteps, 0), Self.positionSteps).rounded())
        }
        data.append(contentsOf: [Self.version, UInt8(dense.count)])
        append(UInt16(width))
        append(UInt16(height))
        append(UInt16(count))
        for word in words { append(word) }
        for point in keypoints {
            let (x, y) = (steps(point.x, of: width), steps(point.y, of: height))
            append(x | y << 12)
            data.append(UInt8(y >> 4))
            data.append(UInt8(min(max((log2(point.scale) * Self.scaleSteps).rounded(), 0), 255)))
            data.append(UInt8(truncatingIfNeeded: Int((point.angle / (2 * .pi) * Self.angleSteps).rounded())))
        }
        for code in codes { data.append(contentsOf: code.bytes) }
        for code in dense { append(code) }
        return data
    }

    /// Reads stored features; nil for bytes that are not of this form.
    ///
    /// Little-endian: a version byte, 2; the number of dense descriptors, a byte; width, height and count, 16 bits
    /// each; a 16-bit word per feature; per feature x and y (12 bits), scale and angle (8 bits); the signature (64
    /// bits) and the far components (32 bits) of each feature; then 64 bits per dense descriptor.
    public init?(encoded data: Data) {
        let parsed: LocalFeatures? = data.withUnsafeBytes { bytes in
            func load<Number: FixedWidthInteger>(_ offset: Int) -> Number {
                Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
            }
            func number(_ offset: Int) -> Int { Int(load(offset) as UInt16) }
            guard bytes.count >= Self.headerByteCount, bytes[0] == Self.version else { return nil }
            let (width, height, count) = (number(2), number(4), number(6))
            guard width > 0, height > 0,
                bytes.count == Self.headerByteCount + count * Self.bytesPerFeature
                    + Int(bytes[1]) * Self.denseBytes
            else { return nil }
            let places = Self.headerByteCount + 2 * count
            let codes = places + 5 * count
            let dense = codes + count * DescriptorCode.byteCount
            return LocalFeatures(
                width: width, height: height,
                keypoints: (0..<count).map { index in
                    let at = places + 5 * index
                    return Keypoint(
                        x: Float(number(at) & 4_095) / Self.positionSteps * Float(width),
                        y: Float(number(at + 1) >> 4) / Self.positionSteps * Float(height),
                        scale: exp2(Float(bytes[at + 3]) / Self.scaleSteps),
                        angle: Float(bytes[at + 4]) / Self.angleSteps * 2 * .pi)
                },
                words: (0..<count).map { UInt16(number(Self.headerByteCount + 2 * $0)) },
                codes: (0..<count).map { index in
                    let at = codes + DescriptorCode.byteCount * index
                    return DescriptorCode(signature: load(at), far: load(at + 8))
                },
                dense: (0..<Int(bytes[1])).map { load(dense + Self.denseBytes * $0) })
        }
        guard let parsed else { return nil }
        self = parsed
    }

    /// Reads stored features of a vocabulary; nil also if one of them has a word beyond it.
    package init?(encoded data: Data, wordCount: Int) {
        self.init(encoded: data)
        guard words.allSatisfy({ $0 < wordCount }) else { return nil }
    }
}

/// A point of an image that can be found again from another distance, angle or direction of light, with its size and
/// orientation.
///
/// D. Lowe, "Distinctive Image Features from Scale-Invariant Keypoints", IJCV 2004.
public struct Keypoint: Sendable, Hashable {
    /// The distance from the left, in pixels of the image that the keypoint was detected in; the center of the top left
    /// pixel is (0, 0).
    public var x: Float
    /// The distance from the top, in pixels like ``x``.
    public var y: Float
    /// The standard deviation of the Gaussian at which the point stands out, in pixels.
    public var scale: Float
    /// The direction of the dominant gradient in radians, 0..<2π, clockwise from the x axis.
    public var angle: Float

    /// A keypoint at a position, with its scale and direction.
    public init(x: Float, y: Float, scale: Float, angle: Float) {
        (self.x, self.y, self.scale, self.angle) = (x, y, scale, angle)
    }
}
