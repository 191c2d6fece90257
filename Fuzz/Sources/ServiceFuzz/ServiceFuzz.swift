import Foundation
import FuzzSupport

/// Sends a request to a service of this process, with one part of it from the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRequests(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard let (part, text) = FuzzInput(bytes, count).choice(of: RequestPart.allCases) else { return -1 }
    let port = ServedCatalogs.shared.port
    let catalog = "/v1/catalogs/\(ServedCatalogs.name)"
    let status: Int?
    switch part {
    case .connection: status = HTTPConnection.status(ofAnswerTo: text, port: port)
    case .path: status = answer(to: "GET /v1/" + target(text))
    case .searchFields: status = answer(to: "POST \(catalog)/search?" + target(text), "image/png", FuzzedImage.png)
    case .searchJSON: status = answer(to: "POST \(catalog)/search", "application/json", text)
    case .searchForm: status = answer(to: "POST \(catalog)/search", "multipart/form-data; boundary=x", text)
    case .contentType: status = answer(to: "POST \(catalog)/search", header(text), FuzzedImage.form)
    case .entityFields: status = answer(to: "PUT \(catalog)/entities/" + target(text), "image/png", FuzzedImage.png)
    case .entityJSON: status = answer(to: "PUT \(catalog)/entities/a", "application/json", text)
    case .patch: status = answer(to: "PATCH \(catalog)/entities/a", "application/json", text)
    case .batch: status = answer(to: "POST \(catalog)/entities:batch", "application/x-ndjson", text)
    case .prints: status = answer(to: "POST /v1/prints", "application/json", text)
    case .snapshot: status = answer(to: "POST \(catalog)-restored/restore", "application/octet-stream", text)
    }
    // Whatever is sent, the service has not failed, and goes on.
    guard status.map({ (200..<500).contains($0) }) ?? (part == .connection) else {
        fatalError("\(part): \(status.map { "status \($0)" } ?? "no answer")")
    }
    return 0
}

/// What the input is; the rest of the request is valid.
private enum RequestPart: CaseIterable {
    case connection, path, searchFields, searchJSON, searchForm, contentType
    case entityFields, entityJSON, patch, batch, prints, snapshot
}

private func answer(to line: String, _ type: String? = nil, _ body: Data = Data()) -> Int? {
    var head = "\(line) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \(body.count)\r\n"
    if let type { head += "Content-Type: \(type)\r\n" }
    return HTTPConnection.status(
        ofAnswerTo: Data((head + "Connection: close\r\n\r\n").utf8) + body, port: ServedCatalogs.shared.port)
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
