#if SystemStores
import Foundation

/// One file of cards.
struct VCardFile {
    private var lines: VCardLines
    private let path: String
    private var problems: FileProblems

    init(_ data: Data, path: String) {
        lines = VCardLines(data)
        self.path = path
        problems = FileProblems(path: path)
    }

    /// The contacts of all cards that can be read.
    mutating func contacts() -> StoreContents<Contact> {
        var contacts: [Contact] = []
        var count = 0
        var card: [VCardLine] = []
        var depth = 0
        var begin = 0
        var isOutside = false
        for line in lines {
            switch line {
            case .problem(let reason):
                problems.add(reason)
            case .property(let line) where line.isMarker("BEGIN"):
                // Version 2.1 has the card of an agent inside of the card. It is not followed.
                let isInside = depth > 1 || depth == 1 && card.last?.name == "AGENT" && card.last?.value.isEmpty == true
                if isInside {
                    depth += 1
                    continue
                }
                if depth == 1 { problems.add("no END:VCARD for the card that begins in line \(begin)") }
                (card, begin, depth, isOutside) = ([], line.number, 1, false)
            case .property(let line) where line.isMarker("END"):
                guard depth > 0 else {
                    problems.add("line \(line.number): END:VCARD without its BEGIN:VCARD")
                    continue
                }
                depth -= 1
                guard depth == 0 else { continue }
                count += 1
                if let contact = contact(of: card, count: count, begin: begin) { contacts.append(contact) }
            case .property(let line):
                if depth == 1 { card.append(line) }
                if depth == 0, !isOutside {
                    // Once for what may be any other file.
                    problems.add("line \(line.number) is outside of a card")
                    isOutside = true
                }
            }
        }
        if depth > 0 { problems.add("truncated: no END:VCARD for the card that begins in line \(begin)") }
        if count == 0, depth == 0, problems.all.isEmpty { problems.add("is not a file of cards: no BEGIN:VCARD") }
        return StoreContents(items: contacts, problems: problems.all)
    }

    /// - Returns: nil if the card as a whole cannot be read; the problems say why.
    private mutating func contact(of lines: [VCardLine], count: Int, begin: Int) -> Contact? {
        guard let version = lines.first(where: { $0.name == "VERSION" }) else {
            problems.add("line \(begin): the card has no VERSION")
            return nil
        }
        let number = String(decoding: version.value, as: UTF8.self).trimmingCharacters(in: .whitespaces)
        guard ["2.1", "3.0", "4.0"].contains(number) else {
            problems.add("line \(version.number): version “\(number.prefix(20))” is none of 2.1, 3.0 and 4.0")
            return nil
        }
        var reader = VCardReader(version: number, file: path, lines: lines)
        let contact = reader.contact(id: "\(path)#\(count)")
        reader.problems.forEach { problems.add($0) }
        if contact == nil { problems.add("line \(begin): the card has no name: neither FN, N nor ORG") }
        return contact
    }
}

extension VCardLine {
    func isMarker(_ name: String) -> Bool {
        self.name == name
            && String(decoding: value.prefix(16), as: UTF8.self).trimmingCharacters(in: .whitespaces).uppercased()
                == "VCARD"
    }
}

/// Reads the properties of one card.
struct VCardReader {
    private let version: String
    private let file: String
    private let lines: [VCardLine]
    private(set) var problems: [String] = []

    init(version: String, file: String, lines: [VCardLine]) {
        self.version = version
        self.file = file
        self.lines = lines
    }

    /// - Parameter id: for a card without a UID.
    /// - Returns: nil if the card has no name.
    mutating func contact(id: String) -> Contact? {
        var contact = Contact(id: id, name: "", file: file)
        var photos: [(rank: Int, photo: Contact.Photo)] = []
        let groupLabels = labelsOfGroups()
        for line in lines {
            do throws(VCardValueProblem) {
                if line.name == "PHOTO" {
                    if let photo = try photo(of: line) { photos.append((line.preference ?? 101, photo)) }
                } else {
                    try read(line, into: &contact, groupLabels)
                }
            } catch {
                problems.append("line \(line.number): \(line.name) \(error.reason)")
            }
        }
        // The first of the most preferred.
        contact.photo = photos.min { $0.rank < $1.rank }?.photo
        if contact.name.isEmpty { contact.name = Self.name(of: contact) }
        return contact.name.isEmpty ? nil : contact
    }

    /// The names that Apple's address book gives to entries: `item1.X-ABLABEL:_$!<HomePage>!$_` beside `item1.URL:…`.
    private func labelsOfGroups() -> [String: String] {
        var labels: [String: String] = [:]
        for line in lines where line.name == "X-ABLABEL" && !line.group.isEmpty {
            guard let text = try? line.plainText() else { continue }
            labels[line.group] =
                text.hasPrefix("_$!<") && text.hasSuffix(">!$_") ? text.dropFirst(4).dropLast(4).lowercased() : text
        }
        return labels
    }

    /// The name, in the order of writing where the card has it in parts alone.
    private static func name(of contact: Contact) -> String {
        let parts = [
            contact.namePrefix, contact.givenName, contact.additionalNames, contact.familyName, contact.nameSuffix,
        ].filter { !$0.isEmpty }
        return parts.isEmpty ? contact.organization ?? "" : parts.joined(separator: " ")
    }

    private func read(
        _ line: VCardLine, into contact: inout Contact, _ groupLabels: [String: String]
    ) throws(VCardValueProblem) {
        func entry() throws(VCardValueProblem) -> Contact.Entry? {
            let value = try line.plainText().trimmingCharacters(in: .whitespaces)
            guard !value.isEmpty else { return nil }
            return Contact.Entry(
                value: value, labels: line.types + [groupLabels[line.group]].compactMap { $0 },
                isPreferred: line.preference != nil)
        }
        switch line.name {
        case "FN":
            // A card in several languages has several.
            if contact.name.isEmpty { contact.name = try line.plainText().trimmingCharacters(in: .whitespaces) }
        case "N":
            let parts = try components(of: line)
            func part(_ index: Int) -> String { index < parts.count ? parts[index].joined(separator: " ") : "" }
            (contact.familyName, contact.givenName, contact.additionalNames) = (part(0), part(1), part(2))
            (contact.namePrefix, contact.nameSuffix) = (part(3), part(4))
        case "NICKNAME": contact.nicknames += try line.list()
        case "ORG":
            let units = try line.components().map { $0.joined(separator: ",") }.filter { !$0.isEmpty }
            contact.organization = units.isEmpty ? nil : units.joined(separator: ", ")
        case "TITLE": contact.jobTitle = try line.plainText()
        case "TEL":
            if var phone = try entry() {
                // Version 4.0 has phone numbers as URIs.
                if phone.value.lowercased().hasPrefix("tel:") { phone.value = String(phone.value.dropFirst(4)) }
                contact.phones.append(phone)
            }
        case "EMAIL": if let email = try entry() { contact.emails.append(email) }
        case "URL": if let url = try entry() { contact.urls.append(url) }
        case "ADR":
            let parts = try components(of: line)
            func part(_ index: Int) -> String { index < parts.count ? parts[index].joined(separator: ", ") : "" }
            contact.addresses.append(
                Contact.PostalAddress(
                    street: [part(0), part(1), part(2)].filter { !$0.isEmpty }.joined(separator: ", "), city: part(3),
                    region: part(4), postalCode: part(5), country: part(6),
                    labels: line.types + [groupLabels[line.group]].compactMap { $0 }))
        case "BDAY":
            // “around 1800” is no date.
            guard line.parameter("VALUE")?.lowercased() != "text" else { return }
            let text = try line.plainText().trimmingCharacters(in: .whitespaces)
            guard !text.isEmpty else { return }
            guard var date = Contact.PartialDate(vCard: text) else {
                throw VCardValueProblem(reason: "is “\(text.prefix(40))”, which is not a date")
            }
            if let omitted = line.parameter("X-APPLE-OMIT-YEAR"), Int(omitted) == date.year { date.year = nil }
            contact.birthday = date
        case "NOTE":
            let note = try line.plainText()
            // Notes are joined in place: a card may have one per line.
            if contact.notes == nil { contact.notes = note } else { contact.notes?.append("\n" + note) }
        case "CATEGORIES": contact.categories += try line.list()
        case "KIND", "X-ADDRESSBOOKSERVER-KIND": contact.kind = try line.plainText().lowercased()
        case "UID":
            let uid = try line.plainText().trimmingCharacters(in: .whitespaces)
            if !uid.isEmpty { contact.id = uid }
        case "REV":
            let text = try line.plainText().trimmingCharacters(in: .whitespaces)
            guard let date = Self.timestamp(text) else {
                throw VCardValueProblem(reason: "is “\(text.prefix(40))”, which is not a time")
            }
            contact.revised = date
        default: break
        }
    }

    /// Commas separate lists from version 3.0 on.
    private func components(of line: VCardLine) throws(VCardValueProblem) -> [[String]] {
        version == "2.1" ? try line.components().map { [$0.joined(separator: ",")] } : try line.components()
    }

    /// - Returns: nil for an empty one.
    private func photo(of line: VCardLine) throws(VCardValueProblem) -> Contact.Photo? {
        guard !line.value.isEmpty else { return nil }
        let mediaType = line.parameter("MEDIATYPE") ?? line.types.first.map { $0.contains("/") ? $0 : "image/\($0)" }
        if line.encoding == "B" || line.encoding == "BASE64" {
            return .data(try line.base64(), mediaType: mediaType)
        }
        // RFC 2397. Not through text(): the value is long.
        if line.value.starts(with: Data("data:".utf8)) || line.value.starts(with: Data("DATA:".utf8)) {
            return try Self.photo(dataURI: line.value)
        }
        let text = try line.plainText()
        guard let url = URL(string: text), url.scheme != nil else {
            throw VCardValueProblem(reason: "is neither base64, a data URI nor a URL")
        }
        return .url(url)
    }

    private static func photo(dataURI: ArraySlice<UInt8>) throws(VCardValueProblem) -> Contact.Photo {
        let problem = VCardValueProblem(reason: "is not a data URI that can be read")
        // Some programs escape the comma as in other values.
        guard let comma = dataURI.firstIndex(of: UInt8(ascii: ",")), comma - dataURI.startIndex < 1024 else {
            throw problem
        }
        let head = String(decoding: dataURI[dataURI.startIndex.advanced(by: 5)..<comma], as: UTF8.self)
            .replacing("\\", with: "")
        let parts = head.split(separator: ";").map { $0.lowercased() }
        let content = String(decoding: dataURI[(comma + 1)...], as: UTF8.self)
        let type = parts.first { $0.contains("/") }
        guard parts.last == "base64" else {
            guard let plain = content.removingPercentEncoding, !plain.isEmpty else { throw problem }
            return .data(Data(plain.utf8), mediaType: type)
        }
        let digits = content.contains("%") ? content.removingPercentEncoding ?? "" : content
        guard let data = Data(base64Encoded: digits), !data.isEmpty else { throw problem }
        return .data(data, mediaType: type)
    }

    /// `20260102T030405Z`, `2026-01-02T03:04:05Z` with or without fractions, a zone or a time. UTC without a zone.
    private static func timestamp(_ text: String) -> Date? {
        let parts = text.uppercased().split(separator: "T", maxSplits: 1)
        guard let day = parts.first, let date = Contact.PartialDate(vCard: String(day)), let year = date.year,
            let month = date.month, let dayOfMonth = date.day
        else { return nil }
        var seconds = 0
        if parts.count == 2 {
            let digits = parts[1].filter { $0 != ":" }
            let time = digits.prefix { $0.isASCII && $0.isNumber }
            guard [2, 4, 6].contains(time.count),
                let number = Int(time.padding(toLength: 6, withPad: "0", startingAt: 0)),
                number / 10_000 < 24, number / 100 % 100 < 60, number % 100 <= 60
            else { return nil }
            seconds = number / 10_000 * 3600 + number / 100 % 100 * 60 + number % 100
            var zone = digits.dropFirst(time.count)
            if zone.hasPrefix(".") || zone.hasPrefix(",") { zone = zone.dropFirst().drop { $0.isNumber } }
            if zone.hasPrefix("+") || zone.hasPrefix("-") {
                guard [3, 5].contains(zone.count),
                    let offset = Int(
                        zone.dropFirst().padding(
                            toLength: 4, withPad: "0", startingAt: 0))
                else { return nil }
                let shift = offset / 100 * 3600 + offset % 100 * 60
                seconds -= zone.hasPrefix("-") ? -shift : shift
            } else if !zone.isEmpty, zone != "Z" {
                return nil
            }
        }
        let days = DayNumber.of(year: year, month: month, day: dayOfMonth)
        return Date(timeIntervalSince1970: Double(days * 86_400 + seconds))
    }
}
#endif
