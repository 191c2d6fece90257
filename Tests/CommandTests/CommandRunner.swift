import Foundation
import Synchronization

/// The built command, run as a person would.
enum Command {
    struct Result {
        let status: Int32
        let output: String
        let errors: String
    }

    /// Beside the tests' own executable.
    static let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("lookalike")

    /// Foundation's pipes are inherited by every process that is spawned while they are open, and a pipe ends when all
    /// of those have closed it. So no process is spawned while another's pipes are made.
    private static let spawning = Mutex(())

    static func start(
        executable: URL = Command.executable, _ arguments: [String], input: Data? = nil,
        environment: [String: String] = [:]
    ) throws -> (Process, Pipe, Pipe) {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (inputPipe, output, errors) = try spawning.withLock { _ in
            let pipes = (input.map { _ in Pipe() }, Pipe(), Pipe())
            process.standardInput = pipes.0 ?? FileHandle.nullDevice
            (process.standardOutput, process.standardError) = (pipes.1, pipes.2)
            try process.run()
            return pipes
        }
        if let inputPipe, let input {
            try inputPipe.fileHandleForWriting.write(contentsOf: input)
            try inputPipe.fileHandleForWriting.close()
        }
        return (process, output, errors)
    }

    static func run(_ arguments: String..., input: Data? = nil, environment: [String: String] = [:]) throws -> Result {
        try run(arguments, input: input, environment: environment)
    }

    /// Runs a program that runs the command.
    static func run(executable: String, _ arguments: [String]) throws -> Result {
        try run(executable: URL(fileURLWithPath: executable), arguments)
    }

    static func run(
        executable: URL = Command.executable, _ arguments: [String], input: Data? = nil,
        environment: [String: String] = [:]
    ) throws -> Result {
        let (process, output, errors) = try start(
            executable: executable, arguments, input: input, environment: environment)
        let out = output.fileHandleForReading.readDataToEndOfFile()
        let err = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus, output: String(decoding: out, as: UTF8.self),
            errors: String(decoding: err, as: UTF8.self))
    }

    /// Runs the command with its output on this process's, and returns its status and its largest resident size in
    /// kilobytes.
    ///
    /// The size that `wait4` tells includes that of this process, which spawned the command (`exec_mmap` in Linux's
    /// `fs/exec.c`), and other tests take gigabytes. So the command's own, `VmHWM` of `/proc`, is read until it ends.
    static func memory(_ arguments: String...) throws -> (status: Int32, kilobytes: Int) {
        var strings = ([executable.path] + arguments).map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        var (process, status, largest) = (pid_t(), CInt(), 0)
        let failure = posix_spawn(&process, executable.path, nil, nil, &strings, environ)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO) }
        while true {
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process { return (status >> 8, largest) }
            guard ended == 0 || errno == EINTR else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ECHILD) }
            let report = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
            if let size = report.firstMatch(of: /VmHWM:\s*([0-9]+) kB/)?.1 { largest = max(largest, Int(size) ?? 0) }
            usleep(1_000)
        }
    }
}
