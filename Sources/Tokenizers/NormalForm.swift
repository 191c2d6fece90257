import Foundation

/// Unicode's normal forms (https://www.unicode.org/reports/tr15), of what Foundation gives for one scalar and for
/// two: of a text it takes time in the square of the marks on a letter, and loses the order of more than sixty.
enum NormalForm {
    typealias Text = [Unicode.Scalar]

    static func decomposed(_ text: Text, isCompatible: Bool = false) -> Text {
        if text.allSatisfy(\.isASCII) { return text }
        var known: [Unicode.Scalar: Text] = [:]
        var result: Text = []
        for scalar in text {
            if scalar.isASCII {
                result.append(scalar)
            } else if let parts = known[scalar] {
                result += parts
            } else {
                let string = String(scalar)
                let parts = Array(
                    (isCompatible
                        ? string.decomposedStringWithCompatibilityMapping : string.decomposedStringWithCanonicalMapping)
                        .unicodeScalars)
                known[scalar] = parts
                result += parts
            }
        }
        // Marks are ordered by their class.
        var start = 0
        while start < result.count {
            let end = result[start...].firstIndex { combiningClass($0) == 0 } ?? result.count
            if end - start > 1 { result[start..<end].sort { combiningClass($0) < combiningClass($1) } }
            start = end + 1
        }
        return result
    }

    static func composed(_ text: Text) -> Text {
        if text.allSatisfy(\.isASCII) { return text }
        var known: [Text: Unicode.Scalar?] = [:]
        func composite(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
            switch (first.value, second.value) {
            case (0xac00...0xd7a3, 0x11a8...0x11c2):
                return (first.value - 0xac00) % 28 == 0 ? Unicode.Scalar(first.value + second.value - 0x11a7) : nil
            case (0x1100...0x1112, 0x1161...0x1175):
                return Unicode.Scalar(0xac00 + (first.value - 0x1100) * 588 + (second.value - 0x1161) * 28)
            // Foundation lacks these two.
            case (0xcca, 0xcd5): return "\u{ccb}"
            case (0x11935, 0x11930): return "\u{11938}"
            default: break
            }
            guard !second.isASCII, Unicode.GeneralCategory.named("M").contains(second.properties.generalCategory) else {
                return nil
            }
            let pair = [first, second]
            if let found = known[pair] { return found }
            let composed = String(pair).precomposedStringWithCanonicalMapping.unicodeScalars
            let found = composed.count == 1 ? composed.first : nil
            known[pair] = found
            return found
        }
        var result: Text = []
        var starter: Int?
        var lastClass: UInt8 = 0
        for scalar in text {
            let ownClass = combiningClass(scalar)
            if let place = starter, place == result.count - 1 || lastClass < ownClass,
                let composite = composite(result[place], scalar)
            {
                result[place] = composite
                continue
            }
            if ownClass == 0 { starter = result.count }
            lastClass = ownClass
            result.append(scalar)
        }
        return result
    }

    private static func combiningClass(_ scalar: Unicode.Scalar) -> UInt8 {
        scalar.isASCII ? 0 : scalar.properties.canonicalCombiningClass.rawValue
    }
}
