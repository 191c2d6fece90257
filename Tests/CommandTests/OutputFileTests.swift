import Foundation
import Imaging
import TestSupport
import Testing

/// What commands write when their work is done, where something else is in the file's place.
@Suite(.serialized) struct OutputFileTests {
    private let folder: TemporaryFolder
    private let image: String

    init() throws {
        folder = try TemporaryFolder()
        image = try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "images/a.png").path
    }

    private func embed(to output: String) throws -> Command.Result {
        try Command.run("embed", image, "--output", output)
    }

    private func kind(of path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
    }

    @Test func aLinkStaysAndItsTargetIsWritten() throws {
        let target = try folder.write("before", to: "target.npy")
        let link = folder.file("link.npy")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
        #expect(try embed(to: link.path).status == 0)
        #expect(kind(of: link.path) == S_IFLNK)
        #expect(try Data(contentsOf: target).starts(with: [0x93] + Data("NUMPY".utf8)))
    }

    @Test func aLinkToAFileThatIsNotThereYetMakesIt() throws {
        try FileManager.default.createDirectory(at: folder.file("sub"), withIntermediateDirectories: true)
        let link = folder.file("link.npy").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "sub/target.npy")
        #expect(try embed(to: link).status == 0)
        #expect(kind(of: link) == S_IFLNK && kind(of: folder.file("sub/target.npy").path) == S_IFREG)
        try FileManager.default.removeItem(at: folder.file("sub"))
        let refused = try embed(to: link)
        #expect(refused.status == 64 && refused.errors.contains("there is no folder"), "\(refused.errors)")
    }

    @Test func aPipeStaysAndGetsTheContents() throws {
        let pipe = folder.file("pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)
        let script = "\"$0\" embed \"$1\" --output \"$2\" & cat \"$2\" | head -c 6 | tail -c 5"
        let result = try Command.run(executable: "/bin/sh", ["-c", script, Command.executable.path, image, pipe])
        #expect(result.output == "NUMPY", "\(result.errors)")
        #expect(kind(of: pipe) == S_IFIFO)
    }

    @Test func standardOutputIsNamedByItsPath() throws {
        let script =
            "echo first > \"$2\"; \"$0\" embed \"$1\" --output /dev/stdout | head -c 6 | tail -c 5; "
            + "\"$0\" embed \"$1\" --output /dev/stdout >> \"$2\""
        let file = folder.file("added.npy")
        let result = try Command.run(executable: "/bin/sh", ["-c", script, Command.executable.path, image, file.path])
        #expect(result.status == 0 && result.output == "NUMPY", "\(result.errors)")
        #expect(try Data(contentsOf: file).starts(with: Data("first\n".utf8) + [0x93] + Data("NUMPY".utf8)))
    }

    @Test func aFileKeepsItsPermissions() throws {
        let file = try folder.write("before", to: "own.npy").path
        chmod(file, 0o600)
        #expect(try embed(to: file).status == 0)
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o7777 == 0o600 && status.st_size > 128)
    }

    @Test func foldersAndEmptyPathsAreRefusedBeforeTheWork() throws {
        let isFolder = try embed(to: folder.url.path)
        #expect(isFolder.status == 64 && isFolder.errors.contains("cannot be written: it is a folder"))
        #expect(try embed(to: "").status == 64)
        let images = folder.file("images").path
        let nowhere = try Command.run("model", "descriptors", images, "--output", folder.file("no/x.npy").path)
        #expect(nowhere.status == 64 && nowhere.errors.contains("there is no folder"), "\(nowhere.errors)")
        #expect(try Command.run("index", images, "--catalog", "").status == 64)
        #expect(try Command.run("index", "", "--catalog", folder.file("catalog").path).status == 64)
    }
}
