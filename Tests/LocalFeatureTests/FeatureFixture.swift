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
    var version: UInt8 = 1
    var width: Int
    var height: Int
    var keypoints: [Keypoint]
    var words: [UInt16]
    /// 32 bytes each.
    var codes: [UInt8]
    /// 24 int8 components each.
    var dense: [Int8]

    init(_ features: LocalFeatures) {
        (width, height) = (features.width, features.height)
        (keypoints, words, codes) = (features.keypoints, features.words, features.codes)
        dense = features.dense.components
    }

    var data: Data {
        var data = Data([version, UInt8(dense.count / 24)])
        func append(_ value: Int) { data.append(contentsOf: [UInt8(value & 255), UInt8(value >> 8)]) }
        for value in [width, height, keypoints.count] { append(value) }
        for word in words { append(Int(word)) }
        for point in keypoints {
            append(Int((point.x / Float(width) * 65_535).rounded()))
            append(Int((point.y / Float(height) * 65_535).rounded()))
            let turn = point.angle / (2 * .pi)
            data.append(UInt8(min(max((log2(point.scale) * 16).rounded(), 0), 255)))
            data.append(UInt8(Int(((turn - turn.rounded(.down)) * 256).rounded()) % 256))
        }
        data.append(contentsOf: codes)
        data.append(contentsOf: dense.map { UInt8(bitPattern: $0) })
        return data
    }
}

/// The difference of two angles, 0...π.
func angleBetween(_ a: Float, _ b: Float) -> Float {
    let turn = (a - b) / (2 * .pi)
    return abs(turn - turn.rounded()) * 2 * .pi
}
