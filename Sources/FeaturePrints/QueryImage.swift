import Imaging

/// A query image, several crops of which are embedded. A large image is reduced once; small crops read the original
/// pixels.
struct QueryImage {
    /// The image, reduced if it is large.
    let overview: PixelBuffer
    private let image: PixelBuffer
    private let inputSide: Int

    /// The overview has at least this many pixels per pixel of the network's input, along each side. More did not
    /// change recall on the validation queries, and cost more to resize.
    private static let inputsInOverview = 2

    /// - Parameter cropCount: how many crops are embedded; for a single one nothing is reduced.
    init(_ image: PixelBuffer, for model: FeaturePrintModel, cropCount: Int) {
        self.image = image
        inputSide = max(model.inputSize.width, model.inputSize.height)
        let factor =
            cropCount < 2 ? 1 : min(16, max(1, min(image.width, image.height) / (Self.inputsInOverview * inputSide)))
        overview = BoxReducer(factor: factor).reduce(image)
    }

    /// A rectified crop of the center `fraction` of the image, read from the overview if that has at least one pixel
    /// per pixel of the network's input, and from the image otherwise.
    func crop(_ quadrilateral: Quadrilateral, ofCenter fraction: Double) -> ImageCrop {
        let corners = quadrilateral.corners
        let sides = zip(corners, corners.dropFirst() + corners.prefix(1)).map { a, b in
            let (x, y) = ((a.x - b.x) * Double(overview.width), (a.y - b.y) * Double(overview.height))
            return fraction * (x * x + y * y).squareRoot()
        }
        let source = (sides.min() ?? 0) >= Double(inputSide) ? overview : image
        return ImageCrop(fraction == 1 ? source : source.centerCrop(fraction), quadrilateral: quadrilateral)
    }
}
