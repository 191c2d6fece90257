import COpenSSL
import Foundation

/// A running SHA-256 (FIPS 180-4), computed by OpenSSL.
package struct SHA256: ~Copyable {
    private let context: OpaquePointer

    package init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("OpenSSL offers SHA-256")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        precondition(
            EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "OpenSSL hashes any number of bytes")
    }

    package mutating func update(_ data: Data) { data.withUnsafeBytes { update($0) } }

    /// The 32 bytes of the digest. Nothing can be added afterwards.
    package mutating func finalize() -> Data {
        var digest = Data(count: 32)
        let isDone = digest.withUnsafeMutableBytes { bytes in
            EVP_DigestFinal_ex(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), nil) == 1
        }
        precondition(isDone, "OpenSSL finishes a digest that was started")
        return digest
    }

    /// The digest of `data`.
    package static func hash(_ data: Data) -> Data {
        var hash = SHA256()
        hash.update(data)
        return hash.finalize()
    }
}
