import Foundation

/// Texts as searches and conditions compare them.
public enum TextFolding {
    /// A text without case, compatibility forms and diacritics, and with Latin letters of ASCII: “Łódź” is “lodz”,
    /// “Straße” is “strasse”, “Ἀθῆναι” is “αθηναι”, and without the vowel points of Arabic and Hebrew. Marks of
    /// scripts in which they are letters stay.
    public static func folded(_ text: some StringProtocol) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
        // Foundation leaves some marks of the first mapping apart from their letters.
        var folded = text.precomposedStringWithCompatibilityMapping.precomposedStringWithCanonicalMapping
            .folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
        folded.unicodeScalars.removeAll(where: isPoint)
        guard folded.unicodeScalars.contains(where: isLatinBeyondASCII) else { return folded }
        var result = ""
        for scalar in folded.unicodeScalars {
            // Such as ł, ø, đ, æ and ı, which are no letters with marks to Unicode; ICU has their table. It also has
            // punctuation, which stays: a part of a text is folded as it is in the text.
            let ascii =
                isLatinBeyondASCII(scalar)
                ? String(scalar).applyingTransform(StringTransform("Latin-ASCII"), reverse: false)?.lowercased() : nil
            result.unicodeScalars += (ascii ?? String(scalar)).unicodeScalars
        }
        return result
    }

    /// Whether SQLite's tokenizer makes the same words of a text as of its folded form: it ignores case, and the
    /// diacritics of Latin letters.
    static func isFoldedByTokenizer(_ text: String, to folded: String) -> Bool {
        if text.utf8.allSatisfy({ $0 < 0x80 }) || text.utf8.elementsEqual(folded.utf8) { return true }
        // It knows the letters of Unicode 6.1, in which those of Cherokee had no small ones.
        let isKnown = (text + folded).unicodeScalars.allSatisfy { scalar in
            scalar.properties.age.map { ($0.major, $0.minor) <= (6, 1) } ?? false
        }
        if isKnown, text.lowercased().utf8.elementsEqual(folded.utf8) { return true }
        guard text.unicodeScalars.allSatisfy({ $0.value < 0x80 || (0xC0...0x17F).contains($0.value) }) else {
            return false
        }
        let letters = text.lowercased().decomposedStringWithCanonicalMapping.unicodeScalars
            .filter { $0.properties.generalCategory != .nonspacingMark }
        return String(String.UnicodeScalarView(letters)).utf8.elementsEqual(folded.utf8)
    }

    /// Whether texts of Arabic and Hebrew may leave out a scalar: points, signs of recitation, and the tatweel, which
    /// stretches words.
    private static func isPoint(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x640: true
        case 0x591...0x5C7, 0x610...0x61A, 0x64B...0x65F, 0x670, 0x6D6...0x6ED, 0x8D3...0x8FF:
            scalar.properties.generalCategory == .nonspacingMark
        default: false
        }
    }

    private static func isLatinBeyondASCII(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0xAA...0x2AF, 0x1D00...0x1DBF, 0x1E00...0x1EFF, 0x2C60...0x2C7F, 0xA720...0xA7FF, 0xAB30...0xAB6F:
            scalar.properties.isAlphabetic
        default: false
        }
    }
}
