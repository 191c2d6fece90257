import CoreImage
import VideoToolbox
import Vision
import VisualIntelligence

/// The paintings with feature prints that are made once.
#if swift(>=6)
@MainActor
#endif
@Observable
public class PaintingCollection {
    public static let shared = PaintingCollection()

    public struct Entry: Sendable {
        let painting: PaintingEntity
        let print: FeaturePrintObservation
    }

    public private(set) var entries: [Entry] = []

    public init() {}

    public func add(id: String, name: String, painter: String, file: Data) async throws {
        var painting = PaintingEntity(id: id, picture: file)
        painting.name = name
        painting.painter = painter
        guard let picture = CIImage(data: file),
            let image = CIContext().createCGImage(picture, from: picture.extent)
        else { return }
        entries.append(Entry(painting: painting, print: try await makePrint(of: image)))
    }

    func all() async -> [PaintingEntity] { entries.map { $0.painting } }

    func paintings(for identifiers: [String]) async -> [PaintingEntity] {
        identifiers.compactMap { id in entries.first { $0.painting.id == id }?.painting }
    }

    private func makePrint(of image: CGImage) async throws -> FeaturePrintObservation {
        let request = GenerateImageFeaturePrintRequest()
        let print = try await request.perform(on: image)
        return print
    }

    public func search(
        matching pixelBuffer: CVReadOnlyPixelBuffer, limit: Int = 5, maxDistance: Double = 1.0
    ) async throws -> [PaintingEntity] {
        var image: CGImage?
        _ = pixelBuffer.withUnsafeBuffer {
            VTCreateCGImageFromCVPixelBuffer($0, options: nil, imageOut: &image)
        }
        guard let image else { return [] }
        let wanted = try await makePrint(of: image)
        return try entries.compactMap { entry -> (painting: PaintingEntity, distance: Double)? in
            let distance = try wanted.distance(to: entry.print)
            return distance <= maxDistance ? (entry.painting, distance) : nil
        }
        .sorted { $0.distance < $1.distance }
        .prefix(limit)
        .map { $0.painting }
    }

    /// The other way to an image, by Core Image.
    func image(of pixelBuffer: CVReadOnlyPixelBuffer) -> CGImage? {
        let context = CIContext()
        let image = CIImage(cvPixelBuffer: pixelBuffer)
        return context.createCGImage(image, from: image.extent)
    }
}

/// The guided tours.
public final class TourGuide: Sendable {
    let tours: [TourEntity]

    public init(painters: [String]) {
        tours = painters.map { painter in
            var tour = TourEntity(id: painter)
            tour.painter = painter
            return tour
        }
    }

    func tours(of painters: [String]) async -> [TourEntity] {
        tours.filter { painters.contains($0.painter) }
    }
}
