import Foundation
import Synchronization

/// A process with pipes. What waits for it does so on a thread of its own: the concurrency runtime may have two, and
/// the test that the process waits for needs one of them.
final class Subprocess: @unchecked Sendable {
    static let service = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("lookalike-serve")
    static let shell = URL(fileURLWithPath: "/bin/sh")

    let process = Process()
    private let outputPipe: Pipe
    private let errorPipe: Pipe?

    /// Foundation's pipes are inherited by every process that is spawned while they are open, and a pipe ends when all
    /// of those have closed it. So no process is spawned while another's pipes are made.
    private static let spawning = Mutex(())

    /// - Parameters:
    ///   - variables: of the environment, besides those of this process.
    ///   - hasErrorPipe: whether standard error is a pipe, too.
    init(
        _ executable: URL, _ arguments: [String], variables: [String: String] = [:], hasErrorPipe: Bool = true
    ) throws {
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        (outputPipe, errorPipe) = try Self.spawning.withLock { [process] _ in
            let (output, errors) = (Pipe(), hasErrorPipe ? Pipe() : nil)
            process.standardOutput = output
            if let errors { process.standardError = errors }
            try process.run()
            return (output, errors)
        }
    }

    /// A test that fails leaves no process.
    deinit { if process.isRunning { process.terminate() } }

    var output: FileHandle { outputPipe.fileHandleForReading }

    /// - Precondition: standard error is a pipe.
    var errors: FileHandle { errorPipe!.fileHandleForReading }

    func terminate() { process.terminate() }

    /// Waits until the process has ended.
    func exit() async throws -> (reason: Process.TerminationReason, status: Int32) {
        try await onOwnThread { [self] in process.waitUntilExit() }
        return (process.terminationReason, process.terminationStatus)
    }
}

extension FileHandle {
    /// Everything up to the end.
    func everything() async throws -> Data {
        try await onOwnThread { [self] in try readToEnd() ?? Data() }
    }

    /// What comes until `isEnough` of it is read, or to the end.
    func bytes(until isEnough: @escaping @Sendable (Data) -> Bool) async throws -> Data {
        try await onOwnThread { [self] in
            var bytes = Data()
            while !isEnough(bytes), let byte = try read(upToCount: 1), !byte.isEmpty { bytes += byte }
            return bytes
        }
    }
}

/// The result of a closure that waits, called on a thread of its own.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
