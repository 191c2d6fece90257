import Compute
import DefaultModel
import FeaturePrints
import Foundation
import Imaging
import Inference
import TestSupport
import Testing

private let fixtures = Bundle.module.resourceURL!.appendingPathComponent("Fixtures")

/// Against PyTorch's results on the same weights and the same image.
struct NetworkTests {
    struct Fixture: Decodable {
        let print: [Float]
        let corners: [Double]?
    }

    private static func model(
        _ name: String, _ simd: SIMDTarget, precision: FeaturePrintModel.Precision = .float32
    ) throws -> FeaturePrintModel {
        guard name == "default" else {
            return try FeaturePrintModel(
                contentsOf: fixtures.appendingPathComponent("\(name).safetensors"), precision: precision, simd: simd)
        }
        return try FeaturePrintModel(
            FeaturePrintModel.default().fileData, named: name, precision: precision, simd: simd)
    }

    /// The formula of the recipe's `write_fixture`, at the network's own size, so that nothing is resized.
    private static func image(_ size: Int) throws -> PixelBuffer {
        var bytes: [UInt8] = []
        for y in 0..<size {
            for x in 0..<size {
                for c in 0..<3 { bytes.append(UInt8((x * (3 + c) + y * (5 - c) + x * y / (7 + c)) % 256)) }
            }
        }
        return try PixelBuffer(bytes, width: size, height: size, format: .rgb8)
    }

    @Test(arguments: ["odd", "wide", "default"]) func agreesWithPyTorch(name: String) throws {
        let fixture = try JSONDecoder().decode(
            Fixture.self, from: Data(contentsOf: fixtures.appendingPathComponent("\(name).json")))
        for simd in SIMDTarget.available {
            let model = try Self.model(name, simd)
            let image = try Self.image(model.inputSize.width)
            for threads in [1, 2, 3] {
                let print = try model.featurePrint(for: image, threads: threads)
                #expect(print.vector.count == fixture.print.count)
                // Beside what rounding to half precision changes.
                let worst = zip(print.vector, fixture.print).map { abs($0 - $1) - abs($1) * 0x1p-11 }.max() ?? .infinity
                #expect(worst < 1e-4, "\(simd.name), \(threads) threads: \(worst) off")
                let object = try model.embed([ImageCrop(image)], threads: threads)[0].object
                #expect(model.localizesObjects == (fixture.corners != nil) && model.localizesObjects == (object != nil))
                guard let object, let corners = fixture.corners else { continue }
                for (found, expected) in zip(object.corners.flatMap { [$0.x, $0.y] }, corners) {
                    #expect(abs(found - expected) < 1e-4, "\(simd.name), \(threads) threads")
                }
            }
        }
    }

    @Test(arguments: [
        ("odd", FeaturePrintModel.Precision.float32), ("wide", .float32), ("default", .float32), ("default", .int8),
    ])
    func batchesAndThreadsChangeNothing(name: String, precision: FeaturePrintModel.Precision) throws {
        let model = try Self.model(name, .selected, precision: precision)
        let images = (0..<23).map { SampleImage.blocks(seed: UInt64($0), width: 40 + Int($0) * 3, height: 70) }
        let alone = try images.map { try model.featurePrint(for: $0, threads: 1).vector }
        for threads in [1, 2, 4] {
            // Twice, since the second time memory is used again that held other images.
            for _ in 0..<2 { #expect(try model.featurePrints(for: images, threads: threads).map(\.vector) == alone) }
        }
        #expect(try model.featurePrints(for: []).isEmpty)
    }

    @Test func printsAreUnitVectorsAndTellImagesApart() throws {
        let model = try FeaturePrintModel.default()
        let prints = try model.featurePrints(for: (0..<8).map { SampleImage.blocks(seed: $0) })
        for print in prints {
            #expect(abs(print.vector.reduce(0) { $0 + Double($1) * Double($1) } - 1) < 1e-3)
        }
        #expect(try prints[0].distance(to: prints[0]) == 0)
        for (a, b) in zip(prints, prints.dropFirst()) { #expect(try a.distance(to: b) > 0.2) }
    }

    @Test func allSIMDTargetsGiveNearlyTheSamePrint() throws {
        let image = SampleImage.blocks(seed: 31, width: 700, height: 500)
        let prints = try SIMDTarget.available.map { try Self.model("default", $0).featurePrint(for: image) }
        // A component that is rounded to another half is off by 2⁻¹² of itself at least.
        for print in prints { #expect(try print.distance(to: prints[0]) < 1e-3) }
    }

    /// The recipe finds the ranges; here is what they are worth.
    @Test func bytesGiveNearlyThePrintsOfFloats() throws {
        let images = (0..<12).map { SampleImage.blocks(seed: 40 + $0, width: 300, height: 200) }
        let floats = try Self.model("default", .selected).embed(images.map { ImageCrop($0) })
        for simd in SIMDTarget.available {
            let bytes = try Self.model("default", simd, precision: .int8).embed(images.map { ImageCrop($0) })
            for (index, pair) in zip(floats, bytes).enumerated() {
                #expect(try pair.0.print.distance(to: pair.1.print) < 0.3, "\(simd.name), image \(index)")
                let corners = zip(try #require(pair.0.object).corners, try #require(pair.1.object).corners)
                for (a, b) in corners {
                    #expect(abs(a.x - b.x) < 0.05 && abs(a.y - b.y) < 0.05, "\(simd.name), image \(index)")
                }
            }
            // Integers have no rounding; the depthwise convolutions between them are computed in floats.
            let portable = try Self.model("default", SIMDTarget.available[0], precision: .int8).featurePrint(
                for: images[0])
            #expect(try bytes[0].print.distance(to: portable) < 0.06, "\(simd.name)")
        }
    }

    @Test func precisionIsTheFastestThatFileAndProcessorAllow() throws {
        let data = try FeaturePrintModel.default().fileData
        for simd in SIMDTarget.available {
            #expect(
                try FeaturePrintModel(data, named: "default", simd: simd).precision
                    == (simd.hasFastInt8DotProduct ? .int8 : .float32))
        }
        let odd = fixtures.appendingPathComponent("odd.safetensors")
        #expect(try FeaturePrintModel(contentsOf: odd).precision == .float32)
        let error = #expect(throws: ModelError.self) { try FeaturePrintModel(contentsOf: odd, precision: .int8) }
        #expect(error?.reason == .noActivationRanges && error?.description.contains("odd.safetensors") == true)
    }

    @Test func aRectifiedCropIsEmbeddedAsItsPixelsAre() throws {
        let model = try Self.model("wide", .selected)
        let image = SampleImage.blocks(seed: 9, width: 300, height: 200)
        let part = Quadrilateral(
            topLeft: .init(x: 0.1, y: 0.2), topRight: .init(x: 0.7, y: 0.1), bottomRight: .init(x: 0.8, y: 0.9),
            bottomLeft: .init(x: 0.2, y: 0.8))
        #expect(model.canEmbed(part))
        let (width, height) = model.inputSize
        let straight = Rectifier(width: width, height: height).rectify(part, of: image)
        let pixels = try PixelBuffer(
            straight.map { UInt8(($0 * 255).rounded()) }, width: width, height: height, format: .rgb8)
        let both = try model.embed([ImageCrop(image, quadrilateral: part), ImageCrop(pixels)])
        // The one is of floats, the other of bytes.
        #expect(try both[0].print.distance(to: both[1].print) < 0.01)
        // Where the object is in the view, seen from the whole image.
        let inner = try #require(both[1].object)
        let outer = try #require(part.projecting(inner))
        for (a, b) in zip(try #require(both[0].object).corners, outer.corners) {
            #expect(abs(a.x - b.x) < 0.01 && abs(a.y - b.y) < 0.01)
        }
    }

    @Test func printsOfDifferentModelsAreNotCompared() throws {
        let image = SampleImage.blocks(seed: 1)
        let odd = try Self.model("odd", .selected).featurePrint(for: image)
        let wide = try Self.model("wide", .selected).featurePrint(for: image)
        let error = #expect(throws: FeaturePrintError.self) { try odd.distance(to: wide) }
        #expect(error?.description.contains("odd") == true && error?.description.contains("wide") == true)
    }

    @Test func aPrintFromOutsideIsChecked() throws {
        let model = try Self.model("odd", .selected)
        let print = try model.featurePrint(for: SampleImage.blocks(seed: 1))
        func check(_ vector: [Float], digest: String? = nil) throws {
            let identity = ModelIdentity(name: model.identity.name, digest: digest ?? model.identity.digest)
            try model.check(FeaturePrint(vector: vector, model: identity))
        }
        try check(print.vector)
        try check(print.vector.map { $0 * 0.9999 })
        #expect(throws: FeaturePrintError.self) { try check(print.vector, digest: "00") }
        #expect(throws: FeaturePrintError.wrongDimension(18, expected: 19)) { try check(print.vector.dropLast()) }
        for (factor, norm): (Float, Double) in [
            (0, 0), (0.5, 0.5), (1.015625, 1.015625), (1e5, 65_504), (1e38, 65_504),
        ] {
            let vector = [factor] + [Float](repeating: 0, count: 18)
            #expect(throws: FeaturePrintError.notNormalized(norm: norm)) { try check(vector) }
        }
    }

    @Test func manyTasksShareAModel() async throws {
        let model = try Self.model("odd", .selected)
        let images = (0..<6).map { SampleImage.blocks(seed: $0) }
        let alone = try images.map { try model.featurePrint(for: $0) }
        try await withThrowingTaskGroup(of: (Int, FeaturePrint).self) { group in
            for index in 0..<60 { group.addTask { (index % 6, try model.featurePrint(for: images[index % 6])) } }
            for try await (index, print) in group { #expect(print == alone[index]) }
        }
    }
}
