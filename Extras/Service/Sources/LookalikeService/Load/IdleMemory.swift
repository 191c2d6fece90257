#if Service
import Compute
import Foundation
import Synchronization

/// Gives memory that was freed back to the system when nothing has been done for a while: the allocator keeps it, after
/// images of hundreds of megabytes as well.
@_spi(Service) public final class IdleMemory: Sendable {
    private struct State {
        var running = 0
        var hasWorked = false
        var hasWorkedLately = false
    }

    private let state = Mutex(State())
    private let trim: @Sendable () -> Void

    /// - Parameter trim: gives the memory back.
    @_spi(Service) public init(trim: @escaping @Sendable () -> Void = IdleMemory.trimAllocator) { self.trim = trim }

    /// Notes that a request has begun.
    @_spi(Service) public func begin() {
        state.withLock { state in
            state.running += 1
            (state.hasWorked, state.hasWorkedLately) = (true, true)
        }
    }

    /// Notes that a request has ended.
    @_spi(Service) public func end() { state.withLock { $0.running -= 1 } }

    /// Gives memory back if there was work since the last time, and none since the last call. It is called every some
    /// seconds.
    ///
    /// - Returns: whether it did.
    @_spi(Service) @discardableResult public func check() -> Bool {
        let isIdle = state.withLock { state in
            defer { state.hasWorkedLately = false }
            guard state.running == 0, state.hasWorked, !state.hasWorkedLately else { return false }
            state.hasWorked = false
            return true
        }
        if isIdle { trim() }
        return isIdle
    }

    /// `malloc_trim` of the GNU library, where it is there.
    @_spi(Service) public static func trimAllocator() {
        typealias Trim = @convention(c) (Int) -> CInt
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: Trim.self)(0)
    }

    /// Has the GNU library give large parts back as soon as they are freed, and keep few heaps of small ones: by itself
    /// it keeps parts of up to 32 MiB, in each of eight heaps a processor.
    static func limitAllocator() {
        typealias Set = @convention(c) (CInt, CInt) -> CInt
        guard let symbol = dlsym(nil, "mallopt") else { return }
        let set = unsafeBitCast(symbol, to: Set.self)
        // M_MMAP_THRESHOLD and M_ARENA_MAX in malloc.h.
        _ = set(-3, 1 << 20)
        _ = set(-8, CInt(clamping: max(2, availableProcessorCount)))
    }
}
#endif
