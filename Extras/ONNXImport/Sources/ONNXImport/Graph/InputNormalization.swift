#if ONNXImport
import Foundation
import Lookalike

/// How the image is normalized before the network's first layer.
///
/// An ONNX file does not say how its network was trained. But what a network does to the image before its first weights
/// says which numbers it takes: one that subtracts a mean must not get an image that has it subtracted already.
struct InputNormalization {
    let mean: [Float]
    let std: [Float]
    /// What was taken, and why.
    let sentence: String

    /// - Throws: `ImportError.Reason.graph` if the network normalizes the image itself, and takes numbers neither in
    ///   0…1 nor in 0…255; and if numbers are given for a network that takes bytes.
    init(
        of graph: ONNXGraph, in importer: GraphImporter, _ options: ImportOptions, _ preprocessing: Preprocessing?
    ) throws {
        let image = importer.image
        let steps = Self.steps(on: image.name, in: graph, importer)
        let isGiven = options.mean != nil || options.std != nil
        let own = steps.isIdentity ? "" : "; the network normalizes the image itself"
        let reason: String
        if image.isBytes {
            guard !isGiven else {
                throw ImportError.Reason.graph(
                    "its input “\(image.name)” takes bytes (uint8), which have no mean and no deviation; "
                        + "leave out --mean and --std")
            }
            (mean, std) = ([0, 0, 0], Self.bytes)
            reason = "bytes in 0…255, as the input has the type uint8"
        } else if isGiven {
            let file = steps.isIdentity ? preprocessing : nil
            mean = options.mean ?? file?.mean ?? (steps.isIdentity ? ImportOptions.imageNetMean : [0, 0, 0])
            std = options.std ?? file?.std ?? (steps.isIdentity ? ImportOptions.imageNetStd : [1, 1, 1])
            reason = "\(Self.words(mean, std)), as given\(own.isEmpty ? "" : own + ", too")"
        } else if steps.isIdentity || steps.largestInput == nil, let preprocessing, let mean = preprocessing.mean,
            let std = preprocessing.std
        {
            // A network that normalizes the image is believed before the file, which is that of the training.
            (self.mean, self.std) = (mean, std)
            reason = "\(Self.words(mean, std)), as \(preprocessing.file) says\(own)"
        } else if steps.isIdentity {
            (mean, std) = (ImportOptions.imageNetMean, ImportOptions.imageNetStd)
            reason =
                "\(Self.words(mean, std)): ImageNet’s, as the file does not say; --mean and --std set others"
        } else {
            switch steps.largestInput {
            case 1: (mean, std, reason) = ([0, 0, 0], [1, 1, 1], "values in 0…1, without mean and deviation\(own)")
            case 255:
                (mean, std, reason) = ([0, 0, 0], Self.bytes, "values in 0…255, without mean and deviation\(own)")
            default:
                throw ImportError.Reason.graph(
                    "the network normalizes the image itself, and takes values neither in 0…1 nor in 0…255; "
                        + "give --mean and --std")
            }
        }
        let layout = image.isChannelsLast ? "channels last" : "channels first"
        sentence = "input “\(image.name)”, RGB, \(layout): \(reason)"
    }

    /// Divides values in 0…1 so that they are in 0…255.
    private static let bytes = [Float](repeating: 1 / 255, count: 3)

    private static func words(_ mean: [Float], _ std: [Float]) -> String {
        func list(_ values: [Float]) -> String { values.map { "\($0)" }.joined(separator: ",") }
        return "values in 0…1, minus the mean \(list(mean)), divided by the deviation \(list(std))"
    }

    /// What the first nodes do to each value of the image: v · factor + offset, per channel or alike for all.
    private struct Steps {
        var factors: [Float] = [1]
        var offsets: [Float] = [0]

        var isIdentity: Bool { factors.allSatisfy { $0 == 1 } && offsets.allSatisfy { $0 == 0 } }

        /// The values that the network takes are in 0 up to this: 1 or 255; nil if both are unlikely.
        ///
        /// Normalized values lie on both sides of zero, or begin there, and their range is about 2.
        var largestInput: Float? {
            let ranges = [Float(1), 255].map { largest in
                (largest, zip(factors, offsets).map { (min($1, $1 + $0 * largest), max($1, $1 + $0 * largest)) })
            }
            return ranges.filter { _, ranges in
                // A little beside zero is none of the two.
                ranges.allSatisfy { low, high in
                    low <= 0.05 * (high - low) && high >= -0.05 * (high - low) && low < high
                }
            }.min { a, b in Self.strangeness(a.1) < Self.strangeness(b.1) }?.0
        }

        private static func strangeness(_ ranges: [(Float, Float)]) -> Double {
            ranges.map { abs(log2(Double($0.1 - $0.0)) - 1) }.max() ?? .infinity
        }

        mutating func apply(_ operation: String, _ constant: [Float], isFirst: Bool) {
            let count = max(factors.count, constant.count)
            func value(_ values: [Float], _ index: Int) -> Float { values[values.count == 1 ? 0 : index] }
            var (newFactors, newOffsets) = ([Float](), [Float]())
            for index in 0..<count {
                let (a, b, c) = (value(factors, index), value(offsets, index), value(constant, index))
                switch operation {
                case "Add": (newFactors, newOffsets) = (newFactors + [a], newOffsets + [b + c])
                case "Sub" where isFirst: (newFactors, newOffsets) = (newFactors + [-a], newOffsets + [c - b])
                case "Sub": (newFactors, newOffsets) = (newFactors + [a], newOffsets + [b - c])
                case "Mul": (newFactors, newOffsets) = (newFactors + [a * c], newOffsets + [b * c])
                default: (newFactors, newOffsets) = (newFactors + [a / c], newOffsets + [b / c])
                }
            }
            (factors, offsets) = (newFactors, newOffsets)
        }
    }

    /// The nodes on the image before the first one of another kind, or before it goes several ways.
    private static func steps(on image: String, in graph: ONNXGraph, _ importer: GraphImporter) -> Steps {
        var readers: [String: [ONNXNode]] = [:]
        for node in graph.node { for input in Set(node.input) { readers[input, default: []].append(node) } }
        var (steps, name, seen) = (Steps(), image, Set<String>())
        while seen.insert(name).inserted, let found = readers[name], found.count == 1,
            let output = found[0].output.first
        {
            let node = found[0]
            switch node.opType {
            case "Identity", "Cast", "Transpose", "Dropout", "Resize", "Gather", "QuantizeLinear", "DequantizeLinear",
                "DynamicQuantizeLinear":
                guard node.input.first == name else { return steps }
            case "Add", "Sub", "Mul", "Div":
                guard node.input.count == 2, node.input[0] != node.input[1] else { return steps }
                let isFirst = node.input[1] == name
                // A constant divided by the image is no normalization.
                guard case .constant(let constant)? = importer.values[node.input[isFirst ? 0 : 1]],
                    !(isFirst && node.opType == "Div"), constant.count > 0
                else { return steps }
                let floats = constant.floats
                // A mean for each pixel counts as its own mean.
                let values = [1, 3].contains(floats.count) ? floats : [floats.reduce(0, +) / Float(floats.count)]
                guard node.opType != "Div" || !values.contains(0), values.allSatisfy(\.isFinite) else { return steps }
                steps.apply(node.opType, values, isFirst: isFirst)
            default: return steps
            }
            name = output
        }
        return steps
    }
}
#endif
