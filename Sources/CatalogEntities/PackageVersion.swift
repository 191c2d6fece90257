/// The version of Lookalike. The training recipe reads it from this file.
public enum PackageVersion {
    /// The version by the rules of Semantic Versioning 2.0.0, without a prefix.
    public static let current = "0.1.0"
}
