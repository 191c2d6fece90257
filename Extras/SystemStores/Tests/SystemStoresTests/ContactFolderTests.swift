import Foundation
import SystemStores
import Testing

struct ContactFolderTests {
    private static func contents(_ text: String) async throws -> StoreContents<Contact> {
        try await contents(Data(text.utf8))
    }

    private static func contents(_ data: Data) async throws -> StoreContents<Contact> {
        let folder = try TemporaryFolder()
        try folder.write(data, to: "a.vcf")
        return try await ContactFolder(folder.url).contacts()
    }

    private static func card(_ version: String, _ lines: String...) -> String {
        (["BEGIN:VCARD", "VERSION:\(version)"] + lines + ["END:VCARD", ""]).joined(separator: "\r\n")
    }

    @Test func readsACardOfVersion4() async throws {
        let contents = try await Self.contents(
            Self.card(
                "4.0", "UID:urn:uuid:1", "FN:Dr. Ada Fontaine\\, MD", "N:Fontaine;Ada;Marie,Claire;Dr.;MD",
                "NICKNAME:Adi,The Count", "ORG:Slow Records;Pressing", "TITLE:Engineer",
                "TEL;VALUE=uri;TYPE=\"voice,home\";PREF=1:tel:+351-21-555-01", "EMAIL;TYPE=work:ada@example.org",
                "ADR;TYPE=home:;;Rua do Sol 7;Lisboa;;1100-001;Portugal", "BDAY:--0415", "KIND:individual",
                "NOTE:Two\\nlines\\; one \\\\ backslash", "CATEGORIES:friends,music", "URL:https://example.org/a,b",
                "REV:20260102T030405Z"))
        let contact = try #require(contents.items.first)
        #expect(contents.items.count == 1 && contents.problems.isEmpty, "\(contents.problems)")
        #expect(contact.id == "urn:uuid:1" && contact.name == "Dr. Ada Fontaine, MD")
        #expect(contact.familyName == "Fontaine" && contact.givenName == "Ada")
        #expect(contact.additionalNames == "Marie Claire" && contact.namePrefix == "Dr." && contact.nameSuffix == "MD")
        #expect(contact.nicknames == ["Adi", "The Count"] && contact.organization == "Slow Records, Pressing")
        #expect(
            contact.phones == [
                Contact.Entry(value: "+351-21-555-01", labels: ["voice", "home"], isPreferred: true)
            ])
        #expect(contact.emails == [Contact.Entry(value: "ada@example.org", labels: ["work"])])
        #expect(
            contact.addresses.map { "\($0.street)|\($0.city)|\($0.postalCode)|\($0.country)" } == [
                "Rua do Sol 7|Lisboa|1100-001|Portugal"
            ])
        #expect(contact.birthday == Contact.PartialDate(month: 4, day: 15) && contact.jobTitle == "Engineer")
        #expect(contact.notes == "Two\nlines; one \\ backslash" && contact.categories == ["friends", "music"])
        #expect(contact.urls.map(\.value) == ["https://example.org/a,b"])
        #expect(contact.revised == Date(timeIntervalSince1970: 1_767_323_045))
    }

    /// Folded in the middle of a character, in groups with labels, in quoted-printable and in another character set.
    @Test func readsCardsOfOlderVersions() async throws {
        var data = Data("BEGIN:VCARD\nVERSION:3.0\nFN:In".utf8)
        data += [0xC3] + Data("\r\n ".utf8) + [0xA9] + Data("s Okafor\n".utf8)
        data += Data(
            """
            item1.TEL;type=CELL;type=pref:555 02
            item1.X-ABLabel:_$!<Mobile>!$_
            BDAY;X-APPLE-OMIT-YEAR=1604:1604-02-29
            END:VCARD
            BEGIN:VCARD
            VERSION:2.1
            N;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FCller, the elder;J=F6rg
            NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Zeile eins=0D=0A=
             und zwei=
            ; sch=C3=B6n
            TEL;HOME;VOICE:555 03
            X-EMPTY:
            END:VCARD

            """.utf8)
        let contents = try await Self.contents(data)
        #expect(contents.problems.isEmpty, "\(contents.problems)")
        #expect(contents.items.map(\.name) == ["Inés Okafor", "Jörg Müller, the elder"])
        #expect(
            contents.items[0].phones == [Contact.Entry(value: "555 02", labels: ["cell", "mobile"], isPreferred: true)])
        #expect(contents.items[0].birthday == Contact.PartialDate(month: 2, day: 29))
        #expect(
            contents.items[1].familyName == "Müller, the elder"
                && contents.items[1].phones[0].labels == ["home", "voice"])
        #expect(contents.items[1].notes == "Zeile eins\r\n und zwei; schön")
    }

    @Test func readsPhotosInAllTheirForms() async throws {
        let bytes = Data((0..<300).map { UInt8($0 % 256) })
        let base64 = bytes.base64EncodedString()
        // Folded at 70 characters.
        let folded = stride(from: 0, to: base64.count, by: 70).map {
            String(base64.dropFirst($0).prefix(70))
        }.joined(separator: "\r\n ")
        for (version, line, expected) in [
            ("3.0", "PHOTO;ENCODING=b;TYPE=JPEG:\(folded)", Contact.Photo.data(bytes, mediaType: "image/jpeg")),
            ("2.1", "PHOTO;PNG;BASE64:\r\n \(folded)\r\n", .data(bytes, mediaType: "image/png")),
            ("4.0", "PHOTO:data:image/png;base64,\(folded)", .data(bytes, mediaType: "image/png")),
            ("4.0", "PHOTO:data:image/svg+xml,%3Csvg/%3E", .data(Data("<svg/>".utf8), mediaType: "image/svg+xml")),
            (
                "4.0", "PHOTO;MEDIATYPE=image/gif:https://example.org/a.gif",
                .url(URL(string: "https://example.org/a.gif")!)
            ),
            (
                "4.0", "PHOTO;PREF=2:https://example.org/a\r\nPHOTO;PREF=1:https://example.org/b\r\nPHOTO:http://c.org",
                .url(URL(string: "https://example.org/b")!)
            ),
        ] {
            let contents = try await Self.contents(Self.card(version, "FN:x", line))
            #expect(contents.items.first?.photo == expected && contents.problems.isEmpty, "\(contents.problems)")
        }
    }

    @Test func datesAreDaysOfTheCalendar() async throws {
        for (text, date) in [
            ("19960415", Contact.PartialDate(year: 1996, month: 4, day: 15)),
            ("1996-04-15", Contact.PartialDate(year: 1996, month: 4, day: 15)),
            ("1996-04-15T10:00:00Z", Contact.PartialDate(year: 1996, month: 4, day: 15)),
            ("1996-04", Contact.PartialDate(year: 1996, month: 4)), ("1996", Contact.PartialDate(year: 1996)),
            ("---15", Contact.PartialDate(day: 15)), ("--04", Contact.PartialDate(month: 4)),
            ("--02-29", Contact.PartialDate(month: 2, day: 29)),
            ("20000229", Contact.PartialDate(year: 2000, month: 2, day: 29)),
        ] {
            let contents = try await Self.contents(Self.card("4.0", "FN:x", "BDAY:\(text)"))
            #expect(contents.items.first?.birthday == date && contents.problems.isEmpty, "\(text)")
        }
        for text in [
            "19000229", "1996-13-01", "1996-04-31", "19960400", "soon", "1996-", "--", "-----", "0000", "١٩٩٦",
        ] {
            let contents = try await Self.contents(Self.card("4.0", "FN:x", "BDAY:\(text)"))
            #expect(contents.items.first?.birthday == nil && contents.items.count == 1, "\(text)")
            #expect(contents.problems.map(\.reason).joined().contains("line 4: BDAY is “\(text)”"), "\(text)")
        }
    }

    @Test func whatCannotBeReadIsReportedByFileLineAndReason() async throws {
        let good = Self.card("3.0", "FN:good")
        for (text, reason, names) in [
            ("", "no BEGIN:VCARD", [String]()),
            ("hello\n", "line 1 is not a property", []),
            ("a:b\nc:d\n", "line 1 is outside of a card", []),
            (String(good.dropLast(10)), "truncated: no END:VCARD for the card that begins in line 1", []),
            (String(good.dropLast(10)) + good, "no END:VCARD for the card that begins in line 1", ["good"]),
            (good + "END:VCARD\n", "line 5: END:VCARD without", ["good"]),
            ("BEGIN:VCARD\nFN:x\nEND:VCARD\n" + good, "line 1: the card has no VERSION", ["good"]),
            (Self.card("5.0", "FN:x") + good, "line 2: version “5.0” is none of", ["good"]),
            (Self.card("3.0", "EMAIL:x@example.org") + good, "line 1: the card has no name", ["good"]),
            (Self.card("3.0", "FN:x", "no property"), "line 4 is not a property", ["x"]),
            (Self.card("3.0", "FN:x", "PHOTO;ENCODING=b:%%%"), "line 4: PHOTO is not base64", ["x"]),
            (Self.card("4.0", "FN:x", "PHOTO:data:image/png;base64,%%%"), "line 4: PHOTO is not a data URI", ["x"]),
            (Self.card("4.0", "FN:x", "PHOTO:not a photo"), "line 4: PHOTO is neither", ["x"]),
            (Self.card("2.1", "N:x", "NOTE;CHARSET=KLINGON:Q"), "line 4: NOTE is in the unknown character set", ["x"]),
            (Self.card("2.1", "N:x", "NOTE;QUOTED-PRINTABLE:a=9"), "line 4: NOTE is not quoted-printable", ["x"]),
            (Self.card("3.0", "FN:x", "REV:20261301T000000Z"), "line 4: REV is “20261301T000000Z”", ["x"]),
        ] {
            let contents = try await Self.contents(text)
            #expect(contents.items.map(\.name) == names, "\(reason): \(contents.items.map(\.name))")
            #expect(
                contents.problems.contains { $0.subject.hasSuffix("a.vcf") && $0.reason.contains(reason) },
                "\(reason): \(contents.problems)")
        }
        let latin = try await Self.contents(
            Data("BEGIN:VCARD\nVERSION:3.0\nFN:M".utf8) + [0xFC] + Data("\nN:M\nEND:VCARD".utf8))
        #expect(latin.items.map(\.name) == ["M"] && latin.problems.first?.reason == "line 3: FN is not utf-8 text")
        await #expect(throws: StoreProblem.self) {
            try await ContactFolder(URL(fileURLWithPath: "/nowhere")).contacts()
        }
    }

    /// Cards that refer to each other, agents in agents, endless lines, and files of noise.
    @Test(.timeLimit(.minutes(1))) func hostileFilesAreReportedAndEnd() async throws {
        let cyclic = try await Self.contents(
            Self.card("4.0", "UID:a", "FN:a", "RELATED:b", "MEMBER:b") + Self.card("4.0", "UID:b", "FN:b", "RELATED:a"))
        #expect(cyclic.items.map(\.name) == ["a", "b"] && cyclic.problems.isEmpty)
        let agents = try await Self.contents(
            String(repeating: "BEGIN:VCARD\nVERSION:2.1\nN:x\nAGENT:\n", count: 10_000)
                + String(repeating: "END:VCARD\n", count: 10_000))
        #expect(agents.items.map(\.name) == ["x"])

        let long = try await Self.contents(
            Self.card(
                "3.0", "FN:x",
                "NOTE:" + String(repeating: String(repeating: "a", count: 1023) + "\r\n ", count: 17 << 10))
                + Self.card("3.0", "FN:y"))
        #expect(long.items.map(\.name) == ["x", "y"] && long.problems.count == 1)
        #expect(long.problems[0].reason.contains("line 4 has \(1023 * (17 << 10) + 5) bytes"))
        let soft = try await Self.contents(
            Self.card("2.1", "N:x", "NOTE;QUOTED-PRINTABLE:" + String(repeating: "a=\n", count: 1 << 17)))
        #expect(soft.items.first?.notes?.count == 1 << 17)
        let many = try await Self.contents(String(repeating: "nothing\n", count: 5000))
        #expect(many.problems.count == 101 && many.problems.last?.reason == "has 4900 further problems")

        var random = SeededGenerator(seed: 7)
        let valid = Array(
            Self.card("3.0", "FN:x", "N:a;b,c", "PHOTO;ENCODING=b:AAAA", "BDAY:2000-01-01", "REV:2026-01-01T00:00:00Z")
                .utf8)
        for _ in 0..<3000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                default: bytes.insert(Array(":;,=\\\n\r \"^.".utf8).randomElement(using: &random)!, at: index)
                }
            }
            let contents = try await Self.contents(Data(bytes))
            #expect(contents.items.count <= 1 && (contents.items.count == 1 || !contents.problems.isEmpty))
        }
    }

    @Test func ofTwoCardsWithAUIDTheLaterOneIsTaken() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.card("4.0", "UID:a", "FN:new", "REV:20260202T000000Z"), to: "a.vcf")
        try folder.write(Self.card("4.0", "UID:a", "FN:old", "REV:20260101T000000Z"), to: "below/b.VCF")
        try folder.write(Self.card("4.0", "FN:without") + Self.card("4.0", "FN:without"), to: "c.vcf")
        try folder.write("not read", to: ".hidden.vcf")
        let contents = try await ContactFolder(folder.url).contacts()
        #expect(contents.items.map(\.name) == ["new", "without", "without"])
        #expect(Set(contents.items.map(\.id)).count == 3)
        #expect(contents.problems.count == 1 && contents.problems[0].reason.contains("“old” has the same UID as “new”"))
    }

    /// The name was in the problem of each of the others.
    @Test func problemsHaveTheBeginningsOfLongNames() async throws {
        let name = "a" + String(repeating: "\u{301}", count: 100_000)
        let others = (0..<200).map { Self.card("4.0", "UID:a", "FN:\($0)") }
        let contents = try await Self.contents(
            Self.card("4.0", "UID:a", "FN:\(name)", "REV:20260202T000000Z") + others.joined())
        #expect(contents.items.map(\.name) == [name] && contents.problems.count == 200)
        #expect(contents.problems.allSatisfy { $0.reason.utf8.count < 1000 })
    }

    @Test func areFoundByTheirNames() async throws {
        let folder = try TemporaryFolder()
        try folder.write(
            Self.card("4.0", "FN:Inés Okafor", "NICKNAME:Nana") + Self.card("4.0", "FN:Ines Marlow")
                + Self.card("4.0", "FN:Inesita Vale") + Self.card("4.0", "FN:Hard Club", "KIND:org"), to: "a.vcf")
        let index = ContactIndex(try await ContactFolder(folder.url).contacts().items)
        for (text, names) in [
            ("okafor INES", ["Inés Okafor"]), ("ines", ["Ines Marlow", "Inés Okafor", "Inesita Vale"]),
            ("inesi", ["Inesita Vale"]), ("nana", ["Inés Okafor"]), ("in ok", ["Inés Okafor"]), ("", []), ("?!", []),
            ("ines club", []),
        ] {
            #expect(index.contacts(named: text).map(\.name) == names, "\(text)")
        }
        #expect(index.contacts(named: "ines", limit: 1).map(\.name) == ["Ines Marlow"])
        #expect(
            index.contacts(mentionedIn: "INES OKAFOR at the Hard Club").map(\.name) == ["Hard Club", "Inés Okafor"])
        #expect(index.contacts(mentionedIn: "Nana's party").isEmpty && index.contacts.count == 4)
    }

    @Test(.timeLimit(.minutes(1))) func tellsOfChanges() async throws {
        let folder = try TemporaryFolder()
        let contacts = ContactFolder(folder.url)
        var changes = try contacts.changes().makeAsyncIterator()
        try folder.write(Self.card("4.0", "FN:a"), to: "a.vcf")
        #expect(await changes.next() != nil)
        #expect(try await contacts.contacts().items.map(\.name) == ["a"])
    }
}
