import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Reads bodies into memory, within a limit for each and one for all of them together.
struct RequestBodyReader: Sendable {
    /// The maximum number of bytes of a body.
    let limit: Int
    let budget: ByteBudget
    /// How long a client may send nothing.
    let idleTime: Duration

    /// The body, and a claim on the budget that ends with it.
    func read(_ request: Request) async throws -> HeldBody {
        let announced = request.headers[.contentLength].flatMap { Int($0) }
        if let announced, announced > limit { throw tooLarge }
        // As bytes come: what a stalled client announced takes no memory, and must not keep others out.
        let claim = try budget.claim(0)
        var data = Data()
        var pace = BodyPace(idleTime: idleTime)
        var start = ContinuousClock.now
        for try await buffer in request.body {
            try pace.add(buffer.readableBytes, after: .now - start)
            start = .now
            guard data.count + buffer.readableBytes <= limit else { throw tooLarge }
            try claim.add(buffer.readableBytes)
            buffer.withUnsafeReadableBytes { data.append(contentsOf: $0) }
        }
        return HeldBody(data: data, claim: claim)
    }

    private var tooLarge: Problem { Problem(.bodyTooLarge, "The body has more than \(limit) bytes, the limit.") }
}

/// A body in memory.
struct HeldBody: Sendable {
    let data: Data
    let claim: ByteBudget.Claim
}
