import CKernels
import Compute
import TestSupport
import Testing

/// The transforms around 36 products, against the 3×3 convolution that they stand for.
struct WinogradKernelTests {
    /// Sizes that are whole tiles, and ones that leave one, two and three pixels over.
    @Test(arguments: [(4, 4), (8, 12), (9, 5), (10, 10), (7, 6), (1, 2), (3, 13)], [false, true])
    func agreesWithTheSum(size: (width: Int, height: Int), hasResidual: Bool) {
        var random = SeededGenerator(seed: 83)
        let block = Int(LK_CHANNEL_BLOCK)
        let (width, height) = size
        let (columns, rows) = (width + 2, height + 2)
        // One channel block of inputs and outputs, each output of the input channel of its number.
        let input = random.floats(columns * rows * block)
        let filters = random.floats(9 * block)
        let bias = random.floats(block)
        let residual = random.floats(width * height * block)
        var expected = [Float](repeating: 0, count: width * height * block)
        for y in 0..<height {
            for x in 0..<width {
                for c in 0..<block {
                    var sum = Double(bias[c])
                    for tap in 0..<9 {
                        sum +=
                            Double(filters[tap * block + c])
                            * Double(input[((y + tap / 3) * columns + x + tap % 3) * block + c])
                    }
                    if hasResidual { sum += Double(residual[(y * width + x) * block + c]) }
                    expected[(y * width + x) * block + c] = Float(max(0, sum))
                }
            }
        }
        let matrix: [[Double]] = [
            [0.25, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6], [1 / 24, 1 / 12, 1 / 6],
            [1 / 24, -1 / 12, 1 / 6], [0, 0, 1],
        ]
        var winograd = lk_winograd(
            width: Int32(width), height: Int32(height), tile_rows: Int32((height + 3) / 4),
            tile_columns: Int32((width + 3) / 4))
        let tiles = Int(winograd.tile_rows * winograd.tile_columns)
        for simd in SIMDTarget.available {
            var transformed = [Float](repeating: .nan, count: 36 * tiles * block)
            simd.table.winograd_input(&winograd, input, rows * columns * block, columns * block, 1, &transformed)
            for component in 0..<36 {
                for c in 0..<block {
                    var weight = 0.0
                    for tap in 0..<9 {
                        weight +=
                            matrix[component / 6][tap / 3] * Double(filters[tap * block + c])
                            * matrix[component % 6][tap % 3]
                    }
                    for tile in 0..<tiles { transformed[(component * tiles + tile) * block + c] *= Float(weight) }
                }
            }
            var output = [Float](repeating: .nan, count: width * height * block)
            residual.withUnsafeBufferPointer { residual in
                simd.table.winograd_output(
                    &winograd, transformed, 1, bias, hasResidual ? residual.baseAddress : nil, &output,
                    width * height * block,
                    width * block, true)
            }
            let worst = zip(output, expected).map { abs($0 - $1) }.max() ?? .infinity
            #expect(worst < 1e-4, "\(simd.name): \(worst) off")
            #expect(output.allSatisfy { $0.isFinite }, "\(simd.name) left something unwritten")
        }
    }
}
