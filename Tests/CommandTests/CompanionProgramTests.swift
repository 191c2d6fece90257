import Foundation
import TestSupport
import Testing

/// Subcommands that other programs do.
struct CompanionProgramTests {
    /// A copy of the command, beside which nothing was built.
    private static func command(in folder: TemporaryFolder) throws -> URL {
        let copy = folder.file("lookalike")
        try copyProgram(Command.executable, to: copy)
        return copy
    }

    /// By another process: what this one writes, a process that another test starts may hold open until it runs its
    /// program, and the system does not run a file that is open for writing.
    private static func copyProgram(_ file: URL, to copy: URL) throws {
        try #require(try Command.run(executable: "/bin/cp", [file.path, copy.path]).status == 0)
    }

    @Test(arguments: [(["serve"], "lookalike-serve"), (["model", "import"], "lookalike-import")])
    func theProgramInPathGetsAllArguments(subcommand: [String], name: String) throws {
        let folder = try TemporaryFolder()
        let script = try folder.write("#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 7\n", to: "bin/script")
        #expect(chmod(script.path, 0o755) == 0)
        try Self.copyProgram(script, to: folder.file("bin/\(name)"))
        let path = ["PATH": folder.file("bin").path + ":/usr/bin:/bin"]
        let result = try Command.run(
            executable: Self.command(in: folder), subcommand + ["--catalogs", "a b", "--help", "-v"],
            environment: path)
        #expect(result.status == 7)
        #expect(result.output == "--catalogs\na b\n--help\n-v\n")
    }

    @Test func aProgramThatIsNotThereIsAnErrorThatSaysHowToBuildIt() throws {
        let folder = try TemporaryFolder()
        // Neither a folder nor a file that cannot be run is the program.
        try FileManager.default.createDirectory(
            at: folder.file("one/lookalike-serve"), withIntermediateDirectories: true)
        _ = try folder.write("", to: "two/lookalike-serve")
        let path = ["PATH": folder.file("one").path + ":" + folder.file("two").path]
        let command = try Self.command(in: folder)
        let result = try Command.run(executable: command, ["serve"], environment: path)
        #expect(result.status == 1)
        #expect(result.errors.contains("lookalike-serve") && result.errors.contains("make service"))
        let other = try Command.run(executable: command, ["model", "import", "x.onnx"], environment: path)
        #expect(other.status == 1)
        #expect(other.errors.contains("lookalike-import") && other.errors.contains("make importer"))
    }
}
