public import Foundation

/// A model of images and texts that can be worked out by hand: the print of an image is the direction of its mean
/// color, that of a text the direction of the sum of its words' colors.
public enum TwoTowers {
    public static let dimension = 3
    public static let words = ["[PAD]", "[UNK]", "red", "green", "blue", "lamp"]
    public static let vectors: [String: [Float]] = [
        "[PAD]": [9, 9, 9], "[UNK]": [0.1, 0.1, 0.1], "red": [1, 0, 0], "green": [0, 1, 0], "blue": [0, 0, 1],
        "lamp": [0.5, 0.5, 0],
    ]

    /// The bytes of a model file.
    ///
    /// - Parameters:
    ///   - logits: JSON of the scale and the bias.
    ///   - change: changes the graph of texts, or the tokenizer, as JSON.
    public static func file(
        readsTexts: Bool = true, logits: String? = nil, change: (String) -> String = { $0 }
    ) -> Data {
        var builder = SafeTensorsBuilder()
        builder.add("c.weight", [1, 0, 0, 0, 1, 0, 0, 0, 1], shape: [3, 3, 1, 1])
        builder.add("c.bias", [0, 0, 0], shape: [3])
        builder.metadata["lookalike.graph"] = """
            {"version":1,"name":"towers","input":{"width":4,"height":4,"mean":[0,0,0],"std":[1,1,1]},"nodes":[
            {"name":"c","op":"convolution","input":"image","weight":"c.weight","bias":"c.bias","outputs":3,"kernel":1,"stride":1,"padding":0,"relu":true},
            {"name":"p","op":"generalized_mean","input":"c","power":1,"epsilon":1e-6},
            {"name":"n","op":"l2_normalize","input":"p"}]}
            """
        builder.metadata["lookalike.local_features"] = "none"
        guard readsTexts else { return builder.data }
        builder.add("text.network.table", words.flatMap { vectors[$0] ?? [] }, shape: [words.count, 3])
        let vocabulary = words.enumerated().map { "\"\($1)\":\($0)" }.joined(separator: ",")
        let tokenizer = Data(
            change(
                """
                {"normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"WhitespaceSplit"},
                "model":{"type":"WordPiece","vocab":{\(vocabulary)}}}
                """
            ).utf8)
        let start = builder.blob.count
        builder.blob += tokenizer
        builder.entries["text.tokenizer"] = [
            "dtype": "U8", "shape": [tokenizer.count], "data_offsets": [start, builder.blob.count],
        ]
        builder.metadata["lookalike.text_logits"] = logits
        builder.metadata["lookalike.text_graph"] = change(
            """
            {"version":1,"length":4,"padding":0,"nodes":[
            {"name":"ids","op":"rearrange","input":"text","shape":[1,4],"strides":[4,1],"offset":0},
            {"name":"mask","op":"rearrange","input":"text","shape":[1,4,1],"strides":[4,1,1],"offset":4},
            {"name":"table","op":"constant","input":"text","tensor":"text.network.table","shape":[6,3]},
            {"name":"vectors","op":"lookup","input":"table","places":"ids","axis":0,"shape":[1,4,3]},
            {"name":"own","op":"combine","input":"vectors","operator":"multiply","other":"mask"},
            {"name":"sum","op":"reduce","input":"own","function":"sum","axes":[1]},
            {"name":"vector","op":"rearrange","input":"sum","shape":[1,3],"strides":[3,1],"offset":0},
            {"name":"print","op":"l2_normalize","input":"vector"}]}
            """)
        return builder.data
    }
}
