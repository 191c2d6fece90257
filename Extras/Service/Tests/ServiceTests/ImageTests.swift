import Foundation
import Lookalike
@_spi(Service) import LookalikeService
import Testing

/// The images of an entity that is there.
@Suite struct ImageTests {
    private static let path = "/v1/catalogs/shop/entities/a"
    private static let images = path + "/images"

    private static func withShop(
        configure: (inout ServiceConfiguration) -> Void = { _ in },
        _ body: @Sendable (TestServer) async throws -> Void
    ) async throws {
        try await TestServer.run(covers: false, configure: configure) { (server: TestServer) async throws -> Void in
            _ = try await server.send("PUT", "/v1/catalogs/shop")
            let put = try await server.send(
                "PUT", path + "?title=Both&attribute.year=1998", body: try DemoCovers.image("salt-signal"))
            #expect(put.status == 201)
            let other = try DemoCovers.image("night-bus-to-porto")
            #expect(try await server.send("PUT", "/v1/catalogs/shop/entities/b", body: other).status == 201)
            try await body(server)
        }
    }

    private static func add(
        _ covers: [String], _ server: TestServer, _ query: String = "", _ headers: [String: String] = [:]
    ) async throws -> HTTPReply {
        let form = Data.form(images: try covers.map(DemoCovers.image), fields: [:], boundary: "b")
        return try await server.send(
            "POST", images + query, headers.merging(["Content-Type": "multipart/form-data; boundary=b"]) { a, _ in a },
            body: form)
    }

    private static func ids(_ reply: HTTPReply) throws -> [String] {
        let images = try #require(try reply.json["images"] as? [[String: Any]])
        return try images.map { try #require($0["id"] as? String) }
    }

    /// The place of the image of `a` that a cover finds; nil if it finds nothing.
    private static func place(of cover: String, _ server: TestServer) async throws -> Int? {
        let found =
            try await server.send(
                "POST", "/v1/catalogs/shop/search", body: try DemoCovers.image(cover)
            ).json["results"] as? [[String: Any]]
        let match = found?.first { ($0["entity"] as? [String: Any])?["id"] as? String == "a" }
        return match.map { $0["image"] as? Int ?? 0 }
    }

    @Test func imagesAreAddedAndRemoved() async throws {
        try await Self.withShop { server in
            let before = try await server.send("GET", Self.images)
            let own = try #require(try Self.ids(before).first)
            #expect(try await server.send("GET", Self.images, ["If-None-Match": before.headers["etag"]!]).status == 304)
            let image = try DemoCovers.image("glass-orchard")
            let added = try await server.send("POST", Self.images, ["Content-Type": "image/jpeg"], body: image)
            #expect(added.status == 201)
            #expect(try Self.ids(added).count == 2 && Self.ids(added)[0] == own)
            let more = try await Self.add(["copper-horizon", "slow-meridian"], server)
            let ids = try Self.ids(more)
            #expect(more.status == 201 && ids.count == 4 && Set(ids).count == 4)
            let entity = try await server.send("GET", Self.path)
            #expect(entity.headers["etag"] == more.headers["etag"] && more.headers["etag"] != added.headers["etag"])
            #expect(try entity.json["imageCount"] as? Int == 4)
            #expect(try entity.json["title"] as? String == "Both")
            #expect(try entity.json["attributes"] as? [String: String] == ["year": "1998"])
            for (place, cover) in ["salt-signal", "glass-orchard", "copper-horizon", "slow-meridian"].enumerated() {
                #expect(try await Self.place(of: cover, server) == place)
            }

            // What was sent twice, such as by a client that got no answer, is there once.
            let again = try await Self.add(["glass-orchard", "copper-horizon"], server)
            #expect(try again.status == 200 && Self.ids(again) == ids)
            #expect(again.headers["etag"] == more.headers["etag"])

            var thumbnails: [Data] = []
            for (place, id) in ids.enumerated() {
                thumbnails.append(try await server.send("GET", Self.path + "/thumbnail?image=\(place)").body)
                #expect(try await server.send("GET", Self.images + "/\(id)/thumbnail").body == thumbnails[place])
            }

            let removed = try await server.send("DELETE", Self.images + "/" + ids[1])
            #expect(try removed.status == 200 && Self.ids(removed) == [ids[0], ids[2], ids[3]])
            #expect(try await server.send("DELETE", Self.images + "/" + ids[1]).code == "unknown-image")
            #expect(try await server.send("GET", Self.images + "/\(ids[1])/thumbnail").code == "unknown-image")
            #expect(try await server.send("GET", Self.images + "/\(ids[2])/thumbnail").body == thumbnails[2])
            #expect(try await Self.place(of: "glass-orchard", server) == nil)
            #expect(try await Self.place(of: "slow-meridian", server) == 2)
            // The cover may be removed, too.
            #expect(try await server.send("DELETE", Self.images + "/" + ids[0]).status == 200)
            #expect(try await server.send("GET", Self.path + "/thumbnail").body == thumbnails[2])
            #expect(try await server.send("DELETE", Self.images + "/" + ids[3]).status == 200)
            let last = try await server.send("DELETE", Self.images + "/" + ids[2])
            #expect(try last.status == 409 && last.code == "last-image")
            #expect(try await Self.place(of: "copper-horizon", server) == 0)
            #expect(try await server.send("GET", Self.path).json["imageCount"] == nil)
        }
    }

    @Test func addedImagesAreImagesLikeOthers() async throws {
        try await Self.withShop { server in
            #expect(try await Self.add(["glass-orchard"], server).status == 201)
            let ids = try Self.ids(try await server.send("GET", Self.images))
            let patched = try await server.send(
                "PATCH", Self.path, ["Content-Type": "application/json"], body: Data(#"{"title":"Other"}"#.utf8))
            #expect(patched.status == 200)
            #expect(try Self.ids(try await server.send("GET", Self.images)) == ids)

            // One with the picture that was added is a duplicate, and similar.
            let twin = "/v1/catalogs/shop/entities/twin"
            #expect(try await server.send("PUT", twin, body: try DemoCovers.image("glass-orchard")).status == 201)
            let groups = try await Catalog(at: server.folder.appendingPathComponent("shop")).duplicates()
            #expect(groups.map { Set([$0.reference.id] + $0.duplicates.map(\.entity.id)) } == [["a", "twin"]])
            let similar = try await server.json("POST", "/v1/catalogs/shop/search", ["entity": "twin"])
            #expect(try similar.ids.contains("a"))

            let archive = try await server.send("POST", "/v1/catalogs/shop/snapshot").body
            #expect(try await server.send("DELETE", Self.images + "/" + ids[1]).status == 200)
            #expect(try await Self.place(of: "glass-orchard", server) == nil)
            let restored = try await server.send(
                "POST", "/v1/catalogs/shop/restore", ["Content-Type": "application/x-tar"], body: archive)
            #expect(restored.status == 200)
            #expect(try Self.ids(try await server.send("GET", Self.images)) == ids)
            #expect(try await Self.place(of: "glass-orchard", server) == 1)

            // An image that is put replaces all.
            let put = try await server.send("PUT", Self.path, body: try DemoCovers.image("paper-lanterns"))
            #expect(put.status == 200)
            #expect(try Self.ids(try await server.send("GET", Self.images)).count == 1)
            #expect(try await Self.place(of: "glass-orchard", server) == nil)
        }
    }

    @Test func changesOfImagesAreMadeToWhatWasReadAndCanBeUndone() async throws {
        try await Self.withShop { server in
            let tag = try #require(try await server.send("GET", Self.images).headers["etag"])
            let added = try await Self.add(["glass-orchard"], server, "?undo=true", ["If-Match": tag])
            #expect(added.status == 201 && added.headers["x-undo"] != nil)
            let refused = try await Self.add(["copper-horizon"], server, "", ["If-Match": tag])
            #expect(try refused.code == "precondition-failed")
            let ids = try Self.ids(added)
            let old = try await server.send("DELETE", Self.images + "/" + ids[0], ["If-Match": tag])
            #expect(try old.code == "precondition-failed")
            let new = try #require(added.headers["etag"])
            let removed = try await server.send("DELETE", Self.images + "/\(ids[0])?undo=true", ["If-Match": new])
            #expect(removed.status == 200)
            let undone = try await server.send(
                "POST", Self.path + "/undo", ["If-Match": try #require(removed.headers["etag"])])
            #expect(undone.status == 200 && undone.headers["etag"] == new)
            #expect(try Self.ids(try await server.send("GET", Self.images)) == ids)
            #expect(try await Self.place(of: "salt-signal", server) == 0)
            #expect(try await server.send("POST", Self.path + "/undo", ["If-Match": new]).status == 200)
            #expect(try Self.ids(try await server.send("GET", Self.images)) == [ids[0]])
        }
    }

    @Test func imagesThatCannotBeAddedChangeNothing() async throws {
        try await Self.withShop { server in
            let image = try DemoCovers.image("glass-orchard")
            func code(_ body: Data, _ type: String = "image/jpeg", _ path: String = Self.images) async throws -> String?
            {
                try await server.send("POST", path, ["Content-Type": type], body: body).code
            }
            #expect(try await code(image.prefix(2000)) == "unusable-image")
            #expect(try await code(Data("%PDF-1".utf8)) == "unsupported-image")
            #expect(try await code(image, "image/jpeg", "/v1/catalogs/shop/entities/c/images") == "unknown-entity")
            #expect(try await code(image, "image/jpeg", Self.images + "?title=x") == "invalid-request")
            #expect(try await code(image, "text/plain") == "unsupported-media-type")
            let encoded = image.base64EncodedString()
            let titled = try JSONSerialization.data(withJSONObject: ["title": "x", "image": encoded])
            #expect(try await code(titled, "application/json") == "invalid-request")
            let tooMany = [String](repeating: encoded, count: 256)
            #expect(try await server.json("POST", Self.images, ["images": tooMany]).code == "invalid-request")
            #expect(try await server.send("GET", "/v1/catalogs/shop/entities/c/images").code == "unknown-entity")
            #expect(try Self.ids(try await server.send("GET", Self.images)).count == 1)
            // A print is an image without a thumbnail.
            let prints = try await server.send("POST", "/v1/prints?catalog=shop", body: image).json["prints"]
            let print = try #require((prints as? [[String: Any]])?.first)
            #expect(try await server.json("POST", Self.images, ["print": print]).status == 201)
            #expect(try await Self.place(of: "glass-orchard", server) == 1)
        }
    }

    @Test func keysAndSignaturesAreForImagesToo() async throws {
        let (key, entry) = APIKey.make(scope: .read, name: "shop")
        try await TestServer.run(configure: {
            $0.keys = KeyRing([entry])
            $0.signedThumbnailTime = .seconds(3600)
        }) { (server: TestServer) async throws -> Void in
            let images = "/v1/catalogs/covers/entities/salt-signal/images"
            #expect(try await server.send("GET", images).status == 401)
            let list = try await server.send("GET", images, ["X-API-Key": key])
            let image = try #require((try list.json["images"] as? [[String: Any]])?.first)
            let link = try #require(image["thumbnail"] as? String)
            #expect(try await server.send("GET", link).headers["content-type"] == "image/jpeg")
            let body = try DemoCovers.image("glass-orchard")
            #expect(try await server.send("POST", images, ["X-API-Key": key], body: body).code == "forbidden")
            let id = try #require(image["id"] as? String)
            #expect(try await server.send("DELETE", images + "/" + id, ["X-API-Key": key]).code == "forbidden")
        }
    }
}
