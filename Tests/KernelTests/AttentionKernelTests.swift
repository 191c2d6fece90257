import CKernels
import Compute
import Foundation
import TestSupport
import Testing

/// Attention with products of int8: every SIMD target has the same codes, and they are those of double precision.
struct AttentionKernelTests {
    @Test(arguments: 0..<60) func codesAreSharesOfExponentials(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...70, using: &random)
        let (blocks, rows) = ((count + 15) / 16, 3)
        let scores = random.floats(blocks * rows * 16, in: seed % 5 == 0 ? -20_000...20_000 : -20...20)
        let scale = Float.random(in: -1...1, using: &random)
        var summands: [Float]?
        switch seed % 3 {
        case 0: summands = random.floats(count).map { $0 < -0.5 ? -.infinity : $0 }
        case 1: summands = random.floats(count).map { $0 < -0.5 ? -.greatestFiniteMagnitude : $0 }
        default: break
        }
        if var some = summands {
            some[0] = 0
            summands = some
        }
        let places = (0..<count).map {
            Double(scores[$0 / 16 * rows * 16 + $0 % 16]) * Double(scale) + Double(summands?[$0] ?? 0)
        }
        let exponentials = places.map { exp($0 - places.max()!) * 255 }
        // What rounding the places does to large exponentials.
        let error = 0.06 + 255 * 3e-7 * places.lazy.map(abs).filter { $0 < 1e5 }.max()!
        for simd in SIMDTarget.available {
            var codes = [UInt8](repeating: 9, count: blocks * rows * 16)
            let share = simd.table.softmax_codes(scores, rows * 16, count, scale, summands, &codes)
            var sum = 0
            for index in codes.indices {
                let (block, lane) = (index / (rows * 16), index % (rows * 16))
                guard lane < 16 else {
                    #expect(codes[index] == 9, "\(simd.name), seed \(seed) writes between blocks")
                    continue
                }
                sum += Int(codes[index])
                let key = block * 16 + lane
                let expected = key < count ? exponentials[key] : 0
                #expect(
                    abs(Double(codes[index]) - expected) <= 0.5 + error,
                    "\(simd.name), seed \(seed), \(key) of \(count): \(codes[index]), not \(expected)")
            }
            #expect(codes.contains(255), "\(simd.name), seed \(seed)")
            #expect(share == 1 / Float(sum), "\(simd.name), seed \(seed)")
        }
    }

    /// Packed codes by output and input, without those that fill up blocks.
    private static func unpacked(_ packed: [Int8], outputs: Int, inputs: Int) -> [[Int]] {
        let blocks = (inputs + 15) / 16
        return (0..<outputs).map { output in
            (0..<inputs).map { input in
                let quad = (output / 16 * blocks + input / 16) * 4 + input % 16 / 4
                return Int(packed[(quad * 16 + output % 16) * 4 + input % 4])
            }
        }
    }

    @Test(arguments: 0..<40) func packedNumbersAreCodesOfTheirStep(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let isColumns = seed % 2 == 0
        let outputs = Int.random(in: 1...40, using: &random)
        let inputs = isColumns ? Int.random(in: 1...40, using: &random) : 16 * Int.random(in: 1...4, using: &random)
        let (first, second) = isColumns ? (inputs, outputs) : (outputs, inputs)
        let stride = second + Int.random(in: 0...9, using: &random)
        // Neighbors of one sign are those whose codes could be too large, and some outputs are all zeros.
        let numbers = random.floats((first - 1) * stride + second, in: seed % 4 < 2 ? -3...3 : 1...3)
            .map { seed % 7 == 0 ? 0 : $0 }
        let blocks = (outputs + 15) / 16
        let count = blocks * 16 * ((inputs + 15) / 16) * 16
        for simd in SIMDTarget.available {
            var packed = [Int8](repeating: 9, count: count + 1)
            var scales = [Float](repeating: 9, count: blocks * 16 + 1)
            var bias = [Float](repeating: 9, count: blocks * 16 + 1)
            if isColumns {
                simd.table.pack_quantized_columns(numbers, stride, inputs, outputs, &packed, &scales)
            } else {
                simd.table.pack_quantized_lines(numbers, stride, outputs, inputs, &packed, &scales, &bias)
            }
            let words = "\(simd.name), seed \(seed): \(outputs) outputs of \(inputs) inputs"
            #expect(packed[count] == 9 && scales[blocks * 16] == 9 && bias[blocks * 16] == 9, "\(words)")
            for (output, codes) in Self.unpacked(packed, outputs: blocks * 16, inputs: (inputs + 15) / 16 * 16)
                .enumerated()
            {
                var values = [Float](repeating: 0, count: codes.count)
                if output < outputs {
                    for input in 0..<inputs {
                        values[input] = numbers[isColumns ? input * stride + output : output * stride + input]
                    }
                }
                let pairs = Swift.stride(from: 0, to: codes.count, by: 2).map { values[$0] + values[$0 + 1] }
                let largest = (values + pairs).lazy.map(abs).max()!
                let step = largest > 0 ? largest / 127 : 1
                #expect(scales[output] == step, "\(words), output \(output)")
                for (code, value) in zip(codes, values) {
                    #expect(abs(Float(code) * step - value) <= 0.5001 * step, "\(words), output \(output)")
                }
                // The sums of two products fit 16 bits.
                for input in Swift.stride(from: 0, to: codes.count, by: 2) {
                    let (one, other) = (codes[input], codes[input + 1])
                    #expect(one * other <= 0 || abs(one + other) <= 128, "\(words), output \(output)")
                }
                if !isColumns {
                    #expect(bias[output] == -128 * step * Float(codes.reduce(0, +)), "\(words), output \(output)")
                }
            }
        }
    }
}
