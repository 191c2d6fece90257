public import Foundation

/// Puts model files together piece by piece, so that tests can put them together wrongly.
public struct SafeTensorsBuilder {
    public var metadata: [String: String] = [:]
    public var entries: [String: [String: Any]] = [:]
    public var blob = Data()

    public init() {}

    public mutating func add(_ name: String, _ values: [Float], shape: [Int]) {
        let start = blob.count
        for value in values { withUnsafeBytes(of: value.bitPattern.littleEndian) { blob.append(contentsOf: $0) } }
        entries[name] = ["dtype": "F32", "shape": shape, "data_offsets": [start, blob.count]]
    }

    /// Bit patterns of IEEE 754 binary16.
    public mutating func addHalves(_ name: String, _ patterns: [UInt16], shape: [Int]) {
        let start = blob.count
        for pattern in patterns { withUnsafeBytes(of: pattern.littleEndian) { blob.append(contentsOf: $0) } }
        entries[name] = ["dtype": "F16", "shape": shape, "data_offsets": [start, blob.count]]
    }

    public var data: Data {
        var header: [String: Any] = entries
        header["__metadata__"] = metadata
        let json = try! JSONSerialization.data(withJSONObject: header)
        var data = Data()
        withUnsafeBytes(of: UInt64(json.count).littleEndian) { data.append(contentsOf: $0) }
        return data + json + blob
    }

    /// A network of one convolution, pooling and a projection, small enough to be worked out by hand.
    public static func tiny() -> SafeTensorsBuilder {
        var builder = SafeTensorsBuilder()
        builder.add("c.weight", [1, 0, 0, 0, 1, 0], shape: [2, 3, 1, 1])
        builder.add("c.bias", [0, 0], shape: [2])
        builder.add("l.weight", [1, 0, 0, 1], shape: [2, 2])
        builder.add("l.bias", [0, 0], shape: [2])
        builder.metadata["lookalike.graph"] = """
            {"version":1,"name":"tiny","input":{"width":4,"height":4,"mean":[0,0,0],"std":[1,1,1]},"nodes":[
            {"name":"c","op":"convolution","input":"image","weight":"c.weight","bias":"c.bias","outputs":2,"kernel":1,"stride":1,"padding":0,"relu":true},
            {"name":"p","op":"generalized_mean","input":"c","power":1,"epsilon":1e-6},
            {"name":"l","op":"linear","input":"p","weight":"l.weight","bias":"l.bias","outputs":2},
            {"name":"n","op":"l2_normalize","input":"l"}]}
            """
        return builder
    }

    /// The tiny network without its last node: unit vectors for images of red or green alone, and zero for black ones.
    public static func withoutNormalization() -> SafeTensorsBuilder {
        var builder = tiny()
        builder.metadata["lookalike.graph"] = builder.metadata["lookalike.graph"]?
            .replacingOccurrences(of: ",\n{\"name\":\"n\",\"op\":\"l2_normalize\",\"input\":\"l\"}", with: "")
        return builder
    }
}
