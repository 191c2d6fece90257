import Foundation
import Imaging
import TestSupport
import Testing

/// Streams that are closed, full, or pipes that nobody reads. The shell redirects: “$0” is the command.
@Suite(.serialized) struct StandardStreamTests {
    private static func shell(_ script: String, _ arguments: [String]) throws -> Command.Result {
        try Command.run(executable: "/bin/sh", ["-c", script, Command.executable.path] + arguments)
    }

    private static func image() throws -> (folder: TemporaryFolder, path: String) {
        let folder = try TemporaryFolder()
        return (folder, try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "a.png").path)
    }

    /// The last has its error messages written to a pipe whose reader has ended.
    @Test(arguments: ["2>&-", "2>/dev/full", "2>\"$2\""])
    func resultsAreWrittenWithoutStandardError(redirection: String) throws {
        let (folder, path) = try Self.image()
        let pipe = folder.file("pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)
        // A reader that is there while the command opens the pipe, and gone when it writes to it.
        let reader = redirection.contains("$2") ? "(exec 3<\"$2\") & " : ""
        let script = reader + "\"$0\" embed \"$1\" /nowhere.png \"$1\" \(redirection); echo status $?"
        let result = try Self.shell(script, [path, pipe])
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 3 && lines.last == "status 3", "\(result.output)")
        #expect(lines.first?.hasPrefix("{") == true)
    }

    @Test(arguments: [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
    func outputThatCannotBeWrittenIsAFailure(redirection: String, says: String) throws {
        let (folder, path) = try Self.image()
        for arguments in [["embed", path], ["model", "info"], ["--help"]] {
            let result = try Self.shell("exec \"$0\" \"$@\" \(redirection)", arguments)
            #expect(result.status == 1, "\(arguments)")
            #expect(result.errors == "standard output: cannot be written: \(says)\n", "\(arguments)")
        }
        withExtendedLifetime(folder) {}
    }

    @Test func aReaderThatHasEnoughIsNoError() throws {
        let result = try Self.shell("\"$0\" model info | true", [])
        #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    }

    @Test func tooLittleAddressSpaceIsAnError() throws {
        let result = try Self.shell("ulimit -v 300000; exec \"$0\" model info", [])
        #expect(result.status == 1)
        #expect(result.errors.contains("the address space is limited to 292 MiB"), "\(result.errors)")
    }
}
