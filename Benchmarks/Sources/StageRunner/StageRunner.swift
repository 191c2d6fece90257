import Foundation
import Stages

/// Reads a stage's description as a line of JSON, and then one number per line. Runs the stage that many times, and
/// writes the milliseconds of each run as a line of JSON. “result” instead of a number writes the stage's result, and
/// another description adjusts it.
@main
struct StageRunner {
    static func main() async throws {
        guard let line = readLine() else { return }
        do {
            let stage = try await description(line).make()
            print("ready")
            fflush(nil)
            while let line = readLine() {
                let answer: String
                if let count = Int(line) {
                    var times: [Double] = []
                    for _ in 0..<count { times.append(try await stage.run()) }
                    answer = "\(times)"
                } else if line.hasPrefix("{") {
                    try stage.adjust(description(line))
                    answer = "ready"
                } else {
                    answer = "\(stage.result)"
                }
                print(answer)
                fflush(nil)
            }
        } catch {
            print("error: \(error)")
            exit(1)
        }
    }

    private static func description(_ line: String) throws -> StageDescription {
        try JSONDecoder().decode(StageDescription.self, from: Data(line.utf8))
    }
}
