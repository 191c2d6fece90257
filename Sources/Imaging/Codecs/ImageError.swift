public import Compute

/// Why an image could not be read or written.
public struct ImageError: DescribedError, Equatable {
    /// What is wrong with the image.
    public enum Reason: Error, Equatable {
        /// The file does not exist or may not be read; the system's message.
        case unreadable(String)
        /// The path names no regular file, but a folder, a pipe or a device.
        case notAFile
        /// The file has no bytes.
        case empty
        /// The bytes are of another format; its name, if it is known.
        case unsupported(String)
        /// The format's optional library is not in this build: it was not installed, or the package's trait was
        /// disabled.
        case decoderMissing(format: String, library: String, trait: String)
        /// Truncated or corrupt; the decoder's message.
        case damaged(String)
        /// More pixels than ``DecodingOptions/maximumPixelCount``.
        case tooManyPixels(width: Int, height: Int, limit: Int)
        /// A side longer than ``DecodingOptions/maximumSide``.
        case sideTooLong(width: Int, height: Int, limit: Int)
        /// More scans than ``DecodingOptions/maximumScanCount``.
        case tooManyScans(count: Int, limit: Int)
        /// More tiles than ``DecodingOptions/maximumTileCount``.
        case tooManyTiles(limit: Int)
        /// Decoding would allocate more than ``DecodingOptions/maximumMemory``.
        case tooMuchMemory(bytes: Int, limit: Int)
        /// More bytes than ``DecodingOptions/maximumByteCount``.
        case fileTooLarge(bytes: Int, limit: Int)
        /// The memory for the pixels cannot be allocated.
        case outOfMemory(bytes: Int)
        /// The image cannot be encoded or its file not written; the message of the encoder or system.
        case unwritable(String)
    }

    /// The path, or the name that the caller gave the bytes.
    public var subject: String
    /// What is wrong.
    public var reason: Reason

    /// An error about an image.
    public init(subject: String, reason: Reason) {
        self.subject = subject
        self.reason = reason
    }

    public var description: String { "\(subject): \(reason.description)" }
}

extension ImageError.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let words): "cannot be read: \(words)"
        case .notAFile: "is not a file"
        case .empty: "is empty"
        case .unsupported(let kind): "is \(kind); \(ImageFormat.list(conjunction: "and")) can be read"
        case .decoderMissing(let format, let library, let trait):
            "is \(format), and this build lacks \(library); build again with it and the package's trait “\(trait)”"
        case .damaged(let words): "is damaged: \(words)"
        case .tooManyPixels(let width, let height, let limit):
            "has \(width)×\(height) pixels, more than the limit of \(limit)"
        case .sideTooLong(let width, let height, let limit):
            "has \(width)×\(height) pixels; a side may have at most \(limit)"
        case .tooManyScans(let count, let limit): "has \(count) scans, more than the limit of \(limit)"
        case .tooManyTiles(let limit): "has more tiles than the limit of \(limit)"
        case .tooMuchMemory(let bytes, let limit):
            "needs \(bytes) bytes of memory to be decoded, more than the limit of \(limit)"
        case .fileTooLarge(let bytes, let limit): "has \(bytes) bytes, more than the limit of \(limit)"
        case .outOfMemory(let bytes): "cannot allocate \(bytes) bytes"
        case .unwritable(let words): "cannot be written: \(words)"
        }
    }
}
