"""Makes small tokenizers of every kind, and what PyPI's tokenizers and sentencepiece make of some lines with them.

pip install tokenizers==0.23.3 sentencepiece==0.2.3
python make_fixtures.py
"""

import json
import tempfile
from pathlib import Path

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).parent / "Fixtures"
LINES = [
    "",
    " ",
    "a red lamp on the beach",
    "A photo of TWO dogs,  isn't it?",
    "They've said: DON'T! you'll see (it's 3.14)",
    "naïve café e\u0301te\u0301 Straße İstanbul ΣΑΣ ﬁne Ⅷ ½",
    "красная лампа на берегу",
    "κόκκινη λάμπα",
    "مصباح أحمر على الشاطئ",
    "מנורה אדומה על החוף",
    "समुद्र तट पर लाल लैंप",
    "โคมไฟสีแดงบนชายหาด",
    "海滩上的红灯 浜辺の赤いランプ",
    "해변의 빨간 램프 \u1112\u1162\uac38\u11af",
    "👩‍👩‍👧 👍🏽 🇩🇪 ☕️",
    "tab\tnew\nline\u00a0no-break\u3000wide \u200b zero \x01\x7f\x85 \ufeff end ",
    "a" * 130,
    "aaaa'saaaa''s 12345 ١٢٣",
    "<|endoftext|> [SEP] </s> lamp<|startoftext|>lamp",
    "a\u0323\u0301\u0307b \u0ccb \ufb2c \u0344",
    'don_t *stop* [now] {x} ~y~ `z` \\ | ^ < = > @ # $ % & + - / ; : " , .',
]


def save(name, tokenizer):
    data = json.loads(tokenizer.to_str())
    (HERE / f"{name}.json").write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")
    return [encoding.ids for encoding in tokenizer.encode_batch(LINES)]


def clip():
    tokenizer = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    special = ["<|startoftext|>", "<|endoftext|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        end_of_word_suffix="</w>",
        special_tokens=special,
        show_progress=False,
    )
    tokenizer.train_from_iterator(LINES, trainer)
    start, end = ((name, tokenizer.token_to_id(name)) for name in special)
    tokenizer.post_processor = processors.RobertaProcessing(end, start, trim_offsets=False, add_prefix_space=False)
    return tokenizer


def byte_fallback():
    """As SigLIP 2 has it."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(" ", "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    special = ["<pad>", "</s>", "<s>", "<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=500, limit_alphabet=60, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = data["added_tokens"][:4]
    return Tokenizer.from_str(json.dumps(data))


def unigram():
    """As SigLIP has it."""
    tokenizer = Tokenizer(models.Unigram())
    punctuation = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Lowercase(),
            normalizers.Replace(Regex(punctuation), ""),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Strip(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=420, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(LINES[:12], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.enable_truncation(64)
    tokenizer.enable_padding(length=64, pad_id=1, pad_token="</s>")
    return tokenizer


def word_pieces():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=420, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def others():
    """Parts that the others lack."""
    tokenizer = word_pieces()
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Nmt(), normalizers.Prepend("x")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Digits(), pre_tokenizers.Punctuation("merged_with_next")]
    )
    tokenizer.add_special_tokens([AddedToken("[SEP]", lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("lamp", normalized=True)])
    return tokenizer


def sentence_piece(folder):
    """A unigram model with a small map of characters."""
    rules = {"ﬁ": "fi", "Ⅷ": "VIII", "e\u0301": "é", "\t": " ", "\n": " ", "\u3000": " ", "½": "1⁄2"}
    (folder / "rules.tsv").write_text(
        "".join(
            " ".join(f"{ord(c):X}" for c in key) + "\t" + " ".join(f"{ord(c):X}" for c in value) + "\n"
            for key, value in rules.items()
        )
    )
    (folder / "lines.txt").write_text("\n".join(LINES[2:15]))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "lines.txt"),
        model_prefix=str(folder / "spiece"),
        vocab_size=300,
        hard_vocab_limit=False,
        normalization_rule_tsv=str(folder / "rules.tsv"),
        minloglevel=2,
    )
    (HERE / "spiece.model").write_bytes((folder / "spiece.model").read_bytes())
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    # Names of control symbols in a text are left alone, unlike in Hugging Face's library.
    return [[*model.encode(line), model.eos_id()] if "</s>" not in line else None for line in LINES]


def main():
    HERE.mkdir(exist_ok=True)
    makers = {"clip": clip, "byte-fallback": byte_fallback, "unigram": unigram, "word-pieces": word_pieces}
    makers["others"] = others
    ids = {}
    for name, make in makers.items():
        tokenizer = make()
        ids[name] = save(name, tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        ids["sentence-piece"] = sentence_piece(Path(folder))
    (HERE / "expected.json").write_text(json.dumps({"lines": LINES, "ids": ids}, separators=(",", ":")) + "\n")


main()
