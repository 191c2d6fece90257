import Catalogs
import DefaultModel
import FeaturePrints
import Foundation
import Imaging
import TestSupport
import Testing

/// Catalogs under other users, full disks, and kills.
struct StorageCommandTests {
    private static func images(_ count: Int, in folder: TemporaryFolder) throws -> String {
        for index in 0..<count {
            try folder.write(
                SampleImage.blocks(seed: UInt64(index), width: 200, height: 160).pngData(), to: "images/i\(index).png")
        }
        return folder.file("images").path
    }

    /// Runs the command as a user who may read the catalog and write nothing in it.
    private static func runUnprivileged(_ arguments: [String], in catalog: String) throws -> Command.Result {
        guard getuid() == 0 else {
            // The owner without the right to write.
            chmod(catalog, 0o555)
            defer { chmod(catalog, 0o755) }
            return try Command.run(arguments)
        }
        return try Command.run(
            executable: "/usr/bin/setpriv",
            ["--reuid=65534", "--regid=65534", "--clear-groups", Command.executable.path] + arguments)
    }

    /// Runs the command so that every write to a file fails.
    private static func runOnFullDisk(_ arguments: [String]) throws -> Command.Result {
        try Command.run(
            executable: "/bin/bash",
            ["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "bash", Command.executable.path] + arguments)
    }

    /// Whether another user can run the command at all.
    private static let canRunUnprivileged: Bool = {
        guard let folder = try? TemporaryFolder() else { return false }
        chmod(folder.url.path, 0o755)
        return (try? runUnprivileged(["--help"], in: folder.url.path))?.status == 0
    }()

    /// A merge that is killed at any moment leaves a whole catalog or none, and the next one completes it.
    @Test func aKilledMergeIsCompletedByTheNext() async throws {
        let folder = try TemporaryFolder()
        let model = try FeaturePrintModel.default()
        for (part, numbers) in [("a", 0..<6000), ("b", 5000..<9000)] {
            let items = numbers.map { number in
                var vector = [Float](repeating: 0, count: model.dimension)
                vector[number % model.dimension] = 1
                return IndexItem(
                    CatalogEntity(id: "\(number)"),
                    image: .print(FeaturePrint(vector: vector, model: model.identity)))
            }
            _ = try CatalogIndexer(at: folder.file(part), localFeatures: false).index(items)
        }
        let merged = folder.file("merged").path
        let arguments = ["catalog", "merge", folder.file("a").path, folder.file("b").path, "--into", merged]
        for delay in [40_000, 80_000, 160_000, 320_000] as [UInt32] {
            let (process, _, _) = try Command.start(arguments)
            usleep(delay)
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            guard FileManager.default.fileExists(atPath: merged + "/catalog.sqlite") else { continue }
            #expect(try Command.run("catalog", "verify", merged).status == 0)
        }
        let result = try Command.run(arguments)
        #expect(result.status == 0)
        #expect(result.errors.contains("1000 of its entities are taken from a catalog that is named later"))
        let numbers = result.output.matches(of: /[0-9]+/).compactMap { Int($0.output) }
        #expect(numbers.reduce(0, +) == 9000, "\(result.output)")
        #expect(try Command.run("catalog", "verify", merged).output == "9000 entities, all intact\n")
        #expect(try Command.run(arguments).output == "0 added, 0 updated, 9000 unchanged\n")
    }

    @Test func whatIsExportedIsImported() throws {
        let folder = try TemporaryFolder()
        let (images, catalog) = (try Self.images(3, in: folder), folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        let (out, copy) = (folder.file("out").path, folder.file("copy").path)
        #expect(try Command.run("catalog", "export", catalog, "--output", out).status == 0)
        let arguments = ["catalog", "import", out + "/prints.npy", "--entities", out + "/entities.jsonl"]
        let result = try Command.run(arguments + ["--catalog", copy])
        #expect(result.output == "3 added, 0 updated, 0 unchanged\n")
        let search = ["search", images + "/i1.png", "--effort", "prints", "--json", "--catalog"]
        let answer = try Command.run(search + [copy]).output
        #expect(answer.contains(#""id":"i1""#))
        #expect(try Command.run(search + [catalog]).output == answer)
        // Prints of another dimension make no catalog.
        try folder.write(NumPyFile.data([[1, 0], [0, 1], [1, 0]], columns: 2), to: "out/prints.npy")
        let none = folder.file("none").path
        let refused = try Command.run(arguments + ["--catalog", none])
        #expect(refused.status == 1)
        #expect(refused.errors.contains("out/prints.npy: its rows have 2 components"), "\(refused.errors)")
        #expect(!FileManager.default.fileExists(atPath: none))
    }

    private static func lines(_ result: Command.Result) -> [Substring] { result.output.split(separator: "\n") }

    /// Commands waited forever.
    @Test(.enabled(if: canRunUnprivileged)) func tooFewThreadsAreAnError() throws {
        // The user who may do everything has no limit.
        let user = getuid() == 0 ? "exec setpriv --reuid=65534 --regid=65534 --clear-groups" : "exec"
        let script = "\(user) bash -c 'ulimit -u 1; exec \"$0\" model info' \"$0\""
        let result = try Command.run(executable: "/bin/bash", ["-c", script, Command.executable.path])
        #expect(result.status == 1)
        #expect(result.errors.contains("of 8 threads can be started"), "\(result.errors)")
    }

    /// Two slashes at the start of an address are followed by a host.
    @Test(.enabled(if: canRunUnprivileged)) func aReadOnlyCatalogAtAPathWithTwoSlashes() throws {
        let folder = try TemporaryFolder()
        chmod(folder.url.path, 0o755)
        let (images, catalog) = (try Self.images(1, in: folder), folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        for suffix in ["-wal", "-shm"] { unlink(catalog + "/catalog.sqlite" + suffix) }
        let result = try Self.runUnprivileged(["catalog", "list", "/" + catalog], in: catalog)
        #expect(result.status == 0 && result.output == "i0\n", "\(result.errors)")
    }

    /// Eight images of 61 MB were in memory at once.
    @Test func fewDecodedImagesAreInMemory() throws {
        let folder = try TemporaryFolder()
        let side = 4_500
        let pixels = [UInt8](repeating: 90, count: side * side * 3)
        let file = try PixelBuffer(wrapping: pixels, width: side, height: side, format: .rgb8).pngData()
        for number in 0..<8 { try folder.write(file, to: "images/\(number).png") }
        let catalog = folder.file("catalog").path
        let run = try Command.memory("index", folder.file("images").path, "--catalog", catalog, "--jobs", "1")
        #expect(run.status == 0 && (1..<400_000).contains(run.kilobytes), "\(run)")
    }

    @Test func imagesWithMoreMegapixelsAreRefusedAndTheOthersIndexed() throws {
        let folder = try TemporaryFolder()
        let images = try Self.images(2, in: folder)
        try folder.write(SampleImage.blocks(seed: 9, width: 20, height: 20).pngData(), to: "images/small.png")
        let index = ["index", images, "--catalog", folder.file("catalog").path]
        let result = try Command.run(index + ["--max-megapixels", "0.03"])
        #expect(result.status == 3 && result.output.contains("1 added"), "\(result)")
        #expect(result.errors.contains("i1.png: has 200×160 pixels, more than the limit of 30000"), "\(result)")
        #expect(try Command.run(index + ["--max-megapixels", "0.04"]).output.contains("2 added"))
        let wrong = try Command.run(index + ["--max-megapixels", "nan"])
        #expect(wrong.status == 64 && wrong.errors.contains("--max-megapixels must be above 0, and at most 4294."))
    }

    @Test(.enabled(if: canRunUnprivileged)) func aReaderWithoutWriteAccess() throws {
        let folder = try TemporaryFolder()
        chmod(folder.url.path, 0o755)
        let (images, catalog) = (try Self.images(6, in: folder), folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        func check(_ step: String) throws {
            let list = try Self.runUnprivileged(["catalog", "list", catalog], in: catalog)
            #expect(Self.lines(list).count == 6, "\(step): \(list.errors)")
            let search = try Self.runUnprivileged(
                ["search", "--catalog", catalog, images + "/i3.png", "--effort", "prints"], in: catalog)
            #expect(search.status == 0 && search.output.contains("i3"), "\(step): \(search.errors)")
        }
        try check("as indexed")
        let verdict = try Self.runUnprivileged(["catalog", "verify", catalog], in: catalog)
        #expect(verdict.status == 0, "\(verdict.output)\(verdict.errors)")
        for name in ["prints.matrix", "features.lists"] {
            try FileManager.default.removeItem(at: folder.file("catalog/\(name)"))
        }
        try check("without derived files")
        for name in ["catalog.sqlite-wal", "catalog.sqlite-shm"] {
            try FileManager.default.removeItem(at: folder.file("catalog/\(name)"))
        }
        try check("copied without the log")
    }

    /// What a killed indexer committed is in the log, which nobody can write to.
    @Test(.enabled(if: canRunUnprivileged)) func aReaderWithoutWriteAccessAfterAKill() throws {
        let folder = try TemporaryFolder()
        chmod(folder.url.path, 0o755)
        let (images, catalog) = (try Self.images(300, in: folder), folder.file("catalog").path)
        #expect(try Command.run("index", images + "/../none.csv", "--catalog", catalog).status == 1)
        let (process, _, _) = try Command.start(["index", images, "--catalog", catalog, "--jobs", "1"])
        var committed = 0
        for _ in 0..<600 where committed < 24 && process.isRunning {
            usleep(50_000)
            committed = Self.lines(try Command.run("catalog", "list", catalog)).count
        }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(committed >= 24 && committed < 300, "seen before the kill: \(committed)")
        #expect(try #require(FileManager.default.contents(atPath: catalog + "/catalog.sqlite-wal")).count > 0)
        let list = try Self.runUnprivileged(["catalog", "list", catalog], in: catalog)
        #expect(Self.lines(list).count >= committed, "\(list.errors)")
        let verdict = try Self.runUnprivileged(["catalog", "verify", catalog], in: catalog)
        #expect(verdict.status == 0, "\(verdict.output)\(verdict.errors)")
        let search = try Self.runUnprivileged(
            ["search", "--catalog", catalog, images + "/i0.png", "--effort", "prints"], in: catalog)
        #expect(search.status == 0, "\(search.errors)")
        // The owner's next command makes the derived files, so that all that was committed is found.
        #expect(try Command.run("catalog", "verify", catalog).status == 0)
        let owners = Self.lines(try Command.run("catalog", "list", catalog))
        #expect(owners.count == Self.lines(list).count)
    }

    @Test(.enabled(if: canRunUnprivileged)) func readersWithoutWriteAccessWhileAnIndexerWorks() throws {
        let folder = try TemporaryFolder()
        chmod(folder.url.path, 0o755)
        let (images, catalog) = (try Self.images(40, in: folder), folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        var runs = 0
        for round in 0..<4 {
            for index in 0..<40 where index % 4 == round {
                let image = SampleImage.blocks(seed: UInt64(100 + index + round), width: 200, height: 160)
                try folder.write(image.pngData(), to: "images/i\(index).png")
            }
            let (process, _, _) = try Command.start(["index", images, "--catalog", catalog, "--jobs", "1"])
            while process.isRunning {
                let list = try Self.runUnprivileged(["catalog", "list", catalog], in: catalog)
                #expect(Self.lines(list).count == 40, "\(list.errors)")
                let search = try Self.runUnprivileged(
                    ["search", "--catalog", catalog, images + "/i1.png", "--effort", "prints"], in: catalog)
                #expect(search.status == 0, "\(search.errors)")
                let verdict = try Self.runUnprivileged(["catalog", "verify", catalog], in: catalog)
                #expect(verdict.status == 0, "\(verdict.output)\(verdict.errors)")
                runs += 1
            }
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
        }
        #expect(runs > 0)
    }

    @Test func searchingOnAFullDisk() throws {
        let folder = try TemporaryFolder()
        let (images, catalog) = (try Self.images(6, in: folder), folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        func check(_ step: String) throws {
            for arguments in [
                ["search", "--catalog", catalog, images + "/i3.png", "--effort", "prints"],
                ["search", "--catalog", catalog, images + "/i3.png"],
                ["catalog", "list", catalog],
            ] {
                let result = try Self.runOnFullDisk(arguments)
                #expect(result.status == 0 && result.output.contains("i3"), "\(step): \(result.errors)")
            }
        }
        try check("as indexed")
        try FileManager.default.removeItem(at: folder.file("catalog/prints.matrix"))
        try check("without the matrix")
        try FileManager.default.removeItem(at: folder.file("catalog/features.lists"))
        try check("without the inverted lists")
        for name in ["catalog.sqlite-wal", "catalog.sqlite-shm"] {
            try FileManager.default.removeItem(at: folder.file("catalog/\(name)"))
        }
        try check("without the log")
    }

    @Test func largeSortsAreWhereTMPDIRSays() throws {
        let folder = try TemporaryFolder()
        let input = try Self.images(2, in: folder)
        let catalog = folder.file("catalog").path
        let missing = folder.file("missing").path
        let refused = try Command.run("index", input, "--catalog", catalog, environment: ["TMPDIR": missing])
        #expect(refused.status == 1)
        #expect(refused.errors.contains("\(missing): cannot be written: No such file or directory"))
        #expect(try Command.run("index", input, "--catalog", catalog).status == 0)
        #expect(try Command.run("catalog", "verify", catalog).output.contains("2 entities, all intact"))
    }

    /// Ends the first index run when a file reaches a size, for many sizes.
    @Test func aCatalogIsThereOrNotThere() throws {
        let folder = try TemporaryFolder()
        let images = try Self.images(2, in: folder)
        var outcomes: Set<Bool> = []
        for kilobytes in stride(from: 0, through: 240, by: 12) {
            let catalog = folder.file("catalog\(kilobytes)").path
            _ = try Command.run(
                executable: "/bin/bash",
                [
                    "-c", "ulimit -f \(kilobytes); exec \"$@\"", "bash", Command.executable.path, "index", images,
                    "--catalog", catalog,
                ])
            let result = try Command.run("catalog", "info", catalog)
            outcomes.insert(result.status == 0)
            #expect(
                result.status == 0 || result.errors.contains("holds no catalog"), "\(kilobytes) kB: \(result.errors)")
            #expect(try Command.run("index", images, "--catalog", catalog).status == 0, "\(kilobytes) kB")
            #expect(try Command.run("catalog", "verify", catalog).output == "2 entities, all intact\n")
        }
        #expect(outcomes == [true, false], "no run ended before the database was made, or none after")
    }

    @Test func aFolderNameThatIsNotUTF8IsRefused() throws {
        let folder = try TemporaryFolder()
        let images = try Self.images(1, in: folder)
        let result = try Command.run(
            executable: "/bin/bash",
            [
                "-c", #"cd "$1" && exec "$2" index images --catalog $'bad\xff'"#, "bash", folder.url.path,
                Command.executable.path,
            ])
        #expect(result.status == 64 && result.errors.contains("is not UTF-8"), "\(result.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["images"])
        #expect(try Command.run("index", images, "--catalog", folder.file("good").path).status == 0)
    }

    @Test func pruningWithAnEmptyFolderIsRefused() throws {
        let folder = try TemporaryFolder()
        let (images, catalog) = (try Self.images(3, in: folder), folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        try FileManager.default.removeItem(atPath: images)
        try FileManager.default.createDirectory(atPath: images, withIntermediateDirectories: true)
        let refused = try Command.run("index", images, "--catalog", catalog, "--prune")
        #expect(refused.status == 1 && refused.errors.contains("Is its disk mounted?"), "\(refused.errors)")
        #expect(Self.lines(try Command.run("catalog", "list", catalog)).count == 3)
        let forced = try Command.run("index", images, "--catalog", catalog, "--prune", "--force")
        #expect(forced.output == "0 added, 0 updated, 0 unchanged, 3 removed\n", "\(forced.errors)")
    }

    @Test func pruningStaysAmongTheFoldersOfItsInput() throws {
        let folder = try TemporaryFolder()
        let (images, catalog) = (try Self.images(3, in: folder), folder.file("catalog").path)
        let other = folder.file("other")
        try FileManager.default.copyItem(at: URL(fileURLWithPath: images), to: other.appendingPathComponent("x"))
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        #expect(try Command.run("index", other.path, "--catalog", catalog).status == 0)
        try FileManager.default.removeItem(at: other)
        let pruned = try Command.run("index", images, "--catalog", catalog, "--prune")
        #expect(pruned.status == 0 && pruned.output.hasSuffix("3 unchanged, 0 removed\n"), "\(pruned.output)")
        #expect(pruned.errors.contains("may be on a disk that is not mounted stay: 3;"), "\(pruned.errors)")
        let forced = try Command.run("index", images, "--catalog", catalog, "--prune", "--force")
        #expect(forced.output.hasSuffix("3 unchanged, 3 removed\n"), "\(forced.output)")
    }

    /// A folder below the input may be where a disk is mounted.
    @Test func pruningDoesNotEmptyAFolderThatBecameEmpty() throws {
        let folder = try TemporaryFolder()
        let (images, catalog) = (try Self.images(3, in: folder), folder.file("catalog").path)
        for name in ["disk/deep/a.png", "gone/b.png"] {
            try folder.write(SampleImage.blocks(seed: 9).pngData(), to: "images/" + name)
        }
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        try FileManager.default.removeItem(at: folder.file("images/disk/deep"))
        try FileManager.default.removeItem(at: folder.file("images/gone"))
        let pruned = try Command.run("index", images, "--catalog", catalog, "--prune")
        #expect(pruned.status == 0 && pruned.output.hasSuffix("3 unchanged, 1 removed\n"), "\(pruned.output)")
        #expect(pruned.errors.contains("may be on a disk that is not mounted stay: 1;"), "\(pruned.errors)")
        let forced = try Command.run("index", images, "--catalog", catalog, "--prune", "--force")
        #expect(forced.output.hasSuffix("3 unchanged, 1 removed\n"), "\(forced.output)")
    }

    /// Each reader made it anew, and could not map that either.
    @Test func aMatrixThatCannotBeMappedIsNotMadeAgain() throws {
        let folder = try TemporaryFolder()
        let (images, catalog) = (try Self.images(1, in: folder), folder.file("catalog").path)
        #expect(try Command.run("index", images, "--catalog", catalog).status == 0)
        // Larger than the address space, with a hole.
        let matrix = catalog + "/prints.matrix"
        #expect(truncate(matrix, 4 << 30) == 0)
        var before = stat()
        #expect(stat(matrix, &before) == 0)
        let result = try Command.run(
            executable: "/bin/bash",
            [
                "-c", "ulimit -v 3000000; exec \"$@\"", "bash", Command.executable.path, "catalog", "list", catalog,
            ])
        #expect(result.status == 1 && result.errors.contains("prints.matrix cannot be read now: "), "\(result.errors)")
        var after = stat()
        #expect(stat(matrix, &after) == 0 && after.st_ino == before.st_ino)
    }
}
