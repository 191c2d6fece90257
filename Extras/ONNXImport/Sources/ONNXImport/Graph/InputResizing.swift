#if ONNXImport
import Inference
import Lookalike

/// How images of other sizes become the network's input.
struct InputResizing {
    /// See `NetworkGraph.Input.shortestSide`.
    let shortestSide: Int?
    let filter: NetworkGraph.Input.Filter
    /// What was taken, and why.
    let sentence: String

    init(to size: NetworkGraph.Extent, _ options: ImportOptions, _ preprocessing: Preprocessing?) {
        let side = max(size.width, size.height)
        filter = options.filter ?? preprocessing?.filter ?? .bilinear
        switch options.resize {
        case .stretch: shortestSide = nil
        case .shortest(let pixels): shortestSide = pixels ?? side
        case nil:
            // For an input of another size than the file's, its share of the image stays.
            shortestSide = preprocessing.flatMap { file in
                file.shortestSide.map { max(side, $0 * side / max(file.inputSize ?? side, 1)) }
            }
        }
        let how =
            shortestSide.map { "the shorter side is resized to \($0) pixels, and the center is taken" }
            ?? "stretched to the input"
        let source =
            if options.resize != nil && options.filter != nil { "as given" } else {
                preprocessing.map { "as \($0.file) says" } ?? "--resize and --filter set others"
            }
        sentence = "images: \(how), \(filter.rawValue); \(source)"
    }
}
#endif
