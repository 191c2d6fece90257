import Foundation

/// A list as the value of an attribute: an array in JSON, such as `["red","blue"]`.
///
/// A condition on the attribute holds for an entity if it holds for one of the values. Facets count each of them, and
/// orders look at the first.
package enum AttributeList {
    /// The values of a list, which are texts, numbers and Booleans; nil for another text.
    package static func values(in text: String) -> [JSONValue]? {
        guard text.utf8.first == UInt8(ascii: "["), text.utf8.last == UInt8(ascii: "]"),
            let values = try? JSONDecoder().decode([JSONValue].self, from: Data(text.utf8))
        else { return nil }
        return values.allSatisfy(\.isScalar) ? values : nil
    }

    /// The texts of the values of an attribute: those of a list, each once and none that is empty, or the one that it
    /// is.
    package static func texts(of value: String) -> [String] {
        var seen: Set<ExactText> = []
        return values(in: value)?.map(\.text).filter { !$0.isEmpty && seen.insert(ExactText($0)).inserted } ?? [value]
    }
}
