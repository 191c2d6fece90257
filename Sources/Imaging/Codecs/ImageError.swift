/// Why an image could not be read or written.
public struct ImageError: Error, Equatable, CustomStringConvertible {
    public enum Reason: Equatable, Sendable {
        /// The file does not exist or may not be read; the system's message.
        case unreadable(String)
        /// Not a regular file: a folder, a pipe, a device.
        case notAFile
        case empty
        /// The bytes are of another format; which one, if it is known.
        case unsupported(String)
        /// Truncated or corrupt; the decoder's message.
        case damaged(String)
        case tooManyPixels(width: Int, height: Int, limit: Int)
        case fileTooLarge(bytes: Int, limit: Int)
        case outOfMemory(bytes: Int)
        case unwritable(String)
    }

    /// The path, or the name that the caller gave the bytes.
    public var source: String
    public var reason: Reason

    public init(source: String, reason: Reason) {
        self.source = source
        self.reason = reason
    }

    public var description: String { "\(source): \(reason.description)" }
}

extension ImageError.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let words): "cannot be read: \(words)"
        case .notAFile: "is not a file"
        case .empty: "is empty"
        case .unsupported(let kind): "is \(kind); PNG and JPEG are supported"
        case .damaged(let words): "is damaged: \(words)"
        case .tooManyPixels(let width, let height, let limit):
            "has \(width)×\(height) pixels, more than the limit of \(limit)"
        case .fileTooLarge(let bytes, let limit): "has \(bytes) bytes, more than the limit of \(limit)"
        case .outOfMemory(let bytes): "cannot allocate \(bytes) bytes"
        case .unwritable(let words): "cannot be written: \(words)"
        }
    }
}
