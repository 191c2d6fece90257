import ArgumentParser
import CommandProcess
import Compute
import Foundation
import Lookalike
import Synchronization

struct WorkerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Answers requests of another program, one process for millions of images.",
        discussion: """
            Reads requests from standard input, and writes answers to standard output in the same order: prints, \
            local features and thumbnails of images, and matches if a catalog is given. Requests and answers are \
            JSON with binary data, each with its length before it; the article “From a folder to many machines” of the \
            documentation describes them. The Python module “lookalike” speaks the protocol.

            Several requests are worked on at a time, so send some before you read the first answer. An image that \
            cannot be used is answered by an error. The worker ends when standard input does, or when nobody reads \
            its answers any more.
            """)

    @Option(
        name: .customLong("catalog"),
        help: ArgumentHelp("A catalog’s folder, to answer searches of it.", valueName: "dir"), completion: .directory)
    var folder: FilePath?

    @OptionGroup var model: ModelOptions

    @Option(
        help: ArgumentHelp("Refuse images of more than this many megapixels; 268 by default.", valueName: "megapixels"))
    var maxMegapixels: Double?

    @OptionGroup var jobs: JobsOption

    func validate() throws {
        if let maxMegapixels, !(maxMegapixels > 0 && maxMegapixels <= 4294) {
            throw ValidationError("--max-megapixels must be above 0, and at most 4294.")
        }
    }

    func run() throws {
        // A write to a pipe that nobody reads fails, instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        let catalog = try folder.map { try model.openCatalog(at: $0.folderURL, jobs: jobs) }
        let limits = maxMegapixels.map { DecodingOptions(maximumMegapixels: $0) } ?? DecodingOptions()
        let computer = try ImageComputer(model: catalog?.model ?? model.load(), limits: limits)
        let threads = jobs.jobs ?? availableProcessorCount
        let queue = WorkerQueue(threads: threads)
        let work = WorkerWork(computer: computer, catalog: catalog, limits: limits, threads: threads)
        for index in 0..<threads {
            let isStarted = DetachedThread.start(named: "worker \(index)") {
                while let (jobs, others) = queue.take() {
                    let answers = work.answers(to: jobs.map(\.request), threads: max(1, threads / (others + 1)))
                    queue.finish(zip(jobs, answers).map { ($0.number, $1) })
                }
            }
            // One thread does all, but more slowly.
            guard isStarted || index > 0 else {
                throw CommandError(subject: "worker", reason: "no thread can be started")
            }
        }
        let failure = WorkerFailure()
        let isReading = DetachedThread.start(named: "requests") {
            failure.set(RequestReader(queue: queue, byteLimit: limits.maximumByteCount).readAll())
            queue.end()
        }
        guard isReading else { throw CommandError(subject: "worker", reason: "no thread can be started") }
        try WorkerFrame.write(WorkerFrame(WorkerGreeting(of: computer, threads: threads)))
        while let answer = queue.nextAnswer() { try WorkerFrame.write(answer) }
        if let words = failure.words { throw CommandError(subject: "standard input", reason: words) }
    }
}

/// Why reading ended before the end of the requests.
private final class WorkerFailure: Sendable {
    private let value = Mutex<String?>(nil)
    var words: String? { value.withLock { $0 } }
    func set(_ words: String?) { value.withLock { $0 = words } }
}

/// A message: the lengths of its two parts as 32-bit little-endian numbers, a header of JSON, and binary data.
private struct WorkerFrame: Sendable {
    let data: Data

    init(_ header: some Encodable, _ payload: [Data] = []) throws {
        let text = Data(try JSONLine.text(header).utf8)
        var data = Data()
        for length in [text.count, payload.reduce(0) { $0 + $1.count }] {
            withUnsafeBytes(of: UInt32(length).littleEndian) { data.append(contentsOf: $0) }
        }
        data += text
        for part in payload { data += part }
        self.data = data
    }

    /// Writes to standard output at once. A pipe that nobody reads ends the process quietly.
    static func write(_ frame: WorkerFrame) throws {
        var rest = frame.data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            let reason = errno
            if count < 0, reason == EINTR { continue }
            guard count > 0 else {
                if reason == EPIPE { throw ExitCode.failure }
                throw CommandError(
                    subject: "standard output", reason: "cannot be written: \(String(cString: strerror(reason)))")
            }
            rest = rest.dropFirst(count)
        }
    }
}

/// The first message of a worker.
private struct WorkerGreeting: Encodable {
    struct Model: Encodable {
        let name: String
        let digest: String
    }

    /// The version of the protocol: another one is not compatible.
    let `protocol` = 1
    let version = PackageVersion.current
    let model: Model
    let dimension: Int
    /// SHA-256 of the model of local features.
    let localFeatures: String?
    let jobs: Int
    /// The requests that are taken before anybody reads an answer.
    let window: Int

    init(of computer: ImageComputer, threads: Int) {
        model = Model(name: computer.model.identity.name, digest: computer.model.identity.digest)
        (dimension, localFeatures, jobs) = (computer.model.dimension, computer.localFeatureModelDigest, threads)
        window = threads * WorkerQueue.requestsPerThread
    }
}

/// What a program asks for.
private struct WorkerRequest: Decodable, Sendable {
    enum Kind: String, Decodable, Sendable { case embed, search }

    /// A whole number or a text, which the answer has, too.
    enum ID: Codable, Sendable {
        case number(Int64)
        case text(String)

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let number = try? value.decode(Int64.self) {
                self = .number(number)
            } else {
                self = .text(try value.decode(String.self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            switch self {
            case .number(let number): try value.encode(number)
            case .text(let text): try value.encode(text)
            }
        }
    }

    let id: ID?
    let request: Kind
    /// A file; without it the image is in the message.
    let path: String?
    let localFeatures: Bool?
    /// The long side in pixels.
    let thumbnail: Int?
    /// The options of a search.
    let search: SearchRequest

    private enum CodingKeys: CodingKey { case id, request, path, localFeatures, thumbnail }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decodeIfPresent(ID.self, forKey: .id)
        request = try values.decode(Kind.self, forKey: .request)
        path = try values.decodeIfPresent(String.self, forKey: .path)
        localFeatures = try values.decodeIfPresent(Bool.self, forKey: .localFeatures)
        thumbnail = try values.decodeIfPresent(Int.self, forKey: .thumbnail)
        search = try SearchRequest(from: decoder)
    }

    private struct Identified: Decodable { let id: ID? }

    /// The id of a request that cannot be read otherwise.
    static func id(of header: Data) -> ID? { (try? JSONDecoder().decode(Identified.self, from: header))?.id }
}

/// A request to work on, or why it is none.
private struct WorkerJob: Sendable {
    let id: WorkerRequest.ID?
    let request: Result<WorkerRequest, WorkerError>
    let payload: Data

    /// What errors call the image.
    var name: String { (try? request.get().path) ?? "image" }
}

private struct WorkerError: Error, Encodable {
    let subject: String
    let reason: String
}

/// An answer without an image.
private struct WorkerErrorAnswer: Encodable {
    let id: WorkerRequest.ID?
    let error: WorkerError
}

private struct EmbedAnswer: Encodable {
    let id: WorkerRequest.ID?
    /// The numbers of bytes of what follows, in this order.
    let print: Int
    let localFeatures: Int?
    let thumbnail: Int?
    let notes: [String]?
}

private struct MatchesAnswer: Encodable {
    let id: WorkerRequest.ID?
    let results: [SearchAnswer.Result]
    let similar: [SearchAnswer.Result]?
}

/// Requests in the order in which they came, and their answers in the same order.
///
/// Unchecked: `condition` guards all that changes.
private final class WorkerQueue: @unchecked Sendable {
    private let threads: Int
    private let condition = NSCondition()
    private var waiting: [(number: Int, request: WorkerJob)] = []
    private var answers: [Int: WorkerFrame] = [:]
    private var (nextNumber, nextAnswered) = (0, 0)
    private var busyThreads = 0
    private var isEnded = false
    /// The bytes of images that are not answered yet, by number.
    private var byteCounts: [Int: Int] = [:]
    private var byteCount = 0

    /// Requests per thread that are read before the first of them is answered.
    static let requestsPerThread = 16
    /// The bytes of images that are not answered yet, at most; a larger image comes alone.
    private static let mostBytes = 256 << 20
    /// Images of a forward pass.
    private static let largestBatch = 8

    init(threads: Int) { self.threads = threads }

    /// Waits until there is room for an image.
    func waitForRoom(bytes: Int) {
        condition.lock()
        defer { condition.unlock() }
        while nextNumber > nextAnswered,
            nextNumber - nextAnswered >= threads * Self.requestsPerThread || byteCount + bytes > Self.mostBytes
        {
            condition.wait()
        }
    }

    func add(_ request: WorkerJob) {
        condition.lock()
        defer { condition.unlock() }
        waiting.append((nextNumber, request))
        byteCounts[nextNumber] = request.payload.count
        byteCount += request.payload.count
        nextNumber += 1
        condition.broadcast()
    }

    /// No more requests come.
    func end() {
        condition.lock()
        defer { condition.unlock() }
        isEnded = true
        condition.broadcast()
    }

    /// The next requests for a thread, and the number of other threads that work; nil at the end.
    func take() -> (jobs: [(number: Int, request: WorkerJob)], others: Int)? {
        condition.lock()
        defer { condition.unlock() }
        while waiting.isEmpty, !isEnded { condition.wait() }
        guard !waiting.isEmpty else { return nil }
        // As many as make all threads end at about the same time.
        let count = min(max(waiting.count / threads, 1), Self.largestBatch)
        let jobs = Array(waiting.prefix(count))
        waiting.removeFirst(count)
        busyThreads += 1
        return (jobs, max(busyThreads - 1, min(waiting.count, threads - 1)))
    }

    func finish(_ finished: [(number: Int, answer: WorkerFrame)]) {
        condition.lock()
        defer { condition.unlock() }
        for (number, answer) in finished {
            answers[number] = answer
            byteCount -= byteCounts.removeValue(forKey: number) ?? 0
        }
        busyThreads -= 1
        condition.broadcast()
    }

    /// Waits for the next answer in order; nil at the end.
    func nextAnswer() -> WorkerFrame? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let answer = answers.removeValue(forKey: nextAnswered) {
                nextAnswered += 1
                condition.broadcast()
                return answer
            }
            if isEnded, nextAnswered == nextNumber { return nil }
            condition.wait()
        }
    }
}

/// Reads requests from standard input.
private struct RequestReader {
    let queue: WorkerQueue
    /// The largest image.
    let byteLimit: Int

    private static let longestHeader = 1 << 20

    /// Reads all requests.
    ///
    /// - Returns: what is wrong if they do not end between two of them.
    func readAll() -> String? {
        while true {
            guard let start = read(8) else { return "cannot be read" }
            if start.isEmpty { return nil }
            guard start.count == 8 else { return "ends within a request" }
            let lengths = start.withUnsafeBytes { bytes in
                [0, 4].map { Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self))) }
            }
            guard lengths[0] <= Self.longestHeader else {
                return "is out of step: a request announces \(lengths[0]) bytes of JSON"
            }
            guard let header = read(lengths[0]), header.count == lengths[0] else { return "ends within a request" }
            let isTooLarge = lengths[1] > byteLimit
            queue.waitForRoom(bytes: isTooLarge ? 0 : lengths[1])
            guard let payload = isTooLarge ? skip(lengths[1]) : read(lengths[1]),
                isTooLarge || payload.count == lengths[1]
            else { return "ends within a request" }
            queue.add(job(header, payload, tooLarge: isTooLarge ? lengths[1] : nil))
        }
    }

    private func job(_ header: Data, _ payload: Data, tooLarge: Int?) -> WorkerJob {
        let id = WorkerRequest.id(of: header)
        func refused(_ subject: String, _ reason: String) -> WorkerJob {
            WorkerJob(id: id, request: .failure(WorkerError(subject: subject, reason: reason)), payload: Data())
        }
        if let tooLarge { return refused("image", "has \(tooLarge) bytes, more than the limit of \(byteLimit)") }
        do {
            let request = try JSONDecoder().decode(WorkerRequest.self, from: header)
            let needsImage = request.request == .embed || !request.search.isWithoutImage
            if needsImage, request.path == nil, payload.isEmpty {
                return refused("request", "has neither a path nor an image")
            }
            if request.path != nil, !payload.isEmpty { return refused("request", "has a path and an image") }
            if let path = request.path, path.isEmpty || path.utf8.contains(0) {
                return refused("request", "its path is empty or contains NUL")
            }
            if let side = request.thumbnail, !(0...4096).contains(side) {
                return refused("request", "its thumbnail is not 0…4096 pixels")
            }
            return WorkerJob(id: id, request: .success(request), payload: payload)
        } catch let error as DecodingError {
            return refused("request", Self.words(error))
        } catch {
            return refused("request", "\(error)")
        }
    }

    private static func words(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "has no “\(key.stringValue)”"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "its “\(context.codingPath.last?.stringValue ?? "header")” has another type"
        case .dataCorrupted(let context):
            context.codingPath.last.map { "its “\($0.stringValue)” is unknown" } ?? "is not JSON"
        @unknown default: "is not a request"
        }
    }

    /// The next bytes, fewer at the end; nil if they cannot be read.
    private func read(_ count: Int) -> Data? {
        var data = Data()
        // A request that announces more than it has takes no memory for it.
        while data.count < count {
            guard let part = readOnce(min(count - data.count, 1 << 20)) else { return nil }
            if part.isEmpty { break }
            data += part
        }
        return data
    }

    private func skip(_ count: Int) -> Data? {
        var rest = count
        while rest > 0 {
            guard let part = readOnce(min(rest, 1 << 20)), !part.isEmpty else { return nil }
            rest -= part.count
        }
        return Data()
    }

    private func readOnce(_ count: Int) -> Data? {
        var part = Data(count: count)
        while true {
            let found = part.withUnsafeMutableBytes { Foundation.read(STDIN_FILENO, $0.baseAddress, count) }
            if found < 0, errno == EINTR { continue }
            return found < 0 ? nil : part.prefix(found)
        }
    }
}

/// Answers requests.
private struct WorkerWork: Sendable {
    let computer: ImageComputer
    let catalog: Catalog?
    let limits: DecodingOptions
    let threads: Int

    /// An answer for each job, in order.
    func answers(to jobs: [WorkerJob], threads: Int) -> [WorkerFrame] {
        var orders: [ImageComputer.Order] = []
        for job in jobs {
            guard case .success(let request) = job.request, request.request == .embed else { continue }
            orders.append(
                ImageComputer.Order(
                    request.path.map { .file($0) } ?? .data(job.payload), named: job.name,
                    withLocalFeatures: request.localFeatures ?? false,
                    thumbnailSide: request.thumbnail.flatMap { $0 == 0 ? nil : $0 }))
        }
        var computed = computer.results(of: orders, threads: threads)[...]
        return jobs.map { job in
            do {
                let request = try job.request.get()
                switch request.request {
                case .embed:
                    guard let (result, notes) = try computed.popFirst()?.get() else { break }
                    let print = result.print.vector.map(\.bitPattern.littleEndian).withUnsafeBytes { Data($0) }
                    return try WorkerFrame(
                        EmbedAnswer(
                            id: job.id, print: print.count, localFeatures: result.localFeatures?.count,
                            thumbnail: result.thumbnail?.count, notes: notes.isEmpty ? nil : notes),
                        [print, result.localFeatures, result.thumbnail].compactMap(\.self))
                case .search: return try WorkerFrame(search(job, request))
                }
                return Self.error(job, "image", "has no answer")
            } catch let error as WorkerError {
                return Self.error(job, error.subject, error.reason)
            } catch let error as SearchRequestError {
                return Self.error(job, "request", error.description)
            } catch let error as IndexProblem {
                return Self.error(job, error.subject, error.reason)
            } catch let error as ImageError {
                return Self.error(job, error.subject, "\(error.reason)")
            } catch {
                return Self.error(job, job.name, "\(error)")
            }
        }
    }

    private static func error(_ job: WorkerJob, _ subject: String, _ reason: String) -> WorkerFrame {
        let error = WorkerError(subject: subject, reason: reason)
        guard let frame = try? WorkerFrame(WorkerErrorAnswer(id: job.id, error: error)) else {
            preconditionFailure("an error is text")
        }
        return frame
    }

    private func search(_ job: WorkerJob, _ request: WorkerRequest) throws -> MatchesAnswer {
        guard let catalog else {
            throw WorkerError(subject: "request", reason: "the worker has no catalog; start it with --catalog")
        }
        let options = try request.search.options()
        var decoding = catalog.decodingOptions(for: options.effort)
        (decoding.maximumPixelCount, decoding.maximumMemory) = (limits.maximumPixelCount, limits.maximumMemory)
        decoding.maximumByteCount = limits.maximumByteCount
        var image = try request.path.map { try PixelBuffer(contentsOf: URL(fileURLWithPath: $0), options: decoding) }
        if image == nil, !job.payload.isEmpty {
            image = try PixelBuffer(decoding: job.payload, named: job.name, options: decoding)
        }
        let query = image
        let answer = try waiting {
            try await request.search.answer(of: catalog, named: job.name, image: query, options: options)
        }
        return MatchesAnswer(id: job.id, results: answer.results, similar: answer.similar)
    }
}
