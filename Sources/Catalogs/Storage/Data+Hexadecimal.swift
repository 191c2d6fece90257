import Foundation

extension Data {
    /// Bytes from hexadecimal digits; an invalid pair is zero.
    init(hexadecimal text: String) {
        self.init(capacity: text.utf8.count / 2)
        var digits = text[...]
        while digits.count >= 2 {
            append(UInt8(digits.prefix(2), radix: 16) ?? 0)
            digits = digits.dropFirst(2)
        }
    }
}
