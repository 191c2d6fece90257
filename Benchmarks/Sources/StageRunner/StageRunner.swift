import Foundation
import Stages

/// Reads a stage's description, a line of JSON, and then a number a line: runs the stage as often and answers with
/// the milliseconds of each, a line of JSON. “result” instead of a number answers with what the stage came to.
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
