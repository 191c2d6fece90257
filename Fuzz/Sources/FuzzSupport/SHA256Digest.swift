import COpenSSL

/// The digest of bytes, where damage has to have the right one.
public enum SHA256Digest {
    /// 32 bytes.
    public static func of(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let isDone = Array(bytes).withUnsafeBytes {
            EVP_Digest($0.baseAddress, $0.count, &digest, nil, EVP_sha256(), nil)
        }
        precondition(isDone == 1, "OpenSSL hashes any number of bytes")
        return digest
    }
}
