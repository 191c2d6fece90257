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
                let taps = shape.taps
                let pairs = row.indices.filter { ($0 - row.startIndex) / taps % 2 == 0 && $0 + taps < row.endIndex }
                let largest = (row.map(abs) + pairs.map { abs(row[$0] + row[$0 + taps]) }).max() ?? 0
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

    @Test(arguments: shapes + [Shape(outputs: 18, inputs: 37, taps: 49)], [LK_FLOAT32, LK_FLOAT16, LK_BFLOAT16])
    func packsFloats(shape: Shape, format: lk_number_format) {
        var random = SeededGenerator(seed: 84)
        let block = Int(LK_CHANNEL_BLOCK)
        let length = shape.inputs * shape.taps
        forEachBlock(of: shape, weights: random.floats(shape.outputs * length), format) { weights, start, outputs in
            var packed = [Float](repeating: .nan, count: length * block)
            lk_pack_weights(start, format, outputs, shape.inputs, shape.taps, &packed)
            for (input, tap, lane) in places(shape.inputs, shape.taps, block) {
                let together = min(block, shape.inputs - input / block * block)
                let place = (input / block * block * shape.taps + tap * together + input % block) * block + lane
                let expected = lane < outputs ? weights[lane * length + input * shape.taps + tap] : 0
                #expect(packed[place] == expected, "output \(lane), input \(input), tap \(tap)")
            }
        }
    }

    /// G g G' with the matrix G of the paper, in double precision.
    @Test(arguments: [(16, 16), (21, 40), (5, 29)], [LK_FLOAT32, LK_FLOAT16, LK_BFLOAT16])
    func transformsFilters(channels: (outputs: Int, inputs: Int), format: lk_number_format) {
        let rows: [[Double]] = [
            [1.0 / 4, 0, 0], [-1.0 / 6, -1.0 / 6, -1.0 / 6], [-1.0 / 6, 1.0 / 6, -1.0 / 6],
            [1.0 / 24, 1.0 / 12, 1.0 / 6], [1.0 / 24, -1.0 / 12, 1.0 / 6], [0, 0, 1],
        ]
        var random = SeededGenerator(seed: 85)
        let (block, side, taps) = (Int(LK_CHANNEL_BLOCK), 6, 9)
        let shape = Shape(outputs: channels.outputs, inputs: channels.inputs, taps: taps)
        let floats = random.floats(shape.outputs * shape.inputs * taps)
        forEachBlock(of: shape, weights: floats, format) { weights, start, outputs in
            let component = shape.inputs * block + 16
            var packed = [Float](repeating: .nan, count: side * side * component)
            lk_pack_winograd_weights(start, format, outputs, shape.inputs, component, &packed)
            for (input, place, lane) in places(shape.inputs, side * side, block) {
                let (y, x) = place.quotientAndRemainder(dividingBy: side)
                var expected = 0.0
                for tap in 0..<(lane < outputs ? taps : 0) {
                    expected +=
                        rows[y][tap / 3] * rows[x][tap % 3]
                        * Double(weights[(lane * shape.inputs + input) * taps + tap])
                }
                let found = Double(packed[place * component + input * block + lane])
                #expect(abs(found - expected) <= 1e-6, "output \(lane), input \(input), component \(place)")
            }
        }
    }

    /// Calls `body` with the weights of each block of outputs as the format holds them, with the address of the stored
    /// ones, which is not aligned, and with the number of outputs.
    private func forEachBlock(
        of shape: Shape, weights: [Float], _ format: lk_number_format,
        _ body: (_ weights: [Float], _ start: UnsafeRawPointer, _ outputs: Int) -> Void
    ) {
        var weights = weights
        let stored = StoredFormat(format).bytes(of: &weights)
        let (block, length) = (Int(LK_CHANNEL_BLOCK), shape.inputs * shape.taps)
        for first in stride(from: 0, to: shape.outputs, by: block) {
            let outputs = min(shape.outputs - first, block)
            let bytes = [0] + stored[(first * length * Int(lk_number_size(format)))...]
            bytes.withUnsafeBytes {
                guard let start = $0.baseAddress else { return }
                body(Array(weights[(first * length)..<((first + outputs) * length)]), start + 1, outputs)
            }
        }
    }

    private func places(_ inputs: Int, _ taps: Int, _ lanes: Int) -> [(Int, Int, Int)] {
        (0..<(inputs * taps * lanes)).map { ($0 / lanes / taps, $0 / lanes % taps, $0 % lanes) }
    }
}
