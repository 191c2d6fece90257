#if ONNXImport
import Foundation

/// The files beside a network that hold its weights: PyTorch writes them so by default.
///
/// https://onnx.ai/onnx/repo-docs/ExternalData.html
final class ExternalData {
    /// The folder of the network; nil for one that was read from memory.
    private let folder: URL?
    /// The files that were read, by their location.
    private var files: [String: Data] = [:]

    init(folder: URL?) { self.folder = folder }

    /// The bytes of a tensor that lies in another file.
    ///
    /// A location may be a symbolic link, as in the cache of Hugging Face, but names a file in the folder.
    ///
    /// - Parameter count: how many bytes the tensor's shape needs.
    /// - Throws: `ImportError.Reason.malformed` that names the tensor and the file.
    func bytes(of tensor: ONNXTensor, count: Int) throws(ImportError.Reason) -> Data {
        func entry(_ key: String) -> String? { tensor.externalData.last { $0.key == key }?.value }
        let location = entry("location") ?? ""
        let name = "tensor “\(tensor.name)” lies in the file “\(location)”"
        let parts = location.split(separator: "/", omittingEmptySubsequences: false)
        guard !location.contains("\0"), parts.allSatisfy({ !["", ".."].contains($0) }) else {
            throw .malformed("\(name), which is not in the network’s folder")
        }
        func number(_ key: String, _ missing: Int) throws(ImportError.Reason) -> Int {
            guard let text = entry(key) else { return missing }
            guard let number = Int(text), number >= 0 else { throw .malformed("\(name) with the \(key) “\(text)”") }
            return number
        }
        let data = try file(location, name)
        let offset = try number("offset", 0)
        guard offset <= data.count else {
            throw .malformed("\(name) at byte \(offset), but that has \(data.count) bytes: is it complete?")
        }
        let length = try number("length", data.count - offset)
        guard length == count else { throw .malformed("\(name) with \(length) bytes, but its shape needs \(count)") }
        guard length <= data.count - offset else {
            throw .malformed(
                "\(name) at bytes \(offset) to \(offset + length), but that has \(data.count) bytes: is it complete?")
        }
        return data[(data.startIndex + offset)..<(data.startIndex + offset + length)]
    }

    private func file(_ location: String, _ name: String) throws(ImportError.Reason) -> Data {
        if let data = files[location] { return data }
        guard let folder else {
            throw .malformed("\(name), which is found only beside a network that is read by its path")
        }
        let url = folder.appendingPathComponent(location)
        let data: Data
        do {
            // Devices and pipes would be read without end.
            let values = try url.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
            guard values.isRegularFile == true else {
                throw ImportError.Reason.malformed("\(name), which is no regular file")
            }
            data = try Data(contentsOf: url, options: .mappedIfSafe)
        } catch let reason as ImportError.Reason {
            throw reason
        } catch {
            throw .malformed(
                "\(name), which has to be beside it and cannot be read: \((error as NSError).localizedDescription)")
        }
        files[location] = data
        return data
    }
}
#endif
