#if ONNXImport
public import Foundation
public import Lookalike

/// A match threshold without labeled photographs: each image is drawn as photographs may show it, and searched for
/// among all images.
///
/// A view is turned and tilted a little, cropped or with a plain ground around, brighter or darker, softer, and noisy.
/// Real photographs vary more, so what real ones are accepted by this threshold has to be measured.
public struct DrawnThreshold: Sendable {
    private let fit: ConfidenceFit
    /// The share of views that are nearest to their image and accepted.
    public let recall: Double
    /// The share of views that are accepted as another image, while theirs is left out.
    public let falseAcceptRate: Double

    /// Fewer images say little of how near others come.
    public static let leastImages = 16
    private static let viewsPerImage = 4
    /// Nearer prints are those of copies.
    private static let copyDistance = 0.05

    /// The match threshold of a query.
    public var matchThreshold: Double { fit.matchThreshold }

    /// Draws and embeds four views of each image.
    ///
    /// - Returns: nil for fewer than ``leastImages`` images, copies left out, and for a network whose prints are no
    ///   nearer for views of one image than for others.
    /// - Throws: `ModelError` if an image cannot be embedded.
    /// - Complexity: five forward passes per image, and O(images² · dimension).
    public init?(of model: FeaturePrintModel, images: [PixelBuffer]) throws {
        let prints = try model.featurePrints(for: images)
        var kept: [Int] = []
        for index in prints.indices
        where try kept.allSatisfy({ try prints[$0].distance(to: prints[index]) >= Self.copyDistance }) {
            kept.append(index)
        }
        guard kept.count >= Self.leastImages else { return nil }
        var generator = SplitMix(state: 1)
        var observations: [MatchObservation] = []
        var nearest: [(own: Double, other: Double)] = []
        for index in kept {
            let views = (0..<Self.viewsPerImage).map { _ in
                View(of: images[index], sides: model.inputSize, using: &generator)
            }
            for (number, view) in try model.featurePrints(for: views.map { try $0.image() }).enumerated() {
                let own = try view.distance(to: prints[index])
                let other = try kept.filter { $0 != index }.map { try view.distance(to: prints[$0]) }.min() ?? 2
                nearest.append((own, other))
                for (isRight, distance, isWithoutTargets) in [
                    (true, own, false), (false, other, false), (false, other, true),
                ] {
                    var observation = MatchObservation(
                        isRight: isRight, distance: distance, neighborDistance: 0, evidence: nil, isCompared: false)
                    observation.isWithoutTargets = isWithoutTargets
                    (observation.query, observation.object) = ("\(index) \(number)", "\(index)")
                    observations.append(observation)
                }
            }
        }
        guard let fit = ConfidenceFit(observations), fit.matchThreshold > 0 else { return nil }
        self.fit = fit
        let count = Double(nearest.count)
        recall = Double(nearest.count { $0.own < $0.other && $0.own <= fit.matchThreshold }) / count
        falseAcceptRate = Double(nearest.count { $0.other <= fit.matchThreshold }) / count
    }

    /// The bytes of a model's file with this threshold, and the slope of the confidence.
    ///
    /// - Throws: `ModelError` if the file cannot be rewritten.
    public func fileData(of model: FeaturePrintModel) throws(ModelError) -> Data { try model.fileData(with: fit) }
}

/// An image as a photograph may show it.
private struct View {
    let width: Int
    let height: Int
    let bytes: [UInt8]

    /// - Parameter sides: those of the network's input; the view has twice as many pixels on each.
    init(of image: PixelBuffer, sides: (width: Int, height: Int), using generator: inout SplitMix) {
        let (width, height) = (2 * sides.width, 2 * sides.height)
        // The corners of the view in the image, clockwise from the top left.
        let zoom = Double.random(in: -0.15...0.12, using: &generator)
        let angle = Double.random(in: -0.15...0.15, using: &generator)
        let corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)].map { corner -> SIMD2<Double> in
            let (x, y) = (
                (corner.0 - 0.5) * (1 - 2 * zoom), (corner.1 - 0.5) * (1 - 2 * zoom)
            )
            let tilt = SIMD2(
                Double.random(in: -0.06...0.06, using: &generator), Double.random(in: -0.06...0.06, using: &generator))
            return SIMD2(0.5 + x - angle * y, 0.5 + y + angle * x) + tilt
        }
        let ground = (0..<3).map { _ in Double.random(in: 40...215, using: &generator) }
        let gain = Double.random(in: 0.7...1.25, using: &generator)
        let tint = (0..<3).map { _ in Double.random(in: 0.92...1.08, using: &generator) }
        let noise = Double.random(in: 0...8, using: &generator)
        let isSoft = Bool.random(using: &generator)
        let source = Pixels(image)
        var bytes = [UInt8](repeating: 0, count: width * height * 3)
        for y in 0..<height {
            for x in 0..<width {
                let (u, v) = ((Double(x) + 0.5) / Double(width), (Double(y) + 0.5) / Double(height))
                let top = corners[0] + u * (corners[1] - corners[0])
                let place = top + v * (corners[3] + u * (corners[2] - corners[3]) - top)
                for channel in 0..<3 {
                    var value = ground[channel]
                    if (0...1).contains(place.x), (0...1).contains(place.y) {
                        value = source.value(at: place, channel: channel)
                        if isSoft {
                            let step = SIMD2(1.5 / Double(width), 1.5 / Double(height))
                            value += source.value(at: place + step, channel: channel)
                            value += source.value(at: place - step, channel: channel)
                            value /= 3
                        }
                    }
                    value *= gain * tint[channel]
                    if noise > 0 { value += Double.random(in: -noise...noise, using: &generator) }
                    bytes[(y * width + x) * 3 + channel] = UInt8(min(max(value, 0), 255))
                }
            }
        }
        (self.width, self.height, self.bytes) = (width, height, bytes)
    }

    func image() throws -> PixelBuffer { try PixelBuffer(bytes, width: width, height: height, format: .rgb8) }
}

/// The pixels of an image in red, green and blue.
private struct Pixels {
    let width: Int
    let height: Int
    let bytes: [UInt8]

    init(_ image: PixelBuffer) {
        let step = image.format.bytesPerPixel
        let channels: [Int]
        switch image.format {
        case .gray8: channels = [0, 0, 0]
        case .rgb8, .rgba8: channels = [0, 1, 2]
        case .bgra8: channels = [2, 1, 0]
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(image.width * image.height * 3)
        image.withUnsafeBytes { source in
            for y in 0..<image.height {
                for x in 0..<image.width {
                    for channel in channels { bytes.append(source[y * image.bytesPerRow + x * step + channel]) }
                }
            }
        }
        (width, height, self.bytes) = (image.width, image.height, bytes)
    }

    /// The value between pixels, at fractions of the sides.
    func value(at place: SIMD2<Double>, channel: Int) -> Double {
        let x = min(max(place.x * Double(width) - 0.5, 0), Double(width - 1))
        let y = min(max(place.y * Double(height) - 0.5, 0), Double(height - 1))
        let (left, top) = (Int(x), Int(y))
        let (right, bottom) = (min(left + 1, width - 1), min(top + 1, height - 1))
        let (u, v) = (x - Double(left), y - Double(top))
        func pixel(_ x: Int, _ y: Int) -> Double { Double(bytes[(y * width + x) * 3 + channel]) }
        return (1 - v) * ((1 - u) * pixel(left, top) + u * pixel(right, top))
            + v * ((1 - u) * pixel(left, bottom) + u * pixel(right, bottom))
    }
}

/// The same views in each run (Steele, Lea and Flood, 2014).
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
#endif
