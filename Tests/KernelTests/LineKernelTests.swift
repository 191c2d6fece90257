import CKernels
import Compute
import Foundation
import TestSupport
import Testing

/// What is done to the lines of arrays, of every SIMD target against double precision.
struct LineKernelTests {
    @Test(arguments: 0..<40) func sharesAreThoseOfExponentials(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...70, using: &random)
        let values = random.floats(count, in: -20...20)
        let scale = Float.random(in: -2...2, using: &random)
        let summands = seed % 2 == 0 ? random.floats(count).map { $0 < -0.5 ? -.infinity : $0 } : nil
        let places = values.indices.map { Double(values[$0] * scale) + Double(summands?[$0] ?? 0) }
        guard let largest = places.max(), largest.isFinite else { return }
        let exponentials = places.map { exp($0 - largest) }
        for simd in SIMDTarget.available {
            var out = values + [7]
            simd.table.softmax(&out, count, scale, summands)
            for (index, exponential) in exponentials.enumerated() {
                let expected = exponential / exponentials.reduce(0, +)
                #expect(
                    abs(Double(out[index]) - expected) <= 1e-6 + 4e-6 * expected,
                    "\(simd.name), seed \(seed), \(index) of \(count): \(out[index]), not \(expected)")
            }
            #expect(out[count] == 7, "\(simd.name) writes beyond the end")
        }
    }

    @Test func aShareOfWhatIsNoNumberIsNone() {
        for simd in SIMDTarget.available {
            for place in [0, 5, 17] {
                var out = [Float](repeating: 1, count: 18)
                out[place] = .nan
                simd.table.softmax(&out, 18, 1, nil)
                #expect(out.allSatisfy { $0.isNaN }, "\(simd.name), \(place)")
            }
        }
    }

    @Test(arguments: 0..<20) func linesHaveNoMeanAndTheVarianceOne(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...70, using: &random)
        let values = random.floats(count, in: 2...5)
        let (weights, bias) = (random.floats(count), random.floats(count))
        let mean = values.reduce(0) { $0 + Double($1) } / Double(count)
        let variance = values.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / Double(count)
        for simd in SIMDTarget.available {
            var out = [Float](repeating: 7, count: count + 1)
            simd.table.normalize_line(values, count, 1e-3, weights, bias, &out)
            for index in 0..<count {
                let value = (Double(values[index]) - mean) / (variance + 1e-3).squareRoot()
                let expected = value * Double(weights[index]) + Double(bias[index])
                #expect(
                    abs(Double(out[index]) - expected) < 1e-5,
                    "\(simd.name), seed \(seed), \(index) of \(count): \(out[index]), not \(expected)")
            }
            #expect(out[count] == 7, "\(simd.name) writes beyond the end")
        }
    }

    @Test(arguments: [16, 48, 64, 80, 144]) func codesHaveTheUnitOfTheirLine(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        var values = random.floats(count, in: -3...3)
        values[count / 2] = -4
        let stride = 48
        for simd in SIMDTarget.available {
            var codes = [UInt8](repeating: 9, count: count / 16 * stride)
            let unit = simd.table.quantize_line(values, count, stride, &codes)
            #expect(unit == Float(4) / 127, "\(simd.name)")
            for (index, value) in values.enumerated() {
                let code = Float(128).addingProduct(value, 1 / unit).rounded(.toNearestOrEven)
                #expect(codes[index / 16 * stride + index % 16] == UInt8(code), "\(simd.name), \(index) of \(count)")
            }
            #expect(codes[16..<stride].allSatisfy { $0 == 9 }, "\(simd.name) writes between blocks")
        }
    }

    @Test(arguments: 0..<20) func resultsAreFinished(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...50, using: &random)
        let lines = Int.random(in: 1...5, using: &random)
        let stride = count + 3
        let blockStride = lines * 16
        let products = random.floats((count + 15) / 16 * blockStride)
        let bias = random.floats((count + 15) / 16 * 16)
        let (units, residual) = (random.floats(lines), random.floats(lines * stride))
        let (hasUnits, hasBias, hasActivation, hasResidual) = (
            seed & 1 == 0, seed & 2 == 0, seed & 4 == 0, seed & 8 == 0
        )
        for simd in SIMDTarget.available {
            var out = [Float](repeating: 7, count: lines * stride)
            var activation = lk_activation(kind: LK_LEAKY_RELU, alpha: 0.25, beta: 0)
            products.withUnsafeBufferPointer { products in
                bias.withUnsafeBufferPointer { bias in
                    units.withUnsafeBufferPointer { units in
                        residual.withUnsafeBufferPointer { residual in
                            out.withUnsafeMutableBufferPointer { out in
                                withUnsafePointer(to: &activation) { activation in
                                    var results = lk_line_results()
                                    (results.products, results.block_stride) = (products.baseAddress, blockStride)
                                    results.count = count
                                    results.units = hasUnits ? units.baseAddress : nil
                                    results.bias = hasBias ? bias.baseAddress : nil
                                    results.activation = hasActivation ? activation : nil
                                    results.residual = hasResidual ? residual.baseAddress : nil
                                    (results.output, results.output_stride) = (out.baseAddress, stride)
                                    simd.table.finish_lines(&results, lines)
                                }
                            }
                        }
                    }
                }
            }
            for (line, index) in (0..<lines).flatMap({ line in (0..<stride).map { (line, $0) } }) {
                let place = line * stride + index
                guard index < count else {
                    #expect(out[place] == 7, "\(simd.name), seed \(seed) writes behind line \(line)")
                    continue
                }
                var expected = products[index / 16 * blockStride + line * 16 + index % 16]
                if hasUnits { expected *= units[line] }
                if hasBias { expected += bias[index] }
                if hasActivation, expected < 0 { expected *= 0.25 }
                if hasResidual { expected += residual[place] }
                #expect(abs(out[place] - expected) < 1e-6, "\(simd.name), seed \(seed), line \(line), \(index)")
            }
        }
    }

    @Test(arguments: 0..<20) func linesArePackedAsColumns(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...40, using: &random)
        let length = Int.random(in: 1...40, using: &random)
        let stride = length + Int.random(in: 0...9, using: &random)
        let lines = random.floats((count - 1) * stride + length)
        for simd in SIMDTarget.available {
            let blocks = (count + 15) / 16
            var packed = [Float](repeating: 7, count: blocks * length * 16 + 1)
            simd.table.pack_lines(lines, stride, count, length, &packed)
            for (block, element) in (0..<blocks).flatMap({ block in (0..<length).map { (block, $0) } }) {
                for lane in 0..<16 {
                    let line = block * 16 + lane
                    #expect(
                        packed[(block * length + element) * 16 + lane]
                            == (line < count ? lines[line * stride + element] : 0),
                        "\(simd.name), seed \(seed), line \(line) of \(count), element \(element) of \(length)")
                }
            }
            #expect(packed.last == 7, "\(simd.name) writes beyond the end")
        }
    }
}
