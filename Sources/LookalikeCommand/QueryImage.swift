import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

/// The images that a command is given: files, or one from standard input.
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

    /// The result of `body`. An image without a print is reported and counted like one that cannot be read.
    static func resultOrReport<Result>(
        _ argument: String, prefix: String = "", failures: inout Int, _ body: () async throws -> Result
    ) async throws -> Result? {
        do {
            return try await body()
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
