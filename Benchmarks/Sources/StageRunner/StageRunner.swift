import Foundation
import Stages

/// Reads a stage's description as a line of JSON, and then one number per line. Runs the stage that many times, and
/// writes the milliseconds of each run as a line of JSON. “result” instead of a number writes the stage's result.
@main
struct StageRunner {
    static func main() async throws {
        guard let line = readLine() else { return }
        do {
            let stage = try await JSONDecoder().decode(StageDescription.self, from: Data(line.utf8)).make()
            print("ready")
            fflush(nil)
            while let line = readLine() {
                let answer: String
                if let count = Int(line) {
                    var times: [Double] = []
                    for _ in 0..<count { times.append(try await stage.run()) }
                    answer = "\(times)"
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
}
