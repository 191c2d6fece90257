extension NetworkGraph {
    /// Elements of one array where another is not 0, and of a third where it is. Extents of 1 are repeated.
    public struct Choice: RunnableOperation {
        /// The node of the elements where the node's input is not 0.
        public var yes: String
        /// The node of the others.
        public var no: String

        /// A choice between two nodes.
        public init(yes: String, no: String) { (self.yes, self.no) = (yes, no) }

        enum CodingKeys: String, CodingKey, CaseIterable { case yes, no }

        static let names = ["choose"]
        var otherInputs: [String] { [yes, no] }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try ElementsLayer(description, summary: "\(yes) or \(no)") { $0 != 0 ? $1 : $2 }
        }
    }
}
