"""Compares tokenizers with PyPI's tokenizers, and towers for texts, as people export them, with onnxruntime.

    python check_texts.py --tool .build-extras/release/lookalike-import [--only clip] [--lines 20000] [--work DIR]

The tokenizers are trained on the spot, on lines of many scripts; their numbers have to be the same for every line of
others, and for every character. The towers are those of transformers and open_clip with few layers and random weights,
exported by PyTorch's default exporter and by the older one, for one length of texts and for any. Exits with 1 if a
number differs, or if a cosine is below 0.9999.
"""

import argparse
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import open_clip
import torch
import transformers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

LEAST_COSINE = 0.9999
VOCABULARY = 600
LENGTH = 20

# Tokenizers.

# Rust's and Swift's tables are of different versions of Unicode: characters of the last twenty years differ nowhere.
OLD = unicodedata.ucd_3_2_0
CHARACTERS = [chr(c) for c in range(1, 0x30000) if OLD.category(chr(c)) not in ("Cn", "Co", "Cs")]
SCRIPTS = [(0x61, 0x7B), (0x41, 0x5B), (0xC0, 0x180), (0x1E00, 0x1EFA), (0x400, 0x460), (0x391, 0x3CF)]
SCRIPTS += [(0x621, 0x650), (0x5D0, 0x5EB), (0x905, 0x950), (0xE01, 0xE3B), (0x4E00, 0x4F80), (0x3041, 0x3097)]
SCRIPTS += [(0xAC00, 0xAD80), (0x1100, 0x115A), (0x1161, 0x11A3), (0x11A8, 0x11FA), (0x30, 0x3A), (0x660, 0x66A)]
SCRIPTS += [(0x21, 0x41), (0x2010, 0x2052), (0x300, 0x34F), (1, 0x20), (0x7F, 0xA1), (0x1F600, 0x1F640)]
WORDS = "a red lamp on the beach isn't I'm you'll they've he'd DON'T naïve café Straße İstanbul ﬁne 12 3.14".split()
WORDS += ["<|endoftext|>", "[SEP]", "</s>", "👩\u200d👧", "👍🏽", "🇩🇪", "☕\ufe0f", "ΣΑΣ", "\u0ccb"]
SPACES = [" "] * 8 + ["  ", "\t", "\n", "\u00a0", "\u3000", "\u1680", " \n "]


def line(rng):
    def word():
        if rng.random() < 0.4:
            return rng.choice(WORDS)
        first, last = rng.choice(SCRIPTS)
        length = rng.randint(1, 8) if rng.random() < 0.97 else rng.randint(20, 150)
        drawn = rng.random() < 0.1
        text = "".join(rng.choice(CHARACTERS) if drawn else chr(rng.randrange(first, last)) for _ in range(length))
        return unicodedata.normalize(rng.choice(["NFD", "NFC"]), text) if rng.random() < 0.2 else text

    return "".join(word() + (rng.choice(SPACES) if rng.random() < 0.9 else "") for _ in range(rng.randint(0, 9)))


def clip(lines):
    tokenizer = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    spaces = normalizers.Replace(Regex(r"\s+"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), spaces, normalizers.Lowercase()])
    pattern = Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(pattern, "removed", invert=True), byte_level]
    )
    special = ["<|startoftext|>", "<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=6000, initial_alphabet=alphabet, end_of_word_suffix="</w>", special_tokens=special
    )
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.post_processor = processors.RobertaProcessing((special[1], 1), (special[0], 0), False, False)
    return tokenizer


def byte_fallback(lines):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(" ", "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    special = ["<pad>", "</s>", "<s>", "<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=6000, limit_alphabet=1500, special_tokens=special)
    )
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = data["added_tokens"][:4]
    return Tokenizer.from_str(json.dumps(data))


def unigram(lines):
    tokenizer = Tokenizer(models.Unigram())
    punctuation = normalizers.Replace(Regex(r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""), "")
    spaces = normalizers.Replace(Regex(r"\s+"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), punctuation, spaces, normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always")
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=20000, special_tokens=special, unk_token="<unk>")
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def word_pieces(lines):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=12000, special_tokens=special))
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return tokenizer


TOKENIZERS = {"bpe-clip": clip, "bpe-bytes": byte_fallback, "unigram": unigram, "word-pieces": word_pieces}


def compare_tokenizer(tool, name, count, work):
    """How many lines and characters have other numbers, of how many."""
    rng = random.Random(5)
    tokenizer = TOKENIZERS[name]([line(rng) for _ in range(6000)])
    tokenizer.save(str(work / f"{name}.json"))
    lines = [line(rng) for _ in range(count)] + [f"a{character}b" for character in CHARACTERS]
    # Punctuation and marks that changed their category since.
    lines = [text for text in lines if not set(text) & set("\u166d\u1734\u1885\u1886")]
    (work / "lines.json").write_text(json.dumps(lines))
    command = [tool, "none.onnx", "--tokenizer", work / f"{name}.json", "--tokenize", work / "lines.json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    expected = [" ".join(map(str, encoding.ids)) for encoding in tokenizer.encode_batch(lines)]
    return sum(own != other for own, other in zip(result, expected, strict=True)), len(lines)


# Towers.

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}


class Tower(torch.nn.Module):
    """The vector of a text alone, of a network that gives several things."""

    def __init__(self, network, name):
        super().__init__()
        self.network, self.name = network, name

    def forward(self, *inputs):
        if self.name == "open-clip":
            return self.network.encode_text(*inputs)
        names = ["input_ids", "attention_mask", "token_type_ids"]
        result = self.network(**dict(zip(names, inputs)))
        if self.name == "first":
            return result.last_hidden_state[:, 0]
        if self.name == "mean":
            weights = inputs[1].unsqueeze(-1).float()
            return (result.last_hidden_state * weights).sum(1) / torch.clamp(weights.sum(1), min=1e-9)
        return getattr(result, self.name)


def hf_clip(end=VOCABULARY - 1):
    ends = {"eos_token_id": end, "bos_token_id": 0, "pad_token_id": 1}
    configuration = transformers.CLIPTextConfig(
        vocab_size=VOCABULARY, max_position_embeddings=LENGTH, projection_dim=64, **ends, **SMALL
    )
    return Tower(transformers.CLIPTextModelWithProjection(configuration), "text_embeds")


def hf_siglip():
    configuration = transformers.SiglipTextConfig(vocab_size=VOCABULARY, max_position_embeddings=LENGTH, **SMALL)
    return Tower(transformers.SiglipTextModel(configuration), "pooler_output")


def hf_bert():
    configuration = transformers.BertConfig(vocab_size=VOCABULARY, max_position_embeddings=40, **SMALL)
    return Tower(transformers.BertModel(configuration, add_pooling_layer=False), "first")


def hf_distilbert():
    sizes = {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 96, "max_position_embeddings": 40}
    return Tower(transformers.DistilBertModel(transformers.DistilBertConfig(vocab_size=VOCABULARY, **sizes)), "mean")


def open_clip_tower(kind, **options):
    vision = {"width": 64, "layers": 1, "head_width": 32, "patch_size": 16, "image_size": 32}
    text = {"context_length": LENGTH, "vocab_size": VOCABULARY, "width": 64, "heads": 4, "layers": 2, **options}
    return Tower(kind(64, vision, text), "open-clip")


def open_siglip():
    options = {"no_causal_mask": True, "proj_bias": True, "pool_type": "last", "norm_kwargs": {"eps": 1e-6}}
    return open_clip_tower(open_clip.CustomTextCLIP, **options)


INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
TOWERS = {
    "hf-clip": (hf_clip, 1), "hf-clip-mask": (hf_clip, 2), "hf-clip-old": (lambda: hf_clip(2), 1),
    "hf-siglip": (hf_siglip, 1), "hf-siglip-mask": (hf_siglip, 2), "hf-bert": (hf_bert, 3),
    "hf-distilbert": (hf_distilbert, 2), "open-clip": (lambda: open_clip_tower(open_clip.CLIP), 1),
    "open-siglip": (open_siglip, 1),
}  # fmt: skip
KINDS = ["default", "legacy", "dynamic"]


def export_tower(name, kind, folder):
    torch.manual_seed(7)
    make, count = TOWERS[name]
    network = make().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    ids = torch.randint(3, VOCABULARY - 5, (2, LENGTH))
    ids[:, 0], ids[0, 7], ids[1, 12] = 0, VOCABULARY - 1, VOCABULARY - 1
    mask = torch.ones(2, LENGTH, dtype=torch.long)
    mask[0, 8:], mask[1, 13:] = 0, 0
    inputs = (ids, mask, torch.zeros_like(ids))[:count]
    path = folder / "model.onnx"
    names = {"input_names": INPUTS[:count], "output_names": ["vector"]}
    if kind == "default":
        torch.onnx.export(network, tuple(value[:1] for value in inputs), path, dynamo=True, verbose=False, **names)
    else:
        axes = {0: "batch"} if kind == "legacy" else {0: "batch", 1: "length"}
        axes = {name: axes for name in INPUTS[:count]}
        torch.onnx.export(network, inputs, path, dynamo=False, dynamic_axes=axes, opset_version=17, **names)
    return path


def compare_tower(tool, path, image, work):
    """The smallest cosine between the import's prints of texts and onnxruntime's; words where there is none."""
    rng = np.random.default_rng(3)
    texts = [[0, *map(int, rng.integers(3, VOCABULARY - 5, n)), VOCABULARY - 1] for n in (18, 5, 11, 0, 25)]
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    command = [tool, image, "--text", path, "--tokenizer", work / "numbers.json", "--output", work / "out.safetensors"]
    expected = []
    for text in texts:
        command += ["--embed-text", " ".join(f"t{number}" for number in text)]
        text = text[:LENGTH]
        ids, mask = np.ones((1, LENGTH), np.int64), np.zeros((1, LENGTH), np.int64)
        ids[0, : len(text)], mask[0, : len(text)] = text, 1
        values = dict(zip(INPUTS, [ids, mask, np.zeros_like(ids)]))
        result = session.run(None, {value.name: values[value.name] for value in session.get_inputs()})
        expected.append(result[0].ravel().astype(np.float64))
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip()
    prints = [np.array(json.loads(line), np.float64) for line in run.stdout.splitlines()]
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(prints, expected, strict=True)]
    return min(cosines), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=".build-extras/release/lookalike-import")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names, as in the lines")
    parser.add_argument("--lines", type=int, default=20000, help="lines per tokenizer")
    parser.add_argument("--work", help="where to keep the files")
    arguments = parser.parse_args()
    tool = Path(arguments.tool).resolve()
    work = Path(arguments.work or tempfile.mkdtemp()).resolve()
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    failures = 0
    for name in TOKENIZERS:
        if any(part in name for part in arguments.only):
            different, count = compare_tokenizer(tool, name, arguments.lines, work)
            failures += different > 0
            print(f"{name:24} {different} of {count} lines differ", flush=True)
    numbers = {f"t{number}": number for number in range(VOCABULARY)}
    model = {"type": "WordPiece", "unk_token": "t2", "vocab": numbers}
    tokenizer = {"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model, "truncation": {"max_length": LENGTH}}
    tokenizer["padding"] = {"strategy": "BatchLongest", "pad_id": 1}
    (work / "numbers.json").write_text(json.dumps(tokenizer))
    layers = [torch.nn.Conv2d(3, 64, 16, 16), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()]
    torch.onnx.export(torch.nn.Sequential(*layers), torch.zeros(1, 3, 32, 32), work / "image.onnx", dynamo=False)
    for label in [f"{name}-{kind}" for name in TOWERS for kind in KINDS]:
        if not any(part in label for part in arguments.only):
            continue
        name, kind = label.rsplit("-", 1)
        (work / label).mkdir(exist_ok=True)
        cosine, words = compare_tower(tool, export_tower(name, kind, work / label), work / "image.onnx", work)
        agrees = cosine is not None and cosine >= LEAST_COSINE
        failures += not agrees
        verdict = f"{words[:300]} FAILED" if cosine is None else f"{cosine:.6f} {'ok' if agrees else 'OFF'}"
        print(f"{label:24} {verdict}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
