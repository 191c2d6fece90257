import ContactPhotos
import Foundation
import Lookalike
import SystemStores
import Testing

struct ContactPhotoTests {
    /// Squares of random colors.
    private static func photo(seed: UInt64) throws -> PixelBuffer {
        var random = SeededGenerator(seed: seed)
        var pixels = [UInt8](repeating: 0, count: 96 * 96 * 3)
        let colors = (0..<36).map { _ in random.bytes(3) }
        for y in 0..<96 {
            for x in 0..<96 {
                for c in 0..<3 { pixels[(y * 96 + x) * 3 + c] = colors[y / 16 * 6 + x / 16][c] }
            }
        }
        return try PixelBuffer(pixels, width: 96, height: 96, format: .rgb8)
    }

    private static func contact(_ id: String, _ photo: Contact.Photo?) -> Contact {
        var contact = Contact(id: id, name: "Name \(id)", file: "all.vcf")
        contact.photo = photo
        return contact
    }

    @Test func areFoundByTheirPhotos() async throws {
        let folder = try TemporaryFolder()
        let photos = try ContactPhotoCatalog(at: folder.url)
        let longID = "urn:x/" + String(repeating: "é", count: 200)
        var contacts = try [
            Self.contact("1", .data(Self.photo(seed: 1).pngData(), mediaType: "image/png")),
            Self.contact(longID, .data(Self.photo(seed: 2).pngData(), mediaType: nil)),
            Self.contact("3", .data(Data("no picture".utf8), mediaType: "image/png")),
            Self.contact("4", .url(URL(string: "https://example.org/4.png")!)), Self.contact("5", nil),
        ]
        let problems = try photos.update(with: contacts)
        #expect(problems.count == 1 && problems[0].subject == "all.vcf" && problems[0].reason.contains("“Name 3”"))
        #expect(try await photos.search(matching: Self.photo(seed: 1)).first?.entity.id == "1")
        let second = try await photos.search(matching: Self.photo(seed: 2)).first
        #expect(second?.entity.id == longID && second?.entity.title == "Name \(longID)")

        // Another photo, and none.
        contacts[0].photo = .data(try Self.photo(seed: 7).pngData(), mediaType: nil)
        contacts[1].photo = nil
        #expect(try photos.update(with: contacts).count == 1)
        #expect(try await photos.search(matching: Self.photo(seed: 7)).map(\.entity.id) == ["1"])
        #expect(try await photos.search(matching: Self.photo(seed: 2)).allSatisfy { $0.entity.id != longID })
    }

    /// The catalog took the files that it had removed for a disk that is not mounted.
    @Test(arguments: [true, false]) func theLastPhotoIsRemoved(contactStays: Bool) async throws {
        let folder = try TemporaryFolder()
        let photos = try ContactPhotoCatalog(at: folder.url)
        let photo = Contact.Photo.data(try Self.photo(seed: 1).pngData(), mediaType: nil)
        #expect(try photos.update(with: [Self.contact("1", photo)]).isEmpty)
        #expect(try photos.update(with: contactStays ? [Self.contact("1", nil)] : []).isEmpty)
        #expect(try await photos.search(matching: Self.photo(seed: 1)).isEmpty)
        #expect(try photos.update(with: [Self.contact("2", photo)]).isEmpty)
        #expect(try await photos.search(matching: Self.photo(seed: 1)).map(\.entity.id) == ["2"])
    }

    /// As after an update that was killed before it removed the entity.
    @Test func aPhotoWhoseFileIsGoneIsRemoved() async throws {
        let folder = try TemporaryFolder()
        let photos = try ContactPhotoCatalog(at: folder.url)
        let photo = Contact.Photo.data(try Self.photo(seed: 1).pngData(), mediaType: nil)
        #expect(try photos.update(with: [Self.contact("1", photo)]).isEmpty)
        try FileManager.default.removeItem(at: folder.file("photos/1"))
        #expect(try photos.update(with: []).isEmpty)
        #expect(try await photos.search(matching: Self.photo(seed: 1)).isEmpty)
    }

    @Test func aPhotoThatCannotBeDecodedReplacesTheOldOne() async throws {
        let folder = try TemporaryFolder()
        let photos = try ContactPhotoCatalog(at: folder.url)
        let photo = Contact.Photo.data(try Self.photo(seed: 1).pngData(), mediaType: nil)
        #expect(try photos.update(with: [Self.contact("1", photo)]).isEmpty)
        let damaged = Contact.Photo.data(Data("no picture".utf8), mediaType: nil)
        for _ in 0..<2 {
            let problems = try photos.update(with: [Self.contact("1", damaged)])
            #expect(problems.count == 1 && problems[0].reason.contains("“Name 1”"))
            #expect(try await photos.search(matching: Self.photo(seed: 1)).isEmpty)
        }
        #expect(try photos.update(with: [Self.contact("1", photo)]).isEmpty)
        #expect(try await photos.search(matching: Self.photo(seed: 1)).map(\.entity.id) == ["1"])
    }
}
