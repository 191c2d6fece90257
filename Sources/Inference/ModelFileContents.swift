import Foundation

/// The bytes of a model file.
///
/// - Throws: `ModelError` if the file cannot be read.
package func contents(ofModelFile url: URL) throws(ModelError) -> Data {
    if let data = dataOnHugePages(url) { return data }
    do {
        return try Data(contentsOf: url)
    } catch {
        throw ModelError(source: url.path, reason: .unreadable((error as NSError).localizedDescription))
    }
}

/// Reads a large file into pages of 2 MiB, where the kernel has them: with pages of 4 KiB, most of the time goes into
/// page faults. Nil if that is not possible, or the file is small.
private func dataOnHugePages(_ url: URL) -> Data? {
    #if os(Linux)
        let hugePage = 2 << 20
        var status = stat()
        // Before it is opened: opening a FIFO would disturb its writer.
        guard stat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard fstat(descriptor, &status) == 0, (hugePage...largestFile).contains(status.st_size),
            let memory = aligned_alloc(hugePage, (status.st_size + hugePage - 1) / hugePage * hugePage)
        else { return nil }
        // Failing to get them is harmless.
        madvise(memory, status.st_size, Int32(MADV_HUGEPAGE))
        var count = 0
        while count < status.st_size {
            let part = read(descriptor, memory + count, status.st_size - count)
            if part < 0, errno == EINTR { continue }
            guard part >= 0 else {
                free(memory)
                return nil
            }
            if part == 0 { break }
            count += part
        }
        return Data(bytesNoCopy: memory, count: count, deallocator: .free)
    #else
        nil
    #endif
}

/// Sparse files may say that they have any size.
private let largestFile = 1 << 40
