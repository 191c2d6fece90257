/// Names and labels of the text format.
enum MetricName {
    /// A name with other characters than letters, digits, underscores and colons replaced.
    static func valid(_ label: String) -> String {
        var name = String(
            label.unicodeScalars.map { scalar in
                scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == ":")
                    ? Character(scalar) : "_"
            })
        if name.first?.isNumber ?? true { name = "_" + name }
        return name
    }

    /// The labels without braces; empty if there are none.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.sorted { $0.0 < $1.0 }
            .map { "\(valid($0).replacing(":", with: "_"))=\"\(escaped($1))\"" }.joined(separator: ",")
    }

    private static func escaped(_ value: String) -> String {
        escapedHelp(value).replacing("\"", with: "\\\"")
    }

    static func escapedHelp(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }
}
