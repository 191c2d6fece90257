import Imaging

/// What a model made of a region.
public struct RegionPrint: Sendable {
    public let print: FeaturePrint
    /// Where in the image the model takes the thing to be that the picture is about; nil for a model
    /// that does not tell (``FeaturePrintModel/findsObjects``). A guess, which also an image gets that
    /// shows no such thing.
    public let object: Quadrilateral?

    public init(print: FeaturePrint, object: Quadrilateral?) {
        self.print = print
        self.object = object
    }
}
