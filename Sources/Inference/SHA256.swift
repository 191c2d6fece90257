package import Digests

/// The digest of files and rows.
package typealias SHA256 = Digests.SHA256
