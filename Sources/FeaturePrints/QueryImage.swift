import Imaging

/// An image that is looked at several times: a large one is reduced once, and its pixels are read again only
/// for what is small in it.
struct QueryImage {
    /// The image, or a smaller one of it that shows as much.
    let overview: PixelBuffer
    private let image: PixelBuffer
    private let inputSide: Int

    /// The overview has at least as many pixels a side as this many of the network's inputs.
    private static let inputsInOverview = 4

    /// - Parameter looks: how often the image is looked at; for one look nothing is reduced.
    init(_ image: PixelBuffer, for model: FeaturePrintModel, looks: Int) {
        self.image = image
        inputSide = max(model.inputSize.width, model.inputSize.height)
        let factor = looks < 2 ? 1 : min(16, max(1, min(image.width, image.height) / (Self.inputsInOverview * inputSide)))
        overview = BoxReducer(factor: factor).reduce(image)
    }

    /// A part of the middle `fraction` of the image: of the overview where that has a pixel for each of the
    /// network's, of the image itself otherwise.
    func region(_ part: Quadrilateral, ofCentre fraction: Double) -> ImageRegion {
        let corners = part.corners
        let sides = zip(corners, corners.dropFirst() + corners.prefix(1)).map { a, b in
            let (x, y) = ((a.x - b.x) * Double(overview.width), (a.y - b.y) * Double(overview.height))
            return fraction * (x * x + y * y).squareRoot()
        }
        let source = (sides.min() ?? 0) >= Double(inputSide) ? overview : image
        return ImageRegion(fraction == 1 ? source : source.centre(fraction), part: part)
    }
}
