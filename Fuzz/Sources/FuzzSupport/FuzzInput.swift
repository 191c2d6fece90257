import Dispatch
import Foundation

/// The bytes of one execution.
public struct FuzzInput {
    /// All of them.
    public let data: Data

    /// Copies what libFuzzer passed, so that a read beyond its end is found.
    public init(_ bytes: UnsafePointer<UInt8>, _ count: Int) { data = Data(bytes: bytes, count: count) }

    /// A part of an input.
    public init(_ data: Data) { self.data = data }

    /// The first byte chooses what the others are; nil without a byte.
    public func choice<Element>(of list: [Element]) -> (Element, Data)? {
        data.first.map { (list[Int($0) % list.count], data.dropFirst()) }
    }
}

/// A folder of this process, on a file system in memory where there is one.
public enum FuzzFolder {
    /// Emptied by nobody: an execution overwrites the files of the one before.
    public static let url: URL = {
        let memory = URL(fileURLWithPath: "/dev/shm")
        let parent =
            FileManager.default.fileExists(atPath: memory.path) ? memory : FileManager.default.temporaryDirectory
        let url = parent.appendingPathComponent("lookalike-fuzz-\(ProcessInfo.processInfo.processIdentifier)")
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            fatalError("\(url.path) cannot be made: \(error)")
        }
        atexit { try? FileManager.default.removeItem(at: FuzzFolder.url) }
        return url
    }()

    /// A network so small that the time goes to what is tried.
    public static let smallModel = URL(fileURLWithPath: #filePath)
        .appendingPathComponent("../../../../Tests/FeaturePrintTests/Fixtures/odd.safetensors").standardized

    /// Writes a file of the folder.
    public static func write(_ data: Data, to name: String) -> URL {
        let file = url.appendingPathComponent(name)
        do {
            try data.write(to: file)
        } catch {
            fatalError("\(file.path) cannot be written: \(error)")
        }
        return file
    }
}

/// Runs asynchronous code to its end. The calling thread is not one of Swift's.
public func wait(for body: @escaping @Sendable () async -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        await body()
        done.signal()
    }
    done.wait()
}
