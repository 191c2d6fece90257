import COpenSSL
import Foundation

/// A running SHA-256 (FIPS 180-4), computed by OpenSSL.
struct SHA256: ~Copyable {
    private let context: OpaquePointer

    init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("OpenSSL offers SHA-256")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// The digest of all of `data`, 32 bytes.
    static func hash(_ data: Data) -> [UInt8] {
        var digest = SHA256()
        digest.update(data)
        return digest.finalize()
    }

    mutating func update(_ data: Data) {
        data.withUnsafeBytes { bytes in
            precondition(
                EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "OpenSSL hashes any number of bytes")
        }
    }

    /// The digest, 32 bytes. Nothing can be added afterwards.
    mutating func finalize() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        precondition(EVP_DigestFinal_ex(context, &digest, nil) == 1, "OpenSSL finishes a digest that was started")
        return digest
    }
}

extension [UInt8] {
    /// Two lowercase digits for each byte.
    var hexadecimal: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}
