import Foundation
import Glibc

/// An answer.
struct HTTPReply: Sendable {
    let status: Int
    /// Names in lower case.
    let headers: [String: String]
    let body: Data

    var text: String { String(decoding: body, as: UTF8.self) }

    var json: [String: Any] {
        get throws { try JSONSerialization.jsonObject(with: body) as? [String: Any] ?? [:] }
    }

    /// The ids of a search's results.
    var ids: [String] {
        get throws {
            let results = try json["results"] as? [[String: Any]] ?? []
            return results.compactMap { ($0["entity"] as? [String: Any])?["id"] as? String }
        }
    }

    /// The code of problem details.
    var code: String? { get throws { try json["code"] as? String } }
}

/// HTTP/1.1 over a socket, a connection per request. It sends what it is given: tests send what no library would.
struct HTTPClient: Sendable {
    let port: Int

    struct Failure: Error { let reason: String }

    func send(
        _ method: String, _ path: String, _ headers: [String: String] = [:], body: Data? = nil
    ) async throws -> HTTPReply {
        try await onOwnThread {
            let socket = try sent(method, path, headers, body: body)
            defer { close(socket) }
            return try Self.reply(Self.read(socket), hasBody: method != "HEAD")
        }
    }

    /// Sends a request, and returns the connection without reading from it.
    func open(
        _ method: String, _ path: String, _ headers: [String: String] = [:], body: Data? = nil
    ) async throws -> Int32 {
        try await onOwnThread { try sent(method, path, headers, body: body) }
    }

    /// Connects, and sends a request.
    private func sent(
        _ method: String, _ path: String, _ headers: [String: String] = [:], body: Data? = nil
    ) throws -> Int32 {
        let socket = try connect()
        var lines = ["\(method) \(path) HTTP/1.1", "Connection: close"]
        if headers["Host"] == nil { lines.append("Host: 127.0.0.1:\(port)") }
        if let body, headers["Content-Length"] == nil, headers["Transfer-Encoding"] == nil {
            lines.append("Content-Length: \(body.count)")
        }
        lines += headers.map { "\($0.key): \($0.value)" }
        var bytes = Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        bytes += body ?? Data()
        try Self.write(bytes, to: socket)
        return socket
    }

    /// Sends bytes, and reads what comes until the connection is closed, or for some seconds.
    func exchange(_ text: String, body: Data = Data(), seconds: Int32 = 3) async throws -> (
        text: String, isClosed: Bool
    ) {
        try await onOwnThread {
            let socket = try connect()
            defer { close(socket) }
            try Self.write(Data(text.utf8) + body, to: socket)
            var (received, buffer) = (Data(), [UInt8](repeating: 0, count: 65_536))
            while true {
                var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                guard poll(&ready, 1, seconds * 1000) > 0 else {
                    return (String(decoding: received, as: UTF8.self), false)
                }
                let count = recv(socket, &buffer, buffer.count, 0)
                guard count > 0 else { return (String(decoding: received, as: UTF8.self), true) }
                received += buffer[..<count]
            }
        }
    }

    /// Sends the head of a request and then a byte of its body at a time, until there is an answer.
    func trickle(
        _ method: String, _ path: String, _ headers: [String: String] = [:], count: Int, every pause: Double
    ) async throws -> HTTPReply {
        let headers = headers.merging(["Content-Length": "\(count)"]) { $1 }
        return try await onOwnThread {
            let socket = try sent(method, path, headers, body: Data())
            defer { close(socket) }
            var answer = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            for _ in 0..<count where poll(&answer, 1, Int32(pause * 1000)) == 0 {
                try Self.write(Data([0]), to: socket)
            }
            return try Self.reply(Self.read(socket), hasBody: true)
        }
    }

    /// Sends the head of a request, and its body when the answer has begun and `meanwhile` has ended.
    func send(
        _ method: String, _ path: String, _ headers: [String: String], lateBody body: Data,
        after meanwhile: () async throws -> Void
    ) async throws -> HTTPReply {
        var headers = headers
        headers["Content-Length"] = "\(body.count)"
        let socket = try await open(method, path, headers, body: Data())
        defer { close(socket) }
        let begin = try await onOwnThread { Self.read(socket, until: Data("\r\n\r\n".utf8)) }
        try await meanwhile()
        return try await onOwnThread {
            try Self.write(body, to: socket)
            return try Self.reply(begin + Self.read(socket), hasBody: true)
        }
    }

    /// Sends the same request many times over one connection, and reads none of the answers.
    func pipeline(_ method: String, _ path: String, count: Int) async throws -> Int32 {
        let socket = try connect()
        let request = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
        try await onOwnThread { try Self.write(Data(String(repeating: request, count: count).utf8), to: socket) }
        return socket
    }

    /// Reads answers to the end of a connection, and counts them.
    ///
    /// - Parameter pause: seconds between reads of 64 KiB.
    func answers(on socket: Int32, pause: Double) async throws -> Int {
        try await onOwnThread {
            var (count, rest) = (0, Data())
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let head = Data("HTTP/1.1 200".utf8)
            while true {
                // All answers that come were asked for long ago.
                var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                guard poll(&ready, 1, 3000) > 0 else { return count }
                let received = recv(socket, &buffer, buffer.count, 0)
                if received <= 0 { return count }
                rest += buffer[..<received]
                while let found = rest.range(of: head) {
                    count += 1
                    rest = Data(rest[found.upperBound...])
                }
                // A head may be in two parts.
                rest = Data(rest.suffix(head.count - 1))
                Thread.sleep(forTimeInterval: pause)
            }
        }
    }

    /// A connection on which nothing is sent.
    func connect() throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(reason: "cannot connect: \(errno)") }
        return socket
    }

    /// A server may answer and close before it has read everything.
    private static func write(_ data: Data, to socket: Int32) throws {
        data.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = Glibc.send(
                    socket, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                if count <= 0 { return }
                sent += count
            }
        }
    }

    /// Reads what comes, to the end or until it has `mark`.
    private static func read(_ socket: Int32, until mark: Data? = nil) -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count <= 0 { return data }
            data += buffer[..<count]
            if let mark, data.range(of: mark) != nil { return data }
        }
    }

    /// Waits until an answer begins, and reads nothing.
    static func waitForAnswer(_ socket: Int32) {
        var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        poll(&ready, 1, 60_000)
    }

    static func reply(_ data: Data, hasBody: Bool) throws -> HTTPReply {
        guard let end = data.range(of: Data("\r\n\r\n".utf8)) else { throw Failure(reason: "no answer") }
        let lines = String(decoding: data[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let status = Int(lines[0].split(separator: " ")[1]) ?? 0
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            headers[parts[0].lowercased()] = parts.count > 1 ? parts[1] : ""
        }
        let body = Data(data[end.upperBound...])
        let isChunked = headers["transfer-encoding"] == "chunked"
        return HTTPReply(status: status, headers: headers, body: isChunked && hasBody ? try joined(body) : body)
    }

    private static func joined(_ chunks: Data) throws -> Data {
        var (body, rest) = (Data(), chunks[...])
        while let line = rest.range(of: Data("\r\n".utf8)) {
            let size = Int(String(decoding: rest[rest.startIndex..<line.lowerBound], as: UTF8.self), radix: 16) ?? 0
            if size == 0 { return body }
            guard rest.endIndex - line.upperBound >= size + 2 else { break }
            body += rest[line.upperBound..<(line.upperBound + size)]
            rest = rest[(line.upperBound + size + 2)...]
        }
        throw Failure(reason: "the last chunk is missing")
    }
}

extension Data {
    /// A form with an image and fields.
    static func form(image: Data, fields: [String: String], boundary: String) -> Data {
        form(images: [image], fields: fields, boundary: boundary)
    }

    static func form(images: [Data], fields: [String: String], boundary: String) -> Data {
        var form = Data()
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            form += Data("--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n".utf8)
        }
        for image in images {
            form += Data(
                ("--\(boundary)\r\nContent-Disposition: form-data; name=\"image\"; filename=\"photo.jpg\"\r\n"
                    + "Content-Type: image/jpeg\r\n\r\n").utf8)
            form += image + Data("\r\n".utf8)
        }
        return form + Data("--\(boundary)--\r\n".utf8)
    }
}
