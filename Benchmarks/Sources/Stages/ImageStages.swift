import Foundation
import Lookalike

/// The side of the default network's input.
let inputSide = 192

/// The factor and the summand per channel, from the network's mean and standard deviation.
func normalizedPlanes(_ width: Int) -> FloatImageLayout {
    FloatImageLayout(
        rowStride: width * 3, pixelStride: 3, multiply: (1 / 0.229, 1 / 0.224, 1 / 0.225),
        add: (-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225))
}

/// A wrapped file of BGRA pixels, opaque.
func screenPixels(_ description: StageDescription) throws -> PixelBuffer {
    let memory = try FileBytes(try description.file("pixels"))
    return try PixelBuffer(
        wrapping: UnsafeRawBufferPointer(memory.bytes), width: try description.number("width"),
        height: try description.number("height"), format: .bgra8, alpha: .ignored,
        release: { withExtendedLifetime(memory) {} })
}

/// A buffer of pixels to the network's input: normalized floats.
final class ResizeStage: Stage {
    private let image: PixelBuffer
    private let resizer = Resizer(width: inputSide, height: inputSide)
    private(set) var result = [Float](repeating: 0, count: inputSide * inputSide * 3)

    init(_ description: StageDescription) throws { image = try screenPixels(description) }

    func run() -> Double {
        milliseconds {
            result.withUnsafeMutableBufferPointer {
                resizer.resize(image, into: $0, layout: normalizedPlanes(inputSide))
            }
        }.0
    }
}

/// A JPEG file to the network's input.
final class DecodeStage: Stage {
    private let file: URL
    private let resizer = Resizer(width: inputSide, height: inputSide)
    private let options = DecodingOptions(neededSize: (inputSide, inputSide))
    private(set) var result = [Float](repeating: 0, count: inputSide * inputSide * 3)

    init(_ description: StageDescription) throws { file = try description.file("image") }

    func run() throws -> Double {
        try milliseconds {
            let image = try PixelBuffer(contentsOf: file, options: options)
            result.withUnsafeMutableBufferPointer {
                resizer.resize(image, into: $0, layout: normalizedPlanes(inputSide))
            }
        }.0
    }
}

/// Images of the network's input size to prints; the default network, or that of the file “model”.
final class NetworkStage: Stage {
    private let images: [PixelBuffer]
    private let threads: Int
    private let model: FeaturePrintModel
    private(set) var result: [Float] = []

    init(_ description: StageDescription) throws {
        threads = description.threads
        let precision = description.options["precision"].flatMap { FeaturePrintModel.Precision(rawValue: $0) }
        let file = try description.files["model"].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        model = try FeaturePrintModel(
            file ?? FeaturePrintModel.default().fileData, named: description.files["model"] ?? "default",
            precision: precision)
        let bytes = try Data(contentsOf: try description.file("images"))
        let (width, height) = model.inputSize
        let size = width * height * 3
        images = try (0..<(try description.number("batch"))).map { index in
            try PixelBuffer(
                [UInt8](bytes[(index * size)..<((index + 1) * size)]), width: width, height: height, format: .rgb8)
        }
    }

    func run() throws -> Double {
        let (time, prints) = try milliseconds { try model.featurePrints(for: images, threads: threads) }
        result = prints.flatMap(\.vector)
        return time
    }
}
