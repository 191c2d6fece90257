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

    /// More was processed than there was to do, which ended the process at a bar of a negative length.
    @Test func theBarOfATerminalEndsWithEntriesThatAreRefused() throws {
        let folder = try TemporaryFolder()
        let image = try SampleImage.blocks(seed: 1).pngData()
        try folder.write(image, to: "images/a.png")
        // Refused before they are read as images.
        let bitmap = Data("BM".utf8) + Data(count: 12) + Data([40, 0, 0, 0]) + Data(count: 40)
        for name in ["b.bmp", "c.bmp"] { try folder.write(bitmap, to: "images/\(name)") }
        var (terminal, end): (Int32, Int32) = (-1, -1)
        try #require(openpty(&terminal, &end, nil, nil, nil) == 0)
        defer {
            close(terminal)
            close(end)
        }
        let name = try #require(ttyname(end).map { String(cString: $0) })
        let result = try Self.shell(
            "exec \"$0\" \"$@\" 2>\(name)",
            ["index", folder.file("images").path, "--catalog", folder.file("catalog").path])
        #expect(result.status == 3 && result.output.contains("1 added"), "\(result)")
        var shown = [UInt8](repeating: 0, count: 65_536)
        let count = read(terminal, &shown, shown.count)
        let text = String(decoding: shown.prefix(max(0, count)), as: UTF8.self)
        #expect(text.contains(String(repeating: "█", count: 30) + " 3 of 3, "), "\(text)")
    }

    @Test func aReaderThatHasEnoughIsNoError() throws {
        let result = try Self.shell("\"$0\" model info | true", [])
        #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    }

    @Test func tooLittleAddressSpaceIsAnError() throws {
        let result = try Self.shell("ulimit -v 300000; exec \"$0\" model info", [])
        #expect(result.status == 1)
        #expect(result.errors.contains("the address space is limited to 292 MiB"), "\(result.errors)")
        // More threads need more.
        let many = try Self.shell("ulimit -v 1000000; exec \"$0\" search --jobs 64 --catalog none x.png", [])
        #expect(many.status == 1)
        #expect(many.errors.contains("limited to 976 MiB, and 1408 MiB are needed"), "\(many.errors)")
    }

    /// Swift repairs its name, and the catalog was made in another folder.
    @Test func aWorkingDirectoryThatIsNotUTF8IsRefused() throws {
        let folder = try TemporaryFolder()
        let script = "cd \(folder.url.path) && mkdir \"$(printf 'bad\\377')\" && cd bad* && exec \"$0\" model info"
        let result = try Self.shell(script, [])
        #expect(result.status == 64 && result.errors.contains("the working directory"), "\(result.errors)")
    }

    /// Relative paths started at the root.
    @Test func aWorkingDirectoryThatIsGoneIsAnError() throws {
        let folder = try TemporaryFolder()
        let script = "cd \(folder.url.path) && mkdir gone && cd gone && rmdir ../gone && exec \"$0\" model info"
        let result = try Self.shell(script, [])
        #expect(result.status == 64 && result.errors.contains("is gone"), "\(result.errors)")
    }
}
