import Foundation
import TestSupport
import Testing

/// Subcommands that other programs do.
struct CompanionProgramTests {
    @Test func theProgramInPathGetsAllArguments() throws {
        let folder = try TemporaryFolder()
        let program = try folder.write("#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 7\n", to: "bin/lookalike-serve")
        #expect(chmod(program.path, 0o755) == 0)
        let path = ["PATH": folder.file("bin").path + ":/usr/bin:/bin"]
        let result = try Command.run(["serve", "--catalogs", "a b", "--help", "-v"], environment: path)
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
        let result = try Command.run(["serve"], environment: path)
        #expect(result.status == 1)
        #expect(result.errors.contains("lookalike-serve") && result.errors.contains("make service"))
    }
}
