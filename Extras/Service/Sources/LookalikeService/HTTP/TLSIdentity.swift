#if TLS
import Foundation
import NIOCore
import NIOSSL
import Synchronization

/// The certificate and the key of HTTPS. They end after some weeks, and are read again without a restart.
final class TLSIdentity: Sendable {
    private let files: ServiceConfiguration.TLSFiles
    private let current: Mutex<NIOSSLContextConfigurationOverride>

    /// - Throws: ``ServiceError`` for files that cannot be used.
    init(_ files: ServiceConfiguration.TLSFiles) throws(ServiceError) {
        self.files = files
        current = Mutex(try Self.read(files))
    }

    /// Reads the files again. Connections that are open go on.
    ///
    /// - Throws: ``ServiceError`` for files that cannot be used; what was read before is kept.
    func reload() throws(ServiceError) {
        let new = try Self.read(files)
        current.withLock { $0 = new }
    }

    /// A configuration with which each new connection gets what was read last.
    var configuration: TLSConfiguration {
        let first = current.withLock { $0 }
        var configuration = Self.configuration(of: first)
        configuration.sslContextCallback = { [self] _, promise in promise.succeed(current.withLock { $0 }) }
        return configuration
    }

    private static func configuration(of identity: NIOSSLContextConfigurationOverride) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: identity.certificateChain ?? [], privateKey: identity.privateKey ?? .file(""))
        configuration.minimumTLSVersion = .tlsv12
        return configuration
    }

    private static func read(
        _ files: ServiceConfiguration.TLSFiles
    ) throws(ServiceError) -> NIOSSLContextConfigurationOverride {
        do {
            var identity = NIOSSLContextConfigurationOverride()
            identity.certificateChain = try NIOSSLCertificate.fromPEMFile(files.certificateChain.path).map {
                .certificate($0)
            }
            identity.privateKey = .privateKey(try NIOSSLPrivateKey(file: files.privateKey.path, format: .pem))
            // Refuses a key that is not the certificate's.
            _ = try NIOSSLContext(configuration: configuration(of: identity))
            return identity
        } catch {
            throw ServiceError(subject: "the TLS files", reason: "cannot be used: \(error)")
        }
    }
}
#endif
