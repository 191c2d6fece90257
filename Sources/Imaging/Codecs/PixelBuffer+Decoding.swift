import Foundation

extension PixelBuffer {
    /// Decodes an image file of one of the formats of ``ImageFormat``: the first frame, or page.
    ///
    /// The image is turned upright, colors are converted to sRGB, and transparent pixels are composited over white. The
    /// result is `gray8` or `rgb8`. The format is detected from the file's bytes, not from its name. A color profile
    /// that cannot be used is ignored, and ``decodingNotes`` says so.
    /// - Throws: ``ImageError`` with the path and the reason.
    public init(contentsOf url: URL, options: DecodingOptions = DecodingOptions()) throws(ImageError) {
        let path = url.path
        let data = try ImageFile.read(path: path, limit: options.maximumByteCount)
        try self.init(decoding: data, named: path, options: options)
    }

    /// Decodes the bytes of an image file, like ``init(contentsOf:options:)``.
    ///
    /// - Parameter name: what errors call the image.
    /// - Throws: ``ImageError`` with the name and the reason.
    public init(
        decoding data: Data, named name: String = "image", options: DecodingOptions = DecodingOptions()
    ) throws(ImageError) {
        let decoded = data.withUnsafeBytes { bytes in
            Result { () throws(ImageError.Reason) in
                try ImageFormat(of: bytes).decode(bytes, options: options)
            }
        }
        self = try decoded.mapError { ImageError(source: name, reason: $0) }.get()
    }
}

/// Reads whole files. It does not map them: a file that shrinks while it is mapped kills the process.
package enum ImageFile {
    package static func read(path: String, limit: Int) throws(ImageError) -> Data {
        var status = stat()
        // The check comes before opening, which would disturb the writer of a pipe.
        guard stat(path, &status) == 0 else { throw unreadable(path) }
        try check(status, path: path, limit: limit)
        // A pipe that has taken the file's place must not keep the caller waiting.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path) }
        defer { close(descriptor) }
        return try read(descriptor, path: path, limit: limit)
    }

    /// Reads an open file, which need not be the one that the path named before.
    ///
    /// - Parameter path: for errors.
    package static func read(_ descriptor: Int32, path: String, limit: Int) throws(ImageError) -> Data {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw unreadable(path) }
        try check(status, path: path, limit: limit)
        let size = Int(status.st_size)
        // Some files of /proc have no size and would keep the caller waiting.
        guard size > 0 else { return Data() }
        guard let memory = malloc(size) else { throw ImageError(source: path, reason: .outOfMemory(bytes: size)) }
        var count = 0
        while count < size {
            // Darwin reads less than 2 GiB at once.
            let part = Foundation.read(descriptor, memory + count, min(size - count, 1 << 30))
            if part < 0, errno == EINTR { continue }
            guard part >= 0 else {
                let error = unreadable(path)
                free(memory)
                throw error
            }
            if part == 0 { break }
            count += part
        }
        let data = Data(bytesNoCopy: memory, count: count, deallocator: .free)
        // The file may have grown.
        guard fstat(descriptor, &status) == 0 else { throw unreadable(path) }
        try check(status, path: path, limit: limit)
        return data
    }

    private static func check(_ status: stat, path: String, limit: Int) throws(ImageError) {
        guard status.st_mode & S_IFMT == S_IFREG else { throw ImageError(source: path, reason: .notAFile) }
        guard Int(status.st_size) <= limit else {
            throw ImageError(source: path, reason: .fileTooLarge(bytes: Int(status.st_size), limit: limit))
        }
    }

    /// The error of a system call that has just failed, with the system's message.
    private static func unreadable(_ path: String) -> ImageError {
        ImageError(source: path, reason: .unreadable(String(cString: strerror(errno))))
    }
}
