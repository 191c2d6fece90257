import Foundation

/// A connection to the service, for one request.
enum HTTPConnection {
    /// Sends bytes, and reads to the end.
    ///
    /// - Parameter isComplete: whether the request is one. The service takes a client that ends its side for one that
    ///   went away, and cancels its search.
    /// - Returns: the status of the first answer, or why there is none.
    static func answer(to request: Data, isComplete: Bool, port: Int) -> HTTPAnswer {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { fatalError("no socket: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        connect(descriptor, to: port)
        request.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = send(
                    descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                if count < 0 && errno == EINTR { continue }
                // The service may answer, and close, before it has read all.
                if count <= 0 { break }
                sent += count
            }
        }
        if !isComplete { shutdown(descriptor, Int32(SHUT_WR)) }
        return answer(on: descriptor)
    }

    private static func connect(_ descriptor: Int32, to port: Int) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var result: Int32
        repeat {
            result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            // libFuzzer's clock is a signal. The connection is made all the same.
        } while result != 0 && errno == EINTR
        guard result == 0 || errno == EISCONN else { fatalError("cannot connect: \(String(cString: strerror(errno)))") }
    }

    private static let mostBytes = 65_536

    /// The first bytes of what comes; the rest is read and dropped.
    private static func answer(on descriptor: Int32) -> HTTPAnswer {
        var first: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 {
                return HTTPAnswer(first, end: count == 0 ? "the end" : String(cString: strerror(errno)))
            }
            if first.count < mostBytes { first += buffer.prefix(count) }
        }
    }
}

enum HTTPAnswer {
    /// The status, and the first bytes with the head.
    case status(Int, [UInt8])
    case none(reason: String)

    /// - Parameter end: what came after the bytes.
    fileprivate init(_ bytes: [UInt8], end: String) {
        // The number after “HTTP/1.1”.
        let words = String(decoding: bytes.prefix(16), as: UTF8.self).split(separator: " ")
        if words.count > 1, let status = Int(words[1].prefix(3)) {
            self = .status(status, bytes)
        } else {
            self = .none(reason: "no answer but \(bytes.prefix(16)) and \(end)")
        }
    }
}
