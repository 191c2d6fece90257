#if ONNXImport
import Foundation
import Inference
import Lookalike

/// What a network's training did to images, as a file beside the network says.
struct Preprocessing {
    /// The name of the file.
    let file: String
    /// The side of the input, if the file says it.
    var inputSize: Int?
    var mean: [Float]?
    var std: [Float]?
    /// See `NetworkGraph.Input.shortestSide`.
    var shortestSide: Int?
    var filter: NetworkGraph.Input.Filter?

    /// Reads `preprocessor_config.json` of Hugging Face or `open_clip_config.json`, in the network's folder or, as
    /// exporters place it, in the folder of a folder called “onnx”.
    ///
    /// - Parameter options: what of the file does not matter, since it is given.
    /// - Returns: nil without such a file.
    /// - Throws: `ImportError` that names the file and what of it is not supported.
    static func beside(_ network: URL, _ options: ImportOptions) throws(ImportError) -> Preprocessing? {
        let folder = network.absoluteURL.deletingLastPathComponent()
        let folders = folder.lastPathComponent == "onnx" ? [folder, folder.deletingLastPathComponent()] : [folder]
        for folder in folders {
            for (name, read) in [("preprocessor_config.json", huggingFace), ("open_clip_config.json", openCLIP)] {
                let url = folder.appendingPathComponent(name)
                guard FileManager.default.fileExists(atPath: url.path) else { continue }
                do {
                    let result = try read(try Data(contentsOf: url), name, options)
                    for side in [result.inputSize, result.shortestSide].compactMap(\.self)
                    where !(1...4096).contains(side) {
                        throw ImportError.Reason.graph("resizes images to \(side) pixels; 1…4096 are supported")
                    }
                    return result
                } catch let reason as ImportError.Reason {
                    throw ImportError(subject: url.path, reason: reason)
                } catch let error as DecodingError {
                    throw ImportError(subject: url.path, reason: .graph("is not such a file: \(error)"))
                } catch {
                    throw ImportError(subject: url.path, reason: .unreadable((error as NSError).localizedDescription))
                }
            }
        }
        return nil
    }

    // MARK: Hugging Face

    private static func huggingFace(_ data: Data, _ name: String, _ options: ImportOptions) throws -> Preprocessing {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let values = try decoder.decode(HuggingFace.self, from: data)
        var result = Preprocessing(file: name)
        // Values are v · 255 · factor before the mean is subtracted.
        let scale = values.doRescale ?? true ? 255 * (values.rescaleFactor ?? 1 / 255) : 255
        let normalizes = values.doNormalize ?? (values.imageMean != nil)
        result.mean = (normalizes ? values.imageMean ?? [] : [0, 0, 0]).map { Float($0 / scale) }
        result.std = (normalizes ? values.imageStd ?? [] : [1, 1, 1]).map { Float($0 / scale) }
        guard options.mean != nil && options.std != nil || result.mean?.count == 3 && result.std?.count == 3, scale > 0
        else {
            throw ImportError.Reason.graph("lacks “image_mean” or “image_std” of three numbers; give --mean and --std")
        }
        guard values.doResize ?? true, let size = values.size else { return result }
        if options.filter == nil { result.filter = try filter(values.resample ?? 2) }
        let crop = values.doCenterCrop ?? false ? values.cropSize ?? size : nil
        result.inputSize = (crop ?? size).side
        guard options.resize == nil else { return result }
        switch size {
        case .sides where result.inputSize != nil && (crop ?? size) == size: break
        case .shortest(let shortest) where crop?.side != nil: result.shortestSide = shortest
        case .shortest(let shortest):
            guard let share = values.cropPct, share > 0, crop == nil else {
                throw ImportError.Reason.graph("leaves images in their shape; give --resize")
            }
            // ConvNeXt stretches large images.
            result.shortestSide = shortest < 384 ? Int(min(Double(shortest) / share, 1e6)) : nil
        default: throw ImportError.Reason.graph("resizes images to a shape that is not supported; give --resize")
        }
        return result
    }

    private struct HuggingFace: Decodable {
        let doResize: Bool?
        let size: Size?
        let resample: Int?
        let doCenterCrop: Bool?
        let cropSize: Size?
        let cropPct: Double?
        let doRescale: Bool?
        let rescaleFactor: Double?
        let doNormalize: Bool?
        let imageMean: [Double]?
        let imageStd: [Double]?
    }

    /// A number is the shortest side of what is resized, and both sides of what is cropped.
    private enum Size: Decodable, Equatable {
        case shortest(Int)
        case sides(height: Int, width: Int)
        case other

        /// The side of a square.
        var side: Int? {
            switch self {
            case .shortest(let side): side
            case .sides(let height, let width): height == width ? width : nil
            case .other: nil
            }
        }

        private enum Keys: String, CodingKey {
            case shortestEdge, longestEdge, height, width
        }

        init(from decoder: any Decoder) throws {
            if let side = try? decoder.singleValueContainer().decode(Int.self) {
                self = .shortest(side)
                return
            }
            let values = try decoder.container(keyedBy: Keys.self)
            if let height = try values.decodeIfPresent(Int.self, forKey: .height),
                let width = try values.decodeIfPresent(Int.self, forKey: .width)
            {
                self = .sides(height: height, width: width)
            } else if let side = try values.decodeIfPresent(Int.self, forKey: .shortestEdge),
                try values.decodeIfPresent(Int.self, forKey: .longestEdge) == nil
            {
                self = .shortest(side)
            } else {
                self = .other
            }
        }
    }

    /// The filters by Pillow's numbers.
    private static func filter(_ number: Int) throws -> NetworkGraph.Input.Filter {
        switch number {
        case 2: return .bilinear
        case 3: return .bicubic
        default: throw ImportError.Reason.graph("resamples images by the filter \(number); give --filter")
        }
    }

    // MARK: open_clip

    private static func openCLIP(_ data: Data, _ name: String, _ options: ImportOptions) throws -> Preprocessing {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let values = try decoder.decode(OpenCLIP.self, from: data)
        var result = Preprocessing(file: name)
        result.inputSize = values.modelCfg?.visionCfg?.imageSize?.side
        // The mean and deviation of OpenAI's training, which open_clip takes by default.
        result.mean = values.preprocessCfg?.mean ?? [0.48145466, 0.4578275, 0.40821073]
        result.std = values.preprocessCfg?.std ?? [0.26862954, 0.26130258, 0.27577711]
        switch values.preprocessCfg?.interpolation ?? "bicubic" {
        case "bicubic": result.filter = .bicubic
        case "bilinear": result.filter = .bilinear
        case let other where options.filter == nil:
            throw ImportError.Reason.graph("has the interpolation “\(other)”; give --filter")
        default: break
        }
        switch values.preprocessCfg?.resizeMode ?? "shortest" {
        case "shortest": result.shortestSide = result.inputSize
        case "squash": break
        case let other where options.resize == nil:
            throw ImportError.Reason.graph("has the resize_mode “\(other)”; give --resize")
        default: break
        }
        return result
    }

    private struct OpenCLIP: Decodable {
        struct Model: Decodable { let visionCfg: Vision? }
        struct Vision: Decodable { let imageSize: Side? }
        /// A number, or two that are the same.
        struct Side: Decodable {
            let side: Int

            init(from decoder: any Decoder) throws {
                let value = try decoder.singleValueContainer()
                let sides = if let side = try? value.decode(Int.self) { [side] } else { try value.decode([Int].self) }
                guard let first = sides.first, sides.allSatisfy({ $0 == first }) else {
                    throw DecodingError.dataCorruptedError(in: value, debugDescription: "\(sides) is no square")
                }
                side = first
            }
        }

        struct Images: Decodable {
            let mean: [Float]?
            let std: [Float]?
            let interpolation: String?
            let resizeMode: String?
        }

        let modelCfg: Model?
        let preprocessCfg: Images?
    }
}
#endif
