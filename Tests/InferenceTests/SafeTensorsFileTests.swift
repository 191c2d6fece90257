import Foundation
import Inference
import Testing

struct SafeTensorsFileTests {
    private static func file(_ header: String, _ bytes: [UInt8]) throws -> SafeTensorsFile {
        let length = (0..<8).map { UInt8(truncatingIfNeeded: header.utf8.count >> (8 * $0)) }
        return try SafeTensorsFile(Data(length + Array(header.utf8) + bytes))
    }

    private static let header = """
        {"codes":{"dtype":"U8","shape":[2,3],"data_offsets":[0,6]},
        "one":{"dtype":"F32","shape":[1],"data_offsets":[6,10]}}
        """
    private static let bytes: [UInt8] = [0, 1, 127, 128, 254, 255, 0, 0, 128, 63]

    @Test func bytesAreReadAsTheyAre() throws {
        let file = try Self.file(Self.header, Self.bytes)
        #expect(file.shape(of: "codes") == [2, 3] && file.shape(of: "none") == nil)
        #expect(try file.bytes("codes", shape: [2, 3]) == [0, 1, 127, 128, 254, 255])
        #expect(try file.floats("codes", shape: [2, 3]) == [0, 1, 127, 128, 254, 255])
        #expect(try file.floats("one", shape: [1]) == [1])
    }

    @Test func bytesOfAnotherTypeShapeOrNameAreRefused() throws {
        let file = try Self.file(Self.header, Self.bytes)
        for (name, shape) in [("codes", [3, 2]), ("codes", [6]), ("one", [1]), ("one", [4]), ("none", [1])] {
            let error = #expect(throws: ModelError.Reason.self) { try file.bytes(name, shape: shape) }
            #expect(error.map { "\($0)".contains("unusableTensor") } == true, "\(name) \(shape)")
        }
    }

    @Test func aTensorOfBytesHasAsManyAsItsShapeSays() {
        #expect(throws: ModelError.Reason.self) { try Self.file(Self.header, Array(Self.bytes.dropLast())) }
        #expect(throws: ModelError.Reason.self) {
            try Self.file(Self.header.replacingOccurrences(of: "[2,3]", with: "[2,4]"), Self.bytes)
        }
    }
}
