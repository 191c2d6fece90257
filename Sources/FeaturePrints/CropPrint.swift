import Imaging

/// The output of a network for one crop: its print, and where it localizes the object.
public struct CropPrint: Sendable {
    /// The print of the crop.
    public let print: FeaturePrint
    /// The corners of the object that the picture is about, in coordinates of the image that the crop is of.
    ///
    /// Nil for a model without localization (``FeaturePrintModel/localizesObjects``). An image that shows no such
    /// object gets corners too.
    public let object: Quadrilateral?

    /// A print and, if the model localizes objects, the corners of the object.
    public init(print: FeaturePrint, object: Quadrilateral?) {
        self.print = print
        self.object = object
    }
}
