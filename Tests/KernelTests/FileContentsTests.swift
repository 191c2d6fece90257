import Compute
import Foundation
import TestSupport
import Testing

struct FileContentsTests {
    private static func reading(_ url: URL, limit: Int = 10) -> Result<Data, FileReadError> {
        Result { () throws(FileReadError) in try contents(ofFile: url.path, limit: limit) }
    }

    /// The path may name another file than before by the time that it is opened.
    private static func readingDescriptor(_ url: URL, limit: Int = 10) -> Result<Data, FileReadError> {
        let descriptor = open(url.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(descriptor) }
        return Result { () throws(FileReadError) in try contents(ofDescriptor: descriptor, limit: limit) }
    }

    @Test(arguments: [reading, readingDescriptor])
    func onlyRegularFilesWithinTheLimitAreRead(reading: @Sendable (URL, Int) -> Result<Data, FileReadError>) throws {
        let folder = try TemporaryFolder()
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        #expect(reading(pipe, 10) == .failure(.notAFile), "a pipe nobody writes to would wait for ever")
        #expect(reading(folder.url, 10) == .failure(.notAFile))
        #expect(reading(URL(fileURLWithPath: "/dev/zero"), 10) == .failure(.notAFile))
        let file = try folder.write("0123456789", to: "ten")
        #expect(reading(file, 10) == .success(Data("0123456789".utf8)))
        #expect(reading(file, 9) == .failure(.tooLarge(bytes: 10, limit: 9)))
        #expect(reading(try folder.write(Data(), to: "empty"), 10) == .success(Data()))
    }

    @Test func whatCannotBeOpenedIsAnErrorOfTheSystem() throws {
        let folder = try TemporaryFolder()
        #expect(Self.reading(folder.file("missing")) == .failure(.unreadable("No such file or directory")))
        let loop = folder.file("loop")
        try FileManager.default.createSymbolicLink(at: loop, withDestinationURL: loop)
        guard case .failure(.unreadable) = Self.reading(loop) else {
            Issue.record("a link to itself was read"); return
        }
    }

    /// Large files are read into other memory than small ones.
    @Test(arguments: [(2 << 20) - 1, 2 << 20, (4 << 20) + 3]) func largeFilesAreReadWhole(size: Int) throws {
        let folder = try TemporaryFolder()
        let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
        #expect(Self.reading(try folder.write(data, to: "large"), limit: size) == .success(data))
    }
}
