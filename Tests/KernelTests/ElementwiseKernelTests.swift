import CKernels
import Compute
import Foundation
import TestSupport
import Testing

/// Activations and combinations of every SIMD target against double precision.
struct ElementwiseKernelTests {
    private static let reference:
        [(kind: lk_activation_kind, alpha: Float, beta: Float, function: @Sendable (Double) -> Double)] = [
            (LK_CLAMP, -1, 6, { min(max($0, -1), 6) }),
            (LK_LEAKY_RELU, 0.1, 0, { $0 < 0 ? 0.1 * $0 : $0 }),
            (LK_ELU, 0.7, 0, { $0 < 0 ? 0.7 * expm1($0) : $0 }),
            (LK_SIGMOID, 0, 0, { 1 / (1 + exp(-$0)) }),
            (LK_HARD_SIGMOID, 0.2, 0.5, { min(max(0.2 * $0 + 0.5, 0), 1) }),
            (LK_HARD_SWISH, 0, 0, { $0 * min(max($0 / 6 + 0.5, 0), 1) }),
            (LK_SILU, 0, 0, { $0 / (1 + exp(-$0)) }),
            (LK_GELU, 0, 0, { 0.5 * $0 * (1 + erf($0 / 2.0.squareRoot())) }),
            (
                LK_GELU_TANH, 0, 0,
                { 0.5 * $0 * (1 + tanh((2 / Double.pi).squareRoot() * ($0 + 0.044715 * $0 * $0 * $0))) }
            ),
            (LK_MISH, 0, 0, { $0 * tanh(log1p(exp($0))) }),
            (LK_SOFTPLUS, 0, 0, { log1p(exp($0)) }),
            (LK_TANH, 0, 0, { tanh($0) }),
            (LK_ERF, 0, 0, { erf($0) }),
            (LK_EXP, 0, 0, { exp($0) }),
            (LK_LOG, 0, 0, { log($0) }),
            (LK_SQRT, 0, 0, { $0.squareRoot() }),
            (LK_ABS, 0, 0, { abs($0) }),
            (LK_NEGATE, 0, 0, { -$0 }),
            (LK_QUANTIZE, 0.25, -20, { 0.25 * min(max(($0 / 0.25).rounded(.toNearestOrEven), -20), 235) }),
            (LK_RECIPROCAL, 0, 0, { 1 / $0 }),
        ]

    @Test func activationsAgreeWithDoublePrecision() {
        // Not a multiple of sixteen, so that the tail counts.
        let all = (-611...612).map { Float($0) / 47 + 0.001 }
        for (kind, alpha, beta, function) in Self.reference {
            let values = kind == LK_LOG || kind == LK_SQRT ? all.filter { $0 > 0 } : all
            for simd in SIMDTarget.available {
                var activation = lk_activation(kind: kind, alpha: alpha, beta: beta)
                var out = [Float](repeating: .nan, count: values.count)
                simd.table.activate(&activation, values, values.count, &out)
                for (value, result) in zip(values, out) {
                    let expected = function(Double(value))
                    let off = abs(Double(result) - expected)
                    #expect(
                        off <= 3e-6 * max(1, abs(expected)),
                        "\(simd.name), function \(kind.rawValue) of \(value): \(result), not \(expected)")
                }
            }
        }
    }

    @Test func notANumberStaysNotANumber() {
        let kinds = [
            LK_EXP, LK_SIGMOID, LK_SILU, LK_TANH, LK_GELU, LK_GELU_TANH, LK_ERF, LK_SOFTPLUS, LK_MISH, LK_LOG, LK_SQRT,
        ]
        for kind in kinds {
            for simd in SIMDTarget.available {
                var activation = lk_activation(kind: kind, alpha: 0, beta: 0)
                var out = [Float](repeating: 0, count: 17)
                simd.table.activate(&activation, [Float](repeating: .nan, count: 17), 17, &out)
                #expect(out.allSatisfy { $0.isNaN }, "\(simd.name), function \(kind.rawValue)")
            }
        }
    }

    @Test func activationsAreFiniteFarOut() {
        for kind in [LK_SIGMOID, LK_SILU, LK_GELU, LK_GELU_TANH, LK_MISH, LK_SOFTPLUS, LK_TANH, LK_ERF] {
            for simd in SIMDTarget.available {
                var activation = lk_activation(kind: kind, alpha: 0, beta: 0)
                var out = [Float](repeating: .nan, count: 4)
                simd.table.activate(&activation, [-1e4, -200, 200, 1e4], 4, &out)
                #expect(out.allSatisfy { $0.isFinite }, "\(simd.name), function \(kind.rawValue): \(out)")
            }
        }
    }

    @Test(arguments: [1, 15, 16, 17, 100]) func codesAreTheNearestAndStandForWhatTheyAreOf(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        let (scale, zeroPoint) = (Float(0.031), UInt8(90))
        // Beyond both ends of the codes; exact halves are rounded to even codes.
        let values =
            random.floats(count).map { $0 * 6 }.enumerated().map {
                $0.offset % 5 == 4 ? Float($0.offset) * 16 : $0.element
            }
        let factor: Float = count == 100 ? 1 / 32 : 1 / scale
        for simd in SIMDTarget.available {
            var codes = [UInt8](repeating: 0xA5, count: count + 1)
            simd.table.quantize(values, factor, zeroPoint, count, &codes)
            for (value, code) in zip(values, codes) {
                let place = Float(zeroPoint).addingProduct(value, factor).rounded(.toNearestOrEven)
                #expect(code == UInt8(min(max(place, 0), 255)), "\(simd.name), \(value)")
            }
            #expect(codes[count] == 0xA5, "\(simd.name) writes beyond the end")
            var widened = [Float](repeating: .nan, count: count + 1)
            simd.table.dequantize(codes, scale, zeroPoint, count, &widened)
            for (code, value) in zip(codes, widened.prefix(count)) {
                #expect(value == Float(Int(code) - Int(zeroPoint)) * scale, "\(simd.name), \(code)")
            }
            #expect(widened[count].isNaN, "\(simd.name) writes beyond the end")
        }
    }

    @Test(arguments: [1, 15, 16, 17, 100]) func combinationsAgreeWithPortable(count: Int) {
        var random = SeededGenerator(seed: 9)
        let values = (
            left: random.floats(max(count, 16), in: 0.5...2), right: random.floats(max(count, 16), in: -2...2)
        )
        let operations = [
            LK_ADD, LK_SUBTRACT, LK_MULTIPLY, LK_DIVIDE, LK_MAXIMUM, LK_MINIMUM, LK_POWER, LK_PRELU,
        ]
        let modes = [LK_EACH, LK_SAME_BLOCK, LK_SAME_VALUE]
        func run(
            _ simd: SIMDTarget, _ operation: lk_combination, _ left: lk_operand_mode, _ right: lk_operand_mode
        ) -> [Float] {
            var out = [Float](repeating: .nan, count: count)
            values.left.withUnsafeBufferPointer { a in
                values.right.withUnsafeBufferPointer { b in
                    simd.table.combine(
                        operation, lk_operand(values: a.baseAddress, mode: left),
                        lk_operand(values: b.baseAddress, mode: right), count, &out)
                }
            }
            return out
        }
        for operation in operations {
            for left in modes {
                for right in modes {
                    let reference = run(SIMDTarget.available[0], operation, left, right)
                    #expect(reference.allSatisfy { $0.isFinite })
                    for simd in SIMDTarget.available.dropFirst() {
                        #expect(run(simd, operation, left, right) == reference, "\(simd.name) \(operation.rawValue)")
                    }
                }
            }
        }
    }
}
