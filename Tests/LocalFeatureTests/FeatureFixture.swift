import Compute
import DefaultModel
import Foundation
import Imaging
import LocalFeatures
import TestSupport

/// The shipped model, and the image that most tests look for.
enum FeatureFixture {
    static let image = SampleImage.shapes(seed: 1)

    static func model() throws -> LocalFeatureModel { try .default() }

    static func extractor() throws -> LocalFeatureExtractor { try LocalFeatureExtractor(model()) }

    /// The file of the shipped model.
    static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Models/local-features.safetensors")

    static func gray(width: Int, height: Int) throws -> PixelBuffer {
        try PixelBuffer(
            [UInt8](repeating: 128, count: width * height * 3), width: width, height: height, format: .rgb8)
    }

    /// The image in the middle of a gray one.
    static func placed(
        degrees: Double, scale: Double, side: Int = 480
    ) throws -> (image: PixelBuffer, placement: Placement) {
        let center = SIMD2(repeating: Double(side) / 2)
        let placement = Placement(of: image, scale: scale, degrees: degrees, center: center)
        return (try gray(width: side, height: side).drawing(image, at: placement), placement)
    }
}

/// Local features as the documentation says that they are stored.
struct StoredFeatures {
    var version: UInt8 = 2
    var width: Int
    var height: Int
    var keypoints: [Keypoint]
    var words: [UInt16]
    var codes: [DescriptorCode]
    var dense: [UInt64]

    init(_ features: LocalFeatures) {
        (width, height) = (features.width, features.height)
        (keypoints, words, codes) = (features.keypoints, features.words, features.codes)
        dense = features.dense
    }

    var data: Data {
        var data = Data([version, UInt8(dense.count)])
        func append(_ value: UInt64, bytes: UInt64) {
            for byte in 0..<bytes { data.append(UInt8(value >> (8 * byte) & 255)) }
        }
        func append(_ value: Int) { append(UInt64(value), bytes: 2) }
        for value in [width, height, keypoints.count] { append(value) }
        for word in words { append(Int(word)) }
        for point in keypoints {
            let x = UInt64((point.x / Float(width) * 4_095).rounded())
            append(x + 4_096 * UInt64((point.y / Float(height) * 4_095).rounded()), bytes: 3)
            let turn = point.angle / (2 * .pi)
            data.append(UInt8(min(max((log2(point.scale) * 16).rounded(), 0), 255)))
            data.append(UInt8(Int(((turn - turn.rounded(.down)) * 256).rounded()) % 256))
        }
        for code in codes {
            append(code.signature, bytes: 8)
            append(UInt64(code.far), bytes: 4)
        }
        for code in dense { append(code, bytes: 8) }
        return data
    }
}

/// The difference of two angles, 0...π.
func angleBetween(_ a: Float, _ b: Float) -> Float {
    let turn = (a - b) / (2 * .pi)
    return abs(turn - turn.rounded()) * 2 * .pi
}
