import Foundation
import Multipart
import Testing

@Suite struct MultipartTests {
    @Test func partsWithNamesTypesAndBytes() throws {
        let bytes = Data([0, 13, 10, 45, 45, 13, 10, 255])
        var body = Data("preamble\r\n--b 1\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nNight Bus\r\n".utf8)
        body += Data("--b 1\r\ncontent-disposition: form-data; filename=\"a;\\\"b.jpg\"; name=image\r\n".utf8)
        body += Data("Content-Type: Image/JPEG; q=1\r\n\r\n".utf8) + bytes + Data("\r\n--b 1--\r\nepilogue".utf8)
        let form = try MultipartForm(body, contentType: "multipart/form-data; boundary=\"b 1\"")
        #expect(form.parts.map(\.name) == ["title", "image"])
        #expect(form["title"]?.text == "Night Bus")
        #expect(form["image"]?.body == bytes)
        #expect(form["image"]?.fileName == "a;\"b.jpg")
        #expect(form["image"]?.contentType == "image/jpeg")
    }

    @Test func anEmptyPart() throws {
        let body = Data("--b\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n--b--\r\n".utf8)
        #expect(try MultipartForm(body, contentType: "multipart/form-data; boundary=b")["x"]?.body.isEmpty == true)
    }

    @Test func everyTruncationIsAnError() throws {
        let form = Data.form(image: Data([1, 2, 3]), fields: ["limit": "3"], boundary: "frontier")
        // Without its last line break it is whole.
        for count in 0..<(form.count - 4) {
            #expect(throws: MultipartError.self) {
                try MultipartForm(form.prefix(count), contentType: "multipart/form-data; boundary=frontier")
            }
        }
    }

    @Test func damagedForms() {
        func error(_ body: String, _ type: String = "multipart/form-data; boundary=b") -> MultipartError? {
            do {
                _ = try MultipartForm(Data(body.utf8), contentType: type)
                return nil
            } catch {
                return error
            }
        }
        #expect(error("--b--", "multipart/form-data") == .noBoundary)
        #expect(error("--b\r\nContent-Type: a/b\r\n\r\nx\r\n--b--") == .noName)
        #expect(error("--b\r\nno header\r\n\r\nx\r\n--b--") == .damagedHeader)
        let parameters = String(repeating: ";a=b", count: 5000)
        #expect(
            error("--b\r\nContent-Disposition: form-data; name=x\(parameters)\r\n\r\nx\r\n--b--") == .damagedHeader)
        let part = "--b\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n"
        #expect(error(String(repeating: part, count: 1001) + "--b--") == .tooManyParts)
    }
}
