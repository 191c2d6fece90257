import Foundation
import FuzzSupport

/// Sends a request to a service of this process, with one part of it from the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRequests(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard let (part, text) = FuzzInput(bytes, count).choice(of: RequestPart.allCases) else { return -1 }
    let catalog = "/v1/catalogs/\(ServedCatalogs.name)"
    let answer: HTTPAnswer
    switch part {
    case .damagedSnapshot:
        DamagedSnapshot.restore(text)
        return 0
    case .keyed:
        KeyedRequest.send(text)
        return 0
    case .connection: answer = HTTPConnection.answer(to: text, isComplete: false, port: ServedCatalogs.shared.port)
    case .path: answer = send("GET /v1/" + target(text))
    case .searchFields: answer = send("POST \(catalog)/search?" + target(text), "image/png", FuzzedImage.png)
    case .searchJSON: answer = send("POST \(catalog)/search", "application/json", ServedCatalogs.filled(text))
    case .searchForm:
        answer = send("POST \(catalog)/search", "multipart/form-data; boundary=x", ServedCatalogs.filled(text, .binary))
    case .contentType: answer = send("POST \(catalog)/search", header(text), FuzzedImage.form)
    case .entityFields: answer = send("PUT \(catalog)/entities/" + target(text), "image/png", FuzzedImage.png)
    case .entityJSON: answer = send("PUT \(catalog)/entities/a", "application/json", ServedCatalogs.filled(text))
    case .patch: answer = send("PATCH \(catalog)/entities/a", "application/json", text)
    case .batch:
        answer = send("POST \(catalog)/entities:batch", "application/x-ndjson", ServedCatalogs.filled(text))
    case .prints: answer = send("POST /v1/prints?catalog=c", "application/json", ServedCatalogs.filled(text))
    case .snapshot:
        answer = send("POST \(catalog)-restored/restore", "application/x-tar", TarArchive.withChecksums(text))
    }
    // Whatever is sent, the service has not failed, and goes on.
    switch answer {
    // 499 is the answer to a client that went away.
    case .status(200..<499, _): return 0
    case .status(499, _) where part == .connection: return 0
    case .none where part == .connection: return 0
    case .status(let status, _): fatalError("\(part): status \(status)")
    case .none(let reason): fatalError("\(part): \(reason)")
    }
}

/// What the input is; the rest of the request is valid.
private enum RequestPart: CaseIterable {
    case connection, path, searchFields, searchJSON, searchForm, contentType
    case entityFields, entityJSON, patch, batch, prints, snapshot
    case damagedSnapshot, keyed
}

/// Sends a request with the head that it needs.
func send(_ line: String, _ type: String? = nil, _ body: Data = Data()) -> HTTPAnswer {
    var head = "\(line) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \(body.count)\r\n"
    if let type { head += "Content-Type: \(type)\r\n" }
    return HTTPConnection.answer(
        to: Data((head + "Connection: close\r\n\r\n").utf8) + body, isComplete: true, port: ServedCatalogs.shared.port)
}

/// Bytes as a part of a request's target, which has no spaces and no control characters.
private func target(_ bytes: Data) -> String {
    bytes.prefix(4096).map { byte in
        (33..<127).contains(byte) && byte != UInt8(ascii: "#")
            ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
}

/// Bytes as the value of a header.
private func header(_ bytes: Data) -> String {
    String(bytes.prefix(1024).map { (32..<127).contains($0) ? Character(UnicodeScalar($0)) : "." })
}
