import Compute
import Foundation
import VectorSearch

/// The process of a command, which may have been started with closed streams or with too little memory.
public enum CommandProcess {
    /// Makes the process safe to run in. Call this first.
    ///
    /// - Closed standard streams get a file that fails, so that no other file gets their numbers and their output.
    /// - If standard output cannot be written, the process says so at its end, and its exit status is 1. A closed pipe
    ///   is quiet.
    /// - If the address space is too small for the libraries and a thread per core, the process ends with status 1.
    /// - If the process may not start eight threads, it ends with status 1.
    /// - If the working directory is gone, or its name is not UTF-8, it ends with status 64: relative paths would name
    ///   other files.
    /// - If the environment variable `LOOKALIKE_SIMD` names no instruction set of this CPU, or `LOOKALIKE_BLAS` cannot
    ///   take effect, it ends with status 64.
    /// - If an argument is not UTF-8, it ends with status 64. Swift would repair it, and a path would name another
    ///   file.
    public static func prepare() {
        StandardStreams.prepare()
        AddressSpace.check()
        ThreadLimit.check()
        RawArguments.check()
        if let problem = SIMDTarget.environmentProblem {
            StandardError.print("Error: \(problem.escaped). Set it to one of these, or unset it.")
            exit(EX_USAGE)
        }
        if let problem = BLAS.environmentProblem {
            StandardError.print("Error: \(problem.escaped).")
            exit(EX_USAGE)
        }
    }

    /// Ends the process with status 1 if the address space is too small for so many threads. Call this before they are
    /// started: without address space their allocations fail where nothing can be done about it.
    public static func checkAddressSpace(threads: Int) { AddressSpace.check(threads: threads) }
}

/// The arguments and the working directory as the system passes them. Swift repairs bytes that are not UTF-8; a path
/// would name another file.
private enum RawArguments {
    /// Ends the process if an argument, or the name of the working directory, is not UTF-8.
    static func check() {
        guard let folder = getcwd(nil, 0) else {
            // Relative paths would start at the root.
            StandardError.print("Error: the working directory is gone, or cannot be reached. Change to another one.")
            exit(EX_USAGE)
        }
        defer { free(folder) }
        if String(validatingCString: folder) == nil {
            let name = String(cString: folder)
            StandardError.print("Error: the working directory “\(name)” is not UTF-8. Rename it.")
            exit(EX_USAGE)
        }
        for case let argument? in UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        where String(validatingCString: argument) == nil {
            StandardError.print("Error: “\(String(cString: argument))” is not UTF-8. Rename the file or folder.")
            exit(EX_USAGE)
        }
    }
}
