package import Foundation

/// Why a file cannot be read whole.
package enum FileReadError: Error, Equatable {
    /// The path names no regular file, but a folder, a pipe or a device.
    case notAFile
    /// The file has more bytes than the caller takes.
    case tooLarge(bytes: Int, limit: Int)
    /// The memory for the file cannot be allocated.
    case outOfMemory(bytes: Int)
    /// A system call failed; the system's message.
    case unreadable(String)

    /// The error of a system call that has just failed.
    fileprivate static var last: FileReadError { .unreadable(String(cString: strerror(errno))) }
}

/// Reads a whole file. It is not mapped: a file that shrinks while it is mapped kills the process.
///
/// - Parameter limit: the maximum number of bytes.
package func contents(ofFile path: String, limit: Int) throws(FileReadError) -> Data {
    var status = stat()
    // The check comes before opening, which would disturb the writer of a pipe.
    guard stat(path, &status) == 0 else { throw .last }
    try check(status, limit: limit)
    // A pipe that has taken the file's place must not keep the caller waiting.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw .last }
    defer { close(descriptor) }
    return try contents(ofDescriptor: descriptor, limit: limit)
}

/// Reads an open file, which need not be the one that a path named before.
package func contents(ofDescriptor descriptor: Int32, limit: Int) throws(FileReadError) -> Data {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .last }
    try check(status, limit: limit)
    let size = Int(status.st_size)
    // Some files of /proc have no size and would keep the caller waiting.
    guard size > 0 else { return Data() }
    guard let memory = allocate(size) else { throw .outOfMemory(bytes: size) }
    var count = 0
    while count < size {
        // Darwin reads less than 2 GiB at once.
        let part = read(descriptor, memory + count, min(size - count, 1 << 30))
        if part < 0, errno == EINTR { continue }
        guard part >= 0 else {
            let error = FileReadError.last
            free(memory)
            throw error
        }
        if part == 0 { break }
        count += part
    }
    let data = Data(bytesNoCopy: memory, count: count, deallocator: .free)
    // The file may have grown.
    guard fstat(descriptor, &status) == 0 else { throw .last }
    try check(status, limit: limit)
    return data
}

private func check(_ status: stat, limit: Int) throws(FileReadError) {
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
    guard Int(status.st_size) <= limit else { throw .tooLarge(bytes: Int(status.st_size), limit: limit) }
}

/// Memory for a file. A large one gets pages of 2 MiB where the kernel has them: with pages of 4 KiB, most of the time
/// goes into page faults.
private func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
    #if os(Linux)
    let hugePage = 2 << 20
    guard size >= hugePage else { return malloc(size) }
    let memory = aligned_alloc(hugePage, (size + hugePage - 1) / hugePage * hugePage)
    // Failing to get them is harmless.
    if let memory { madvise(memory, size, Int32(MADV_HUGEPAGE)) }
    return memory
    #else
    malloc(size)
    #endif
}
