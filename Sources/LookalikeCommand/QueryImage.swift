import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

/// The images that a command is given: files, those of folders and of a list, or one from standard input.
struct QueryImages: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            A list of further images and folders: a path per line, or each with a zero byte at its end. “-” reads it \
            from standard input.
            """, valueName: "file"),
        completion: .file())
    var filesFrom: FilePath?

    @Argument(
        help: ArgumentHelp(
            "Image files, or folders, which are searched for images; “-” reads an image from standard input.",
            valueName: "image"), completion: .images)
    var arguments: [String] = []

    var isEmpty: Bool { arguments.isEmpty && filesFrom == nil }

    func validate() throws {
        if filesFrom?.text == "-", arguments.contains("-") {
            throw ValidationError("Standard input is an image or a list.")
        }
    }

    /// The images in order, by their paths; “-” is that from standard input. A folder is listed when it is reached, and
    /// what it has besides is noted then.
    ///
    /// - Throws: ``CommandError`` if the list cannot be read.
    func paths() throws(CommandError) -> some Sequence<String> {
        var listed: [String] = []
        if let filesFrom {
            do {
                let list =
                    filesFrom.text == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: filesFrom.url)
                listed = Self.paths(inList: try list.readToEnd() ?? Data())
            } catch {
                throw CommandError(filesFrom, cannotBe: "read", error)
            }
        }
        return (arguments + listed).lazy.flatMap { argument in
            guard argument != "-", argument.utf8.last != 0, let folder = FilePath(argument), folder.isFolder,
                let entries = try? ImageSource.entries(at: folder.url)
            else { return AnySequence([argument]) }
            for note in entries.count().notes { StandardError.print("\(argument): note: \(note.escaped)") }
            return entries.paths
        }
    }

    /// The paths of a list: one a line, or each with a zero byte at its end. One that is not UTF-8 is marked, as among
    /// `IndexEntries.paths`.
    static func paths(inList list: Data) -> [String] {
        let hasZeros = list.contains(0)
        return list.split(separator: hasZeros ? 0 : UInt8(ascii: "\n")).map { line in
            // Windows ends a line with two characters.
            let path = !hasZeros && line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            return String(validating: path, as: UTF8.self) ?? String(decoding: path, as: UTF8.self) + "\0"
        }.filter { !$0.isEmpty }
    }
}

/// An image file, or standard input.
enum QueryImage {
    /// Reads an image. A failure is printed and counted, so that the other images can be processed.
    static func readOrReport(
        _ argument: String, prefix: String = "", options: DecodingOptions, timings: StageTimings?, failures: inout Int
    ) -> PixelBuffer? {
        do {
            return try read(argument, options: options, timings: timings)
        } catch {
            StandardError.print("\(prefix)\(error)")
            failures += 1
            return nil
        }
    }

    /// The result of `body`. An image that cannot be read, or has no print, is reported and counted.
    static func resultOrReport<Result>(
        _ argument: String, prefix: String = "", failures: inout Int, _ body: () async throws -> Result
    ) async throws -> Result? {
        do {
            return try await body()
        } catch let error as ImageError {
            StandardError.print("\(prefix)\(error)")
            failures += 1
            return nil
        } catch let error as ModelError {
            StandardError.print("\(prefix)\(argument == "-" ? "standard input" : argument): \(error)")
            failures += 1
            return nil
        }
    }

    /// Reads an image file, or standard input for `-`.
    static func read(_ argument: String, options: DecodingOptions, timings: StageTimings?) throws(ImageError)
        -> PixelBuffer
    {
        let start = ContinuousClock.now
        defer { timings?.add(ContinuousClock.now - start, to: .decode) }
        guard argument == "-" else {
            guard let path = FilePath(argument) else {
                throw ImageError(subject: "“”", reason: .unreadable("the path is empty"))
            }
            if argument.utf8.last == 0 {
                throw ImageError(subject: String(argument.dropLast()), reason: .unreadable(IndexProblem.isNotUTF8))
            }
            if FileLocation.isURL(argument), access(path.absolute, F_OK) != 0 {
                throw ImageError(subject: argument, reason: .unreadable(FileLocation.urlRefusal))
            }
            return reporting(try PixelBuffer(contentsOf: path.url, options: options), argument)
        }
        let data: Data
        do {
            data = try FileHandle.standardInput.read(upToCount: options.maximumByteCount + 1) ?? Data()
        } catch {
            throw ImageError(subject: "standard input", reason: .unreadable("\(error)"))
        }
        guard data.count <= options.maximumByteCount else {
            throw ImageError(
                subject: "standard input", reason: .fileTooLarge(bytes: data.count, limit: options.maximumByteCount))
        }
        return reporting(
            try PixelBuffer(decoding: data, named: "standard input", options: options), "standard input")
    }

    /// Prints the decoder's notes about an image.
    private static func reporting(_ image: PixelBuffer, _ name: String) -> PixelBuffer {
        for note in image.decodingNotes { StandardError.print("\(name): note: \(note)") }
        return image
    }
}
