import Compute
package import Foundation

/// NumPy's file format, version 1.0, for float32 matrices
/// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
package enum NumPyFile {
    /// - Precondition: every row has `columns` numbers.
    package static func data(_ rows: [[Float]], columns: Int) -> Data {
        var data = header(rowCount: rows.count, columns: columns)
        for row in rows {
            require(row.count == columns, "a row of \(row.count) numbers in a matrix with \(columns) columns")
            data.append(self.data(row))
        }
        return data
    }

    /// What comes before the rows: 128 bytes for any numbers, so that it can be written when all rows are.
    static func header(rowCount: Int, columns: Int) -> Data {
        var header = "{'descr': '<f4', 'fortran_order': False, 'shape': (\(rowCount), \(columns)), }"
        // Magic, version and length take ten bytes; the numbers start at a multiple of 64.
        header += String(repeating: " ", count: 128 - 11 - header.utf8.count) + "\n"
        var data = Data([0x93]) + Data("NUMPY".utf8) + Data([1, 0])
        withUnsafeBytes(of: UInt16(header.utf8.count).littleEndian) { data.append(contentsOf: $0) }
        data.append(contentsOf: header.utf8)
        return data
    }

    static func data(_ row: [Float]) -> Data { row.map { $0.bitPattern.littleEndian }.withUnsafeBytes { Data($0) } }
}
