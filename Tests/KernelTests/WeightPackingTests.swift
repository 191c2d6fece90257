import CKernels
import TestSupport
import Testing

/// Against the definition, one weight at a time.
struct WeightPackingTests {
    struct Shape: CustomStringConvertible, Sendable {
        let outputs, inputs, taps: Int
        var description: String { "\(outputs)×\(inputs), \(taps) taps" }
    }

    static let shapes = [
        Shape(outputs: 16, inputs: 16, taps: 9), Shape(outputs: 40, inputs: 21, taps: 1),
        Shape(outputs: 5, inputs: 3, taps: 25), Shape(outputs: 33, inputs: 64, taps: 9),
        Shape(outputs: 17, inputs: 2, taps: Int(LK_MOST_TAPS)),
    ]

    @Test(arguments: shapes, [LK_FLOAT32, LK_FLOAT16, LK_BFLOAT16, LK_UINT8])
    func agreesWithTheDefinition(shape: Shape, format: lk_number_format) {
        var random = SeededGenerator(seed: 83)
        let block = Int(LK_CHANNEL_BLOCK)
        var weights = random.floats(shape.outputs * shape.inputs * shape.taps)
        // An output without weights, one whose largest is negative, with halves, which are rounded away from zero, and
        // one whose step would be subnormal.
        let length = shape.inputs * shape.taps
        for index in 0..<length { weights[index] = 0 }
        for index in length..<(2 * length) { weights[index] = Float(index % 255 - 127) / 2 }
        weights[length] = -127
        for index in (2 * length)..<(3 * length) { weights[index] = 100 * .leastNormalMagnitude }
        let stored = StoredFormat(format).bytes(of: &weights)
        let rowBytes = length * Int(lk_number_size(format))

        let inputBlocks = (shape.inputs + block - 1) / block
        let perBlock = inputBlocks * shape.taps * block * block
        for outputBlock in 0..<((shape.outputs + block - 1) / block) {
            var steps = [Float](repeating: .nan, count: block)
            var packed = [Int8](repeating: 99, count: perBlock)
            var sums = [Int64](repeating: 99, count: block)
            let outputs = min(shape.outputs - outputBlock * block, block)
            // One byte further on, so that nothing is aligned.
            let bytes = [0] + stored[(outputBlock * block * rowBytes)...].prefix(outputs * rowBytes)
            bytes.withUnsafeBytes {
                lk_pack_quantized_weights(
                    $0.baseAddress.map { $0 + 1 }, format, outputs, shape.inputs, shape.taps, &steps, &sums, &packed)
            }
            for lane in 0..<block {
                let output = outputBlock * block + lane
                let row = output < shape.outputs ? weights[(output * length)..<((output + 1) * length)] : []
                let largest = row.map(abs).max() ?? 0
                #expect(steps[lane] == (largest >= 127 * .leastNormalMagnitude ? largest / 127 : 1))
                #expect(sums[lane] == row.reduce(0) { $0 + Int64(($1 / steps[lane]).rounded()) })
                for input in 0..<(inputBlocks * block) {
                    for tap in 0..<shape.taps {
                        let isThere = output < shape.outputs && input < shape.inputs
                        let expected =
                            isThere
                            ? Int8((weights[output * length + input * shape.taps + tap] / steps[lane]).rounded()) : 0
                        let quad = (input / block * shape.taps + tap) * 4 + input % block / 4
                        let place = (quad * block + lane) * 4 + input % 4
                        if packed[place] != expected {
                            Issue.record(
                                "output \(output), input \(input), tap \(tap): \(packed[place]), not \(expected)")
                            return
                        }
                    }
                }
            }
        }
    }
}
