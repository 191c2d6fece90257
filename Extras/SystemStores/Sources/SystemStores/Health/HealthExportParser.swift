#if SystemStores
import CXMLReader
import Foundation

/// Reads the samples of a Health export as its bytes come. O(1) memory but for the samples that nobody took yet.
final class HealthExportParser {
    private let path: String
    private let selection: HealthSelection
    private var reader: OpaquePointer?
    /// The beginning of the file, as long as it is not known where the document type ends.
    private var head: [UInt8]? = []

    private(set) var problems: FileProblems
    /// Read and not yet taken.
    private var samples: [HealthSample] = []
    private var record: Record?
    private var hasRoot = false
    /// Records in a correlation, such as the two of a blood pressure, are in the file a second time outside of it.
    private var correlationDepth = 0
    /// The depth of the open element; 1 for the root.
    private var depth = 0

    /// The document type of an export has some kilobytes.
    private static let longestHead = 1 << 20
    private static let mostMetadata = 1000

    /// A record whose end tag did not come yet.
    fileprivate struct Record {
        let element: Element
        let line: Int
        let depth: Int
        let attributes: Attributes
        var metadata: [String: String] = [:]
    }

    fileprivate enum Element: Equatable {
        case record
        case workout
    }

    fileprivate struct Attributes {
        var type = ""
        var source = ""
        var device: String?
        var unit = ""
        var value = ""
        var start: Date?
        var end: Date?
        var created: Date?
        var activity: String?
        var badDate: String?
    }

    init(path: String, selection: HealthSelection) {
        self.path = path
        self.selection = selection
        problems = FileProblems(path: path)
        reader = lk_xml_reader_make(
            Unmanaged.passUnretained(self).toOpaque(),
            { context, name, attributes, count in
                guard let context else { return }
                Unmanaged<HealthExportParser>.fromOpaque(context).takeUnretainedValue()
                    .begin(String(cString: name), UnsafeBufferPointer(start: attributes, count: count))
            },
            { context, name in
                guard let context else { return }
                Unmanaged<HealthExportParser>.fromOpaque(context).takeUnretainedValue().end(String(cString: name))
            })
    }

    deinit { lk_xml_reader_free(reader) }

    /// The samples since this was called last.
    func takeSamples() -> [HealthSample] {
        defer { samples.removeAll(keepingCapacity: true) }
        return samples
    }

    /// Reads the next bytes of the file.
    ///
    /// - Throws: ``StoreProblem`` for what no later byte can make good.
    func read(_ data: Data) throws(StoreProblem) {
        guard var head else {
            try parse([UInt8](data))
            return
        }
        head += data
        self.head = head
        switch DocumentType.find(in: head) {
        case .incomplete:
            guard head.count <= Self.longestHead else { throw problem("does not begin like an XML file") }
        case .problem(let reason): throw problem(reason)
        case .found(let range):
            self.head = nil
            // Lines keep their numbers.
            for index in range ?? 0..<0 where head[index] != UInt8(ascii: "\n") { head[index] = UInt8(ascii: " ") }
            try parse(head)
        }
    }

    /// - Throws: ``StoreProblem`` for a file that is not whole.
    func finish() throws(StoreProblem) {
        // Never with a part of a document type.
        guard head == nil else { throw problem("is not a Health export: no HealthData") }
        guard let reader else { throw failure(LK_XML_NO_MEMORY) }
        let status = lk_xml_reader_finish(reader)
        guard status == LK_XML_OK else { throw failure(status) }
        guard hasRoot else { throw problem("is not a Health export: no HealthData") }
    }

    private func problem(_ reason: String) -> StoreProblem { StoreProblem(subject: path, reason: reason) }

    private func parse(_ bytes: [UInt8]) throws(StoreProblem) {
        guard let reader else { throw failure(LK_XML_NO_MEMORY) }
        let status = bytes.withUnsafeBytes { bytes in
            lk_xml_reader_read(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count))
        }
        guard status == LK_XML_OK else { throw failure(status) }
    }

    private var line: Int { reader.map { Int(lk_xml_reader_line($0)) } ?? 0 }

    private func failure(_ status: lk_xml_status) -> StoreProblem {
        switch status {
        case _ where isOther, LK_XML_EMPTY,
            LK_XML_TRUNCATED where !hasRoot:
            return problem("is not a Health export: no HealthData")
        case LK_XML_TRUNCATED: return problem("truncated: the file ends in line \(line) before its last end tag")
        case LK_XML_NO_MEMORY: return problem("cannot be read: out of memory")
        case LK_XML_TOO_MANY: return problem("an element after line \(line) has more than 1000 attributes")
        default:
            let words = reader.flatMap { lk_xml_reader_message($0) }.map { String(cString: $0) } ?? "is not XML"
            return problem("line \(line): \(words.trimmingCharacters(in: .whitespacesAndNewlines))")
        }
    }

    /// Whether the root element was another.
    private var isOther = false

    // MARK: Elements

    private func begin(_ name: String, _ attributes: UnsafeBufferPointer<lk_xml_attribute>) {
        depth += 1
        guard hasRoot else {
            hasRoot = name == "HealthData"
            if !hasRoot {
                isOther = true
                if let reader { lk_xml_reader_stop(reader) }
            }
            return
        }
        switch name {
        case "Correlation": correlationDepth += 1
        case "Record" where correlationDepth == 0: open(.record, of: Self.type(in: attributes), attributes)
        case "Workout": open(.workout, of: .workout, attributes)
        // Metadata of a part, such as the route or a lap of a workout, is left out.
        case "MetadataEntry" where depth == record.map { $0.depth + 1 }: addMetadata(attributes)
        default: break
        }
    }

    private func open(
        _ element: Element, of type: HealthType, _ attributes: UnsafeBufferPointer<lk_xml_attribute>
    ) {
        // Most records are left out, and nothing else of them is read.
        guard record == nil, selection.includes(type) else { return }
        record = Record(
            element: element, line: line, depth: depth, attributes: Self.attributes(element, type, attributes))
    }

    /// The type of a record; empty if it has none.
    private static func type(in attributes: UnsafeBufferPointer<lk_xml_attribute>) -> HealthType {
        var type: HealthType = ""
        if let attribute = attributes.first(where: { strcmp($0.name, "type") == 0 }) {
            type = HealthType(rawValue: withText(of: attribute) { String(decoding: $0, as: UTF8.self) })
        }
        return type
    }

    private func end(_ name: String) {
        depth -= 1
        switch name {
        case "Correlation": correlationDepth -= 1
        case "Record" where record?.element == .record && correlationDepth == 0: close()
        case "Workout" where record?.element == .workout: close()
        default: break
        }
    }

    private func close() {
        guard let record else { return }
        self.record = nil
        do {
            let sample = try record.sample()
            if selection.includes(sample) { samples.append(sample) }
        } catch {
            problems.add("line \(record.line): \(error.reason)")
        }
    }

    private func addMetadata(_ attributes: UnsafeBufferPointer<lk_xml_attribute>) {
        var (key, value) = ("", "")
        Self.forEach(attributes) { name, text in
            if name == "key" { key = String(decoding: text, as: UTF8.self) }
            if name == "value" { value = String(decoding: text, as: UTF8.self) }
        }
        guard !key.isEmpty, record?.metadata.count ?? 0 < Self.mostMetadata else { return }
        record?.metadata[key] = value
    }

    private static func withText<Result>(
        of attribute: lk_xml_attribute, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        attribute.value.withMemoryRebound(to: UInt8.self, capacity: attribute.length) { start in
            body(UnsafeBufferPointer(start: start, count: attribute.length))
        }
    }

    private static func forEach(
        _ attributes: UnsafeBufferPointer<lk_xml_attribute>, _ body: (String, UnsafeBufferPointer<UInt8>) -> Void
    ) {
        for attribute in attributes {
            withText(of: attribute) { body(String(cString: attribute.name), $0) }
        }
    }

    private static func attributes(
        _ element: Element, _ type: HealthType, _ attributes: UnsafeBufferPointer<lk_xml_attribute>
    ) -> Attributes {
        var found = Attributes()
        found.type = type.rawValue
        func date(_ text: UnsafeBufferPointer<UInt8>) -> Date? {
            let date = HealthDate.parse(text)
            if date == nil { found.badDate = String(decoding: text.prefix(40), as: UTF8.self) }
            return date
        }
        forEach(attributes) { name, text in
            var string: String { String(decoding: text, as: UTF8.self) }
            switch (name, element) {
            case ("unit", .record), ("durationUnit", .workout): found.unit = string
            case ("value", .record), ("duration", .workout): found.value = string
            case ("workoutActivityType", .workout): found.activity = string
            case ("sourceName", _): found.source = string
            case ("device", _): found.device = string
            case ("startDate", _): found.start = date(text)
            case ("endDate", _): found.end = date(text)
            case ("creationDate", _): found.created = date(text)
            default: break
            }
        }
        return found
    }
}

/// Which samples of an export are read.
struct HealthSelection: Sendable {
    /// Nil for all types.
    var types: Set<HealthType>?
    /// Nil for all times.
    var span: DateInterval?
    /// Nil for all sources.
    var source: String?

    func includes(_ type: HealthType) -> Bool { types?.contains(type) ?? true }

    /// A sample that touches the span by its end alone is outside.
    func includes(_ sample: HealthSample) -> Bool {
        if let source, source != sample.source { return false }
        guard let span else { return true }
        return sample.start < span.end && (sample.end > span.start || sample.start >= span.start)
    }
}

private struct RecordProblem: Error {
    let reason: String
}

extension HealthExportParser.Record {
    fileprivate func sample() throws(RecordProblem) -> HealthSample {
        let name = attributes.type.isEmpty ? "a record without a type" : attributes.type
        guard !attributes.type.isEmpty else { throw RecordProblem(reason: "a record has no type") }
        if let text = attributes.badDate {
            throw RecordProblem(reason: "\(name) has the time “\(text)”, which is none")
        }
        guard let start = attributes.start, let end = attributes.end else {
            throw RecordProblem(reason: "\(name) has no \(attributes.start == nil ? "startDate" : "endDate")")
        }
        guard start <= end else { throw RecordProblem(reason: "\(name) ends before it starts") }
        let value: HealthSample.Value
        if attributes.type.hasPrefix("HKQuantityType") || element == .workout {
            guard let number = Double(attributes.value), number.isFinite else {
                let text = attributes.value.prefix(40)
                throw RecordProblem(reason: "\(name) has the value “\(text)”, which is not a number")
            }
            value = .quantity(number, unit: attributes.unit)
        } else {
            value = .category(attributes.value)
        }
        var metadata = metadata
        if let activity = attributes.activity { metadata["workoutActivityType"] = activity }
        var digest = SampleDigest()
        for text in [attributes.type, attributes.source, attributes.unit, attributes.value, attributes.activity ?? ""] {
            digest.add(text)
        }
        for date in [start, end, attributes.created ?? .distantPast] { digest.add(date) }
        return HealthSample(
            id: digest.value, type: HealthType(rawValue: attributes.type), value: value, start: start, end: end,
            created: attributes.created, source: attributes.source, device: attributes.device, metadata: metadata)
    }
}

/// A digest that is the same in every process: FNV-1a (Fowler, Noll, Vo) with 64 bits, and a last mixing step.
private struct SampleDigest {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    private mutating func add(_ byte: UInt8) { state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }

    mutating func add(_ text: String) {
        for byte in text.utf8 { add(byte) }
        // Ends the text: no byte of UTF-8 is 255.
        add(255)
    }

    /// Times have whole seconds. The zone does not count: an export has the one of where it was made.
    mutating func add(_ date: Date) {
        let seconds = UInt64(bitPattern: Int64(date.timeIntervalSince1970))
        for shift in 0..<8 { add(UInt8(truncatingIfNeeded: seconds >> (8 * shift))) }
    }

    var value: UInt64 {
        var value = state
        value = (value ^ (value >> 33)) &* 0xFF51_AFD7_ED55_8CCD
        return value ^ (value >> 33)
    }
}
#endif
