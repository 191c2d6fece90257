import Foundation
import LocalFeatures
import Lookalike

/// Interleaved RGB bytes of a file, several images of one size behind each other.
private func rgbImages(_ file: URL, width: Int, height: Int) throws -> [PixelBuffer] {
    let bytes = [UInt8](try Data(contentsOf: file))
    let size = width * height * 3
    return try (0..<(bytes.count / size)).map {
        try PixelBuffer(Array(bytes[($0 * size)..<(($0 + 1) * size)]), width: width, height: height, format: .rgb8)
    }
}

/// The first RGB image of the file “pixels”.
func photograph(_ description: StageDescription) throws -> PixelBuffer {
    try rgbImages(
        description.file("pixels"), width: description.number("width"), height: description.number("height"))[0]
}

/// A photograph to keypoints and descriptors.
final class FeatureStage: Stage {
    private let image: PixelBuffer
    private let extractor: LocalFeatureExtractor
    private(set) var result: [Float] = []

    init(_ description: StageDescription) throws {
        image = try photograph(description)
        extractor = LocalFeatureExtractor(try .default())
    }

    func run() -> Double {
        let (time, features) = milliseconds { extractor.queryFeatures(of: image) }
        result = [Float(features.count)]
        return time
    }
}

/// Matches the features of a photograph with those of several images and fits homographies.
final class VerificationStage: Stage {
    private let query: QueryFeatures
    private let model: LocalFeatureModel
    private let candidates: [LocalFeatures]
    private(set) var result: [Float] = []

    init(_ description: StageDescription) throws {
        model = try .default()
        let extractor = LocalFeatureExtractor(model)
        query = extractor.queryFeatures(of: try photograph(description))
        let side = try description.number("side")
        candidates = try rgbImages(description.file("images"), width: side, height: side)
            .map { extractor.features(of: $0) }
    }

    func run() -> Double {
        let (time, outlines) = milliseconds {
            let prepared = LocalFeatureQuery(query, model: model)
            return candidates.map { prepared.verify($0) }
        }
        let corners = outlines[0]?.outline.corners ?? []
        result = corners.flatMap { [Float($0.x), Float($0.y)] } + [Float(outlines.count { $0 != nil })]
        return time
    }
}
