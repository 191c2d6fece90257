import Foundation

/// A connection to the service, for one request.
enum HTTPConnection {
    /// Sends bytes, ends the sending side, and reads to the end.
    ///
    /// - Returns: the status of the first answer; nil if there is none.
    static func status(ofAnswerTo request: Data, port: Int) -> Int? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { fatalError("no socket: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        connect(descriptor, to: port)
        request.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = send(
                    descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                // The service may answer, and close, before it has read all.
                if count <= 0 { break }
                sent += count
            }
        }
        shutdown(descriptor, Int32(SHUT_WR))
        return status(of: answer(on: descriptor))
    }

    private static func connect(_ descriptor: Int32, to port: Int) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { fatalError("cannot connect: \(String(cString: strerror(errno)))") }
    }

    /// The first bytes of what comes; the rest is read and dropped.
    private static func answer(on descriptor: Int32) -> [UInt8] {
        var first: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { return first }
            if first.count < 16 { first += buffer.prefix(count) }
        }
    }

    /// The number after `HTTP/1.1`.
    private static func status(of answer: [UInt8]) -> Int? {
        let words = String(decoding: answer.prefix(16), as: UTF8.self).split(separator: " ")
        return words.count > 1 ? Int(words[1].prefix(3)) : nil
    }
}
