import Foundation

/// A thread that nobody joins. Unlike Foundation's `Thread`, it reports if it cannot be started.
package enum DetachedThread {
    /// Only address space: pages are taken when they are touched.
    private static let stackSize = 8 << 20

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }

        func run() {
            Thread.current.name = name
            body()
        }
    }

    /// Runs `body` on a new thread.
    ///
    /// - Parameter name: at most 15 bytes, as debuggers show it.
    /// - Returns: false if the process may have no more threads, or there is no memory for one.
    package static func start(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, stackSize)
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        return create(&attributes, Start(name: name, body: body))
    }

    private static func create(_ attributes: inout pthread_attr_t, _ start: Start) -> Bool {
        let argument = Unmanaged.passRetained(start).toOpaque()
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let failure = pthread_create(
            &thread, &attributes,
            { argument in
                let address: UnsafeMutableRawPointer? = argument
                if let address { Unmanaged<Start>.fromOpaque(address).takeRetainedValue().run() }
                return nil
            }, argument)
        if failure != 0 { Unmanaged<Start>.fromOpaque(argument).release() }
        return failure == 0
    }
}
