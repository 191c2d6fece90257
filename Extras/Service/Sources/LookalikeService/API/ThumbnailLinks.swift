#if Service
import Digests
public import Foundation

/// The paths of thumbnails in answers, and which of them need no key: those of catalogs whose thumbnails are public,
/// and signed ones until they expire.
@_spi(Service) public struct ThumbnailLinks: Sendable {
    /// What paths start with.
    private let base: String
    private let publicCatalogs: Set<String>
    private let signing: (secret: Data, lifetime: Int)?

    /// The file below the catalogs' folder that has what links are signed with.
    private static let secretName = ".thumbnail-secret"

    /// Links for a configuration. The secret of signatures is made if there is none.
    ///
    /// - Throws: ``ServiceError`` if it can be neither read nor made.
    @_spi(Service) public init(_ configuration: ServiceConfiguration) throws(ServiceError) {
        base = configuration.base
        publicCatalogs = configuration.publicThumbnails
        // Without keys everybody may read, and with them a path alone is not enough.
        guard let lifetime = configuration.signedThumbnailTime, !configuration.keys.isEmpty else {
            signing = nil
            return
        }
        signing = (
            try Self.secret(in: configuration.catalogs.appendingPathComponent(Self.secretName)),
            max(1, Int(lifetime / .seconds(1)))
        )
    }

    private init(base: String) {
        self.base = base
        publicCatalogs = []
        signing = nil
    }

    /// Paths alone.
    static let unsigned = ThumbnailLinks(base: "")

    /// The link to the thumbnail of an entity. A signed one stays the same for its lifetime, so that browsers keep the
    /// image, and is accepted for once or twice as long.
    ///
    /// - Parameter image: the id of one of its images; the first without it.
    @_spi(Service) public func thumbnail(
        of id: String, image: String? = nil, in catalog: CatalogName, now: Date = .now
    ) -> String {
        let images = image.map { "/images/\($0)" } ?? ""
        let path = EntityAnswer.path(of: id, catalog: catalog, base: base) + images + "/thumbnail"
        guard let signing, !publicCatalogs.contains(catalog.description) else { return path }
        let expiry = (Int(now.timeIntervalSince1970) / signing.lifetime + 2) * signing.lifetime
        let code = Self.code(of: id, in: catalog, expiry: expiry, secret: signing.secret)
        return path + "?expires=\(expiry)&signature=\(code.base64URL)"
    }

    /// Whether a request may read a thumbnail without a key.
    ///
    /// - Throws: ``Problem`` for a signature that does not hold.
    func isOpen(_ id: String, in catalog: CatalogName, _ fields: RequestFields, now: Date = .now) throws(Problem)
        -> Bool
    {
        if publicCatalogs.contains(catalog.description) { return true }
        guard let signing, let given = try fields.one("signature") else { return false }
        let expiry = try fields.integer("expires") ?? 0
        let code = Self.code(of: id, in: catalog, expiry: expiry, secret: signing.secret)
        guard SHA256.areEqual(Data(code.base64URL.utf8), Data(given.utf8)) else { return false }
        return Double(expiry) > now.timeIntervalSince1970
    }

    /// The seconds for which whoever received a thumbnail without a key may keep it: not beyond its signature.
    func cacheTime(_ fields: RequestFields, now: Date = .now) throws(Problem) -> Int {
        let expiry = try fields.integer("expires").map { Double($0) - now.timeIntervalSince1970 }
        return Int(max(0, min(expiry ?? 300, 300)))
    }

    /// Whether a link may be read without a key.
    @_spi(Service) public func isOpen(
        _ id: String, in catalog: CatalogName, query link: String, now: Date
    ) throws -> Bool {
        let query = link.split(separator: "?", maxSplits: 1).last.map(String.init)
        return try isOpen(id, in: catalog, RequestFields(query: query), now: now)
    }

    private static func code(of id: String, in catalog: CatalogName, expiry: Int, secret: Data) -> Data {
        // A name has no line break, and the id is the rest.
        HMAC.sha256(of: Data("thumbnail\n\(catalog)\n\(expiry)\n\(id)".utf8), key: secret)
    }

    /// The secret in a file, which is made unless another service has made it.
    private static func secret(in file: URL) throws(ServiceError) -> Data {
        do {
            if !FileManager.default.fileExists(atPath: file.path) {
                var random = SystemRandomNumberGenerator()
                let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                let new = file.appendingPathExtension(UUID().uuidString)
                defer { unlink(new.path) }
                guard
                    FileManager.default.createFile(
                        atPath: new.path, contents: Data(bytes), attributes: [.posixPermissions: 0o600]),
                    // Unlike a move it keeps a file that is there.
                    link(new.path, file.path) == 0 || errno == EEXIST
                else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            }
            let secret = try Data(contentsOf: file)
            guard secret.count >= 32 else { throw POSIXError(.EINVAL) }
            return secret
        } catch {
            throw ServiceError(
                subject: file.path,
                reason: "cannot be read, or made with 32 random bytes: \(error.localizedDescription)")
        }
    }
}

extension Data {
    /// Base64 for URLs, without padding (RFC 4648, section 5).
    fileprivate var base64URL: String {
        base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
#endif
