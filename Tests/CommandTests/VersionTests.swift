import Catalogs
import Foundation
import Imaging
import TestSupport
import Testing

struct VersionTests {
    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: repository.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func theCommandPrintsTheVersion() throws {
        #expect(PackageVersion.current.wholeMatch(of: /[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?/) != nil)
        let result = try Command.run("--version")
        #expect(result.status == 0 && result.output == PackageVersion.current + "\n")
    }

    @Test func theCommandListsWhatItReads() throws {
        let result = try Command.run("formats")
        let lines = result.output.split(separator: "\n")
        #expect(result.status == 0 && lines.count == ImageFormat.all.count + 1)
        for (line, format) in zip(lines, ImageFormat.all) {
            #expect(line.hasPrefix(format.name) && line.contains(format.fileExtensions.joined(separator: ", ")))
            let library = format.library?.name ?? "none"
            #expect(line.contains("not in this build, which lacks \(library)") == !format.isDecoded, "\(line)")
        }
    }

    @Test func documentsNameTheVersion() throws {
        for document in ["README.md", "Sources/Lookalike/Lookalike.docc/FromCoversToSearch.md"] {
            #expect(try Self.text(document).contains("from: \"\(PackageVersion.current)\""), "\(document)")
        }
        #expect(try Self.text("CHANGELOG.md").contains("## [\(PackageVersion.current)]"))
        // “Scripts/release --version” writes it to all of them.
        for file in [
            "Extras/Service/Sources/LookalikeService/openapi.json", "Integrations/python/src/lookalike/__init__.py",
            "Integrations/spark/pyproject.toml", "Sources/Lookalike/Lookalike.docc/ForAppDevelopers.md",
        ] {
            #expect(try Self.text(file).contains("\"\(PackageVersion.current)\""), "\(file)")
        }
    }

    @Test func catalogInfoShowsTheVersionThatWrote() throws {
        let folder = try TemporaryFolder()
        try folder.write(SampleImage.blocks(seed: 1).pngData(), to: "images/a.png")
        let catalog = folder.file("catalog").path
        #expect(try Command.run("index", folder.file("images").path, "--catalog", catalog).status == 0)
        let info = try Command.run("catalog", "info", catalog).output
        #expect(info.contains("written by      Lookalike \(PackageVersion.current)\n"), "\(info)")
    }
}
