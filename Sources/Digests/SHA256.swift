import COpenSSL
public import Foundation

/// A running SHA-256 (FIPS 180-4), computed by OpenSSL.
public struct SHA256: ~Copyable {
    private let context: OpaquePointer

    /// A digest of no bytes yet.
    public init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("OpenSSL offers SHA-256")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Adds bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        precondition(
            EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "OpenSSL hashes any number of bytes")
    }

    /// Adds bytes.
    public mutating func update(_ data: Data) { data.withUnsafeBytes { update($0) } }

    /// The 32 bytes of the digest. Nothing can be added afterwards.
    public mutating func finalize() -> Data {
        var digest = Data(count: 32)
        let isDone = digest.withUnsafeMutableBytes { bytes in
            EVP_DigestFinal_ex(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), nil) == 1
        }
        precondition(isDone, "OpenSSL finishes a digest that was started")
        return digest
    }

    /// The digest of `data`.
    public static func hash(_ data: Data) -> Data {
        var hash = SHA256()
        hash.update(data)
        return hash.finalize()
    }

    /// Whether two digests are equal, in a time that depends on their length alone: a digest of a secret cannot be
    /// found byte by byte.
    public static func areEqual(_ a: Data, _ b: Data) -> Bool {
        a.count == b.count
            && a.withUnsafeBytes { a in
                b.withUnsafeBytes { CRYPTO_memcmp(a.baseAddress, $0.baseAddress, a.count) == 0 }
            }
    }
}

extension Data {
    /// Two lowercase hexadecimal digits for each byte.
    public var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// A code that shows who made a message: somebody who knows a key (RFC 2104). Computed by OpenSSL.
public enum HMAC {
    /// The 32 bytes of HMAC-SHA-256 (RFC 4231). Compare codes with ``SHA256/areEqual(_:_:)``.
    public static func sha256(of message: Data, key: Data) -> Data {
        var code = Data(count: 32)
        let isDone = code.withUnsafeMutableBytes { code in
            message.withUnsafeBytes { message in
                key.withUnsafeBytes { key in
                    // Nil would be the key of an earlier call.
                    COpenSSL.HMAC(
                        EVP_sha256(), key.baseAddress ?? UnsafeRawPointer(code.baseAddress), Int32(key.count),
                        message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count,
                        code.baseAddress?.assumingMemoryBound(to: UInt8.self), nil) != nil
                }
            }
        }
        precondition(isDone, "OpenSSL computes HMAC-SHA-256")
        return code
    }
}
