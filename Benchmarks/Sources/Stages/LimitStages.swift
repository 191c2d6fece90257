import CLimits
import Foundation

/// Reads a file's bytes in memory, once, on one thread.
final class ReadStage: Stage {
    private let memory: FileBytes

    init(_ description: StageDescription) throws {
        memory = try FileBytes(try description.file("bytes"), largePages: description.options["pages"] == "large")
    }

    func run() -> Double { milliseconds { limit_read(memory.bytes.baseAddress, memory.bytes.count) }.0 }

    var result: [Float] { [] }
}

/// The time of a billion multiply-adds at the peak of the machine, on one thread.
final class MultiplyAddStage: Stage {
    func run() -> Double {
        let (time, count) = milliseconds { limit_multiply_add(400_000) }
        return time / Double(count) * 1e9
    }

    var result: [Float] { [] }
}

/// The streaming read and the multiply-adds that a stage is compared with in the quick mode.
public enum Limit {
    /// Milliseconds to read the bytes once.
    public static func reading(_ bytes: UnsafeRawBufferPointer) -> Double {
        milliseconds { limit_read(bytes.baseAddress, bytes.count) }.0
    }

    /// Milliseconds for this many float32 multiply-adds on one core.
    public static func multiplyAdds(_ count: Int) -> Double {
        let (time, done) = milliseconds { limit_multiply_add(100_000) }
        return time / Double(done) * Double(count)
    }
}
