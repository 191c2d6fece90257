/// How a catalog's nearest prints are found.
public enum PrintIndexKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// By an inverted file from ``automaticCount`` images on, and by comparing all prints below.
    case automatic
    /// By comparing all prints.
    case exact
    /// By an inverted file (`InvertedFileIndex`), whatever the number of images.
    case invertedFile = "ivf"

    /// About the number of prints from which the inverted file is worth its memory.
    public static let automaticCount = 1 << 19
}
