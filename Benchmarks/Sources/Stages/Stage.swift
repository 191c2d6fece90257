import Foundation

/// A piece of work that is measured repeatedly.
public protocol Stage: AnyObject {
    /// Does the work once and returns its milliseconds.
    func run() async throws -> Double
    /// The result of the work, to compare with that of others.
    var result: [Float] { get }
    /// Takes other numbers and options for the same inputs, if it can.
    func adjust(_ description: StageDescription) throws
}

extension Stage {
    public func adjust(_ description: StageDescription) throws {
        throw StageError("\(description.stage) cannot be adjusted")
    }
}

/// The milliseconds that `body` takes.
public func milliseconds<Result>(_ body: () throws -> Result) rethrows -> (Double, Result) {
    let start = ContinuousClock.now
    let result = try body()
    return (elapsed(since: start), result)
}

public func elapsed(since start: ContinuousClock.Instant) -> Double {
    (ContinuousClock.now - start) / .milliseconds(1)
}

/// The inputs of a stage, as peers/compare.py names them.
public struct StageDescription: Decodable, Sendable {
    public var stage: String
    public var threads = 1
    /// Files by kind: “pixels”, “rows”, “queries”, “image”, “images”, “catalog”.
    public var files: [String: String] = [:]
    public var numbers: [String: Int] = [:]
    public var options: [String: String] = [:]

    enum CodingKeys: CodingKey { case stage, threads, files, numbers, options }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        stage = try values.decode(String.self, forKey: .stage)
        threads = try values.decodeIfPresent(Int.self, forKey: .threads) ?? 1
        files = try values.decodeIfPresent([String: String].self, forKey: .files) ?? [:]
        numbers = try values.decodeIfPresent([String: Int].self, forKey: .numbers) ?? [:]
        options = try values.decodeIfPresent([String: String].self, forKey: .options) ?? [:]
    }

    public func file(_ name: String) throws -> URL {
        guard let path = files[name] else { throw StageError("\(stage) needs the file “\(name)”") }
        return URL(fileURLWithPath: path)
    }

    public func number(_ name: String) throws -> Int {
        guard let number = numbers[name] else { throw StageError("\(stage) needs the number “\(name)”") }
        return number
    }

    /// Reads the inputs and makes the stage.
    public func make() async throws -> any Stage {
        switch stage {
        case "read": try ReadStage(self)
        case "multiply-add": MultiplyAddStage()
        case "resize": try ResizeStage(self)
        case "decode": try DecodeStage(self)
        case "network": try NetworkStage(self)
        case "search": try SearchStage(self)
        case "features": try FeatureStage(self)
        case "verify": try VerificationStage(self)
        case "open": try OpenStage(self)
        case "whole": try WholeStage(self)
        case "layer": try LayerStage(self)
        default: throw StageError("no stage is called “\(stage)”")
        }
    }
}

public struct StageError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
