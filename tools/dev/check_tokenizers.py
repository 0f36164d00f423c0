#!/usr/bin/env python3
"""Trains tokenizers of many kinds with the package `tokenizers`, and compares the ids and decoded
texts of the program `tokenize` with the package's, on lines in 20 scripts. Prints how many times
as fast as the package the program is, both on one thread. Needs tokenizers.

    tools/dev/check_tokenizers.py build/bin/tokenize SOURCE [TOKENIZER.json...]
"""
import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import random
import struct
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

import tokenizers
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

LINES = 4000
ROUNDS = 3

# Blocks of scripts with the characters of Unicode 8, which all tables of the package have.
SCRIPTS = {
    "Latin": (0x41, 0x24F), "Greek": (0x370, 0x3FF), "Cyrillic": (0x400, 0x4FF),
    "Armenian": (0x531, 0x587), "Hebrew": (0x5D0, 0x5EA), "Arabic": (0x620, 0x6FF),
    "Devanagari": (0x904, 0x96F), "Bengali": (0x985, 0x9F1), "Gurmukhi": (0xA05, 0xA74),
    "Gujarati": (0xA85, 0xAEF), "Tamil": (0xB85, 0xBEF), "Telugu": (0xC05, 0xC6F),
    "Thai": (0xE01, 0xE5B), "Georgian": (0x10D0, 0x10FA), "Hangul": (0xAC00, 0xD7A3),
    "Jamo": (0x1100, 0x11FF), "Hiragana": (0x3041, 0x3096), "Katakana": (0x30A1, 0x30FA),
    "Han": (0x4E00, 0x9FA5), "Ethiopic": (0x1200, 0x135A), "Khmer": (0x1780, 0x17E9),
    "Tibetan": (0xF00, 0xFBC), "Cherokee": (0x13A0, 0x13F4), "Mongolian": (0x1820, 0x1877),
}
OTHERS = [(0x21, 0x7E), (0x300, 0x36F), (0x2000, 0x206F), (0x20A0, 0x20BE), (0x2100, 0x214F),
          (0x2150, 0x218B), (0x2190, 0x23FA), (0x2460, 0x24FF), (0x2500, 0x27BF),
          (0x3000, 0x303F), (0xFB00, 0xFB4F), (0xFE30, 0xFEFC), (0xFF01, 0xFFEE),
          (0x1D400, 0x1D7FF), (0x1F300, 0x1F6D0), (0x1F900, 0x1F918), (0x20000, 0x2A6D6)]
# Characters of these blocks that later versions of Unicode added or changed.
LATER = {0x166D, 0x9FD, 0xA76, 0xC77, 0xC84, 0x61D, 0x9FE, 0xAFA, 0xAFB, 0xAFC, 0xAFD, 0xAFE, 0xAFF,
         0xB55, 0xC04, 0xC3C, 0x32FF, 0x898}
SPACES = [" ", " ", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n ", "\u00a0", "\u3000",
          "\u2003", "\u200b", "\u2028", "\u0085", "\ufeff", "    "]
FIXED = [
    "Hello, y'all! How are you 😁 ?", "It's 3.14159 and 1,000,000 or 12345678.", "don't DON'T we'll",
    "  two  spaces  ", "\ttab\n\nlines \r\n end ", "e\u0301\u0302 caf\u00e9 cafe\u0301", "ﬁ ﷺ ㌔ Å ½ Ⅷ",
    "I\u0307stanbul İSTANBUL ΟΔΥΣΣΕΥΣ straße ǅ", "日本語のテキスト。ですね", "한국어 문장입니다.", "👨‍👩‍👧 🇩🇪 👍🏽",
    "नमस्ते दुनिया", "<s>[CLS] text [SEP]</s> <|endoftext|> <mask> <tool>x",
    "x <mask> y", " <mask>  .", "a<mask>b", "word<tool>s <tool> tool", "def f(x):\n    return x**2\n",
    "▁▁ under ▁score", "<0x41> <unk> [UNK]", "a" * 300, "ab" * 200 + " " * 50 + "." * 40, "\u00b2\u00b3¼_",
    "ſ 'ſ 'S 'Ll", "ก็ ที่", "नि\u200dक्ष", "x\u0301\u0327\u0323y", "\u1100\u1161\u11a8", "か\u3099", "Ａ\u0301 ＡＢＣ",
    "\ud7ff\ue000\U0010fffd".encode("utf-8", "ignore").decode(),
]

draw = random.Random(7)


def usable(code):
    return code not in LATER and unicodedata.category(chr(code)) not in ("Cn", "Cs")


def letters(block):
    first, last = block
    chosen = []
    while len(chosen) < 1:
        chosen = [c for c in (draw.randint(first, last) for _ in range(draw.randint(1, 7)))
                  if usable(c)]
    return "".join(map(chr, chosen))


def words_of(source):
    texts = [p.read_text(encoding="utf-8") for p in sorted(Path(source).glob("docs/*.md"))]
    return [line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 20]


# Words of a script that occur again and again, so that trained tokens are found in the lines.
LEXICON = {name: [letters(block) for _ in range(60)] for name, block in SCRIPTS.items()}


def line(sentences):
    def part():
        kind = draw.random()
        if kind < 0.3:
            sentence = draw.choice(sentences)
            start = draw.randrange(len(sentence))
            return sentence[start:start + draw.randint(1, 60)]
        if kind < 0.65:
            name = draw.choice(list(SCRIPTS))
            return draw.choice(LEXICON[name]) if draw.random() < 0.7 else letters(SCRIPTS[name])
        if kind < 0.8:
            return draw.choice(SPACES)
        if kind < 0.88:
            return str(draw.randrange(10 ** draw.randint(1, 9)))
        if kind < 0.91:
            return draw.choice(["<mask>", "<tool>", "[SEP]", "<s>", "<|endoftext|>", "'s", "n't", " ."])
        return letters(draw.choice(OTHERS))

    joint = draw.choice(["", " ", " "])
    return joint.join(part() for _ in range(draw.randint(1, 14)))


def charsmap():
    """A Precompiled normalizer's rules: NFKC of single characters, spaces and some sequences."""
    rules = {c: " " for c in ("\t", "\n", "\r", "\u3000", "\u00a0")}
    rules |= {"\u200b": "", "\u00ad": "", "\r\n": " "}
    for code in list(range(0xFF01, 0xFF5F)) + list(range(0x2460, 0x2474)) + [0xFB01, 0xBD, 0x212B]:
        rules[chr(code)] = unicodedata.normalize("NFKC", chr(code))
    rules |= {"e\u0301": "é", "a\u0308": "ä", "か\u3099": "が"}
    keys = {key.encode(): value for key, value in rules.items()}
    values, texts = {}, b""
    for value in sorted(set(keys.values())):
        values[value] = len(texts)
        texts += value.encode() + b"\0"
    units = [0] * (1 << 17)
    children = {}
    for key in keys:
        for i in range(len(key)):
            children.setdefault(key[:i], set()).add(key[i])
    # A block of 256 units for each node keeps the search for a free place simple.
    base, free = {}, 256
    place = {b"": 0}
    for node in sorted(children, key=len):
        base[node] = free
        free += 256
        for byte in children[node]:
            place[node + bytes([byte])] = base[node] ^ byte
    for key in keys:
        if key not in base:
            base[key] = free
            free += 256
    assert free <= len(units)

    def offset_bits(offset):
        assert offset < 1 << 29
        return (offset << 10) if offset < 1 << 21 else ((offset >> 8) << 10 | 1 << 9)

    for node, at in place.items():
        label = node[-1] if node else 0
        leaf = 1 << 8 if node in keys else 0
        units[at] = label | leaf | offset_bits(at ^ base[node])
        if node in keys:
            units[base[node]] = values[keys[node]] | 1 << 31
    trie = struct.pack(f"<{free}I", *units[:free])
    return struct.pack("<I", len(trie)) + trie + texts


def trained(model, trainer, corpus, **parts):
    tokenizer = Tokenizer(model)
    for name, part in parts.items():
        if name != "post_processor":
            setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(corpus, trainer)
    if "post_processor" in parts:
        tokenizer.post_processor = parts["post_processor"](tokenizer)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    tokenizer.add_tokens([AddedToken("<tool>", single_word=True, normalized=True)])
    return tokenizer


def frame(before, after):
    def make(tokenizer):
        special = [(name, tokenizer.token_to_id(name)) for name in before + after]
        return processors.TemplateProcessing(single=" ".join(before + ["$A"] + after),
                                             special_tokens=special)
    return make


BYTES = pre_tokenizers.ByteLevel.alphabet()
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def bpe(size, special, alphabet=()):
    return trainers.BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False,
                               initial_alphabet=list(alphabet))


def split_tokenizer(pattern, corpus, **options):
    return trained(
        models.BPE(**options), bpe(6000, ["<|begin|>", "<|endoftext|>"], BYTES), corpus,
        pre_tokenizer=pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(pattern), "isolated"),
             pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
        decoder=decoders.ByteLevel(), post_processor=frame(["<|begin|>"], []))


def wide_bpe(corpus):
    """As Llama 2: spaces as U+2581 by normalizers, whole texts as words, bytes for the unknown."""
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    tokenizer = trained(
        models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
        trainers.BpeTrainer(vocab_size=4000, special_tokens=special, show_progress=False,
                            limit_alphabet=400),
        corpus,
        pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme="never"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([])
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
         decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = frame(["<s>"], [])(tokenizer)
    return tokenizer


def unigram(corpus, normalizer, **options):
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    return trained(
        models.Unigram(), trainers.UnigramTrainer(vocab_size=4000, special_tokens=special,
                                                  unk_token="<unk>", show_progress=False),
        corpus[:-1700], normalizer=normalizer, pre_tokenizer=pre_tokenizers.Metaspace(**options),
        decoder=decoders.Metaspace(**options), post_processor=frame(["<s>"], ["</s>"]))


def bert(corpus, **options):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

    def processor(tokenizer):
        ids = [(name, tokenizer.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
        return processors.BertProcessing(*ids)

    return trained(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(vocab_size=4000, special_tokens=special, show_progress=False,
                                  limit_alphabet=600),
        corpus, normalizer=normalizers.BertNormalizer(**options),
        pre_tokenizer=pre_tokenizers.BertPreTokenizer(), decoder=decoders.WordPiece(),
        post_processor=processor)


def mixed(corpus):
    """Parts that the others do not have."""
    return trained(
        models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"),
        trainers.BpeTrainer(vocab_size=3000, special_tokens=["[UNK]", "<s>"], show_progress=False,
                            end_of_word_suffix="</w>", limit_alphabet=500),
        corpus, normalizer=normalizers.Sequence(
            [normalizers.Nmt(), normalizers.NFKD(), normalizers.StripAccents(),
             normalizers.Lowercase(), normalizers.Strip(), normalizers.Replace(Regex(r"[-_]+"), "-")]),
        pre_tokenizer=pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("merged_with_previous"),
             pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Whitespace()]),
        decoder=decoders.BPEDecoder())


def kinds(corpus):
    gpt2 = dict(pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False),
                decoder=decoders.ByteLevel(), post_processor=lambda _: processors.ByteLevel())
    rules = normalizers.Sequence([normalizers.Precompiled(charsmap()),
                                  normalizers.Replace(Regex(" {2,}"), " ")])
    yield "GPT-2", trained(models.BPE(), bpe(6000, ["<|endoftext|>"], BYTES), corpus, **gpt2)
    yield "RoBERTa, NFC", trained(
        models.BPE(), bpe(3000, ["<s>", "</s>"], BYTES), corpus, normalizer=normalizers.NFC(),
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True),
        decoder=decoders.ByteLevel(),
        post_processor=lambda t: processors.RobertaProcessing(
            ("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>"))))
    yield "Llama 3", split_tokenizer(LLAMA3, corpus, ignore_merges=True)
    yield "Qwen", split_tokenizer(QWEN, corpus)
    yield "o200k", split_tokenizer(O200K, corpus, ignore_merges=True)
    yield "Llama 2", wide_bpe(corpus)
    yield "BERT", bert(corpus)
    yield "BERT, cased", bert(corpus, lowercase=False, strip_accents=False)
    yield "XLM-R", unigram(corpus, rules)
    yield "T5, not split", unigram(corpus, normalizers.NFKC(), split=False, prepend_scheme="first")
    yield "mixed", mixed(corpus)


def compare(command, name, tokenizer, lines):
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        tokenizer.save(str(folder / "tokenizer.json"))
        (folder / "texts").write_bytes(b"".join(one.encode() + b"\0" for one in lines))
        done = subprocess.run(
            [command, "tokenizer.json", "texts", "ids", "decoded", str(ROUNDS)], cwd=folder,
            capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{name:14} {done.stderr.strip()}")
            return True
        found = [[int(one) for one in row.split()]
                 for row in (folder / "ids").read_text().split("\n")[:-1]]
        decoded = (folder / "decoded").read_bytes().decode().split("\0")[:-1]
    ours = float(done.stdout)
    wanted = [tokenizer.encode(one).ids for one in lines]
    texts = [tokenizer.decode(ids) for ids in wanted]
    theirs = 1e9
    for _ in range(ROUNDS):
        fresh = Tokenizer.from_str(tokenizer.to_str())
        encode = getattr(fresh, "encode_fast", fresh.encode)
        start = time.perf_counter()
        for one in lines:
            encode(one)
        theirs = min(theirs, time.perf_counter() - start)
    ids_wrong = [one for one, a, b in zip(lines, found, wanted, strict=True) if a != b]
    texts_wrong = [one for one, a, b in zip(lines, decoded, texts, strict=True) if a != b]
    size = sum(len(one.encode()) for one in lines)
    print(f"{name:14} {len(lines)} texts, {sum(map(len, wanted))} ids: {len(ids_wrong)} other ids, "
          f"{len(texts_wrong)} other texts; {size / ours / 1e6:.1f} MB/s, {theirs / ours:.1f} times "
          f"as fast as the package")
    for one in (ids_wrong + texts_wrong)[:3]:
        print("   ", ascii(one[:200]))
        i = lines.index(one)
        print("      found ", found[i][:40], ascii(decoded[i][:80]))
        print("      wanted", wanted[i][:40], ascii(texts[i][:80]))
    return bool(ids_wrong or texts_wrong)


def main():
    command, source = str(Path(sys.argv[1]).resolve()), sys.argv[2]
    sentences = words_of(source)
    lines = FIXED + [line(sentences) for _ in range(LINES)]
    lines = [one.replace("\0", "") for one in lines]
    print("tokenizers", tokenizers.__version__)
    failed = False
    for name, tokenizer in kinds(sentences + lines[:2000]):
        failed = compare(command, name, tokenizer, lines) or failed
        failed = compare(command, name + " docs", tokenizer, sentences) or failed
    for file in sys.argv[3:]:
        failed = compare(command, Path(file).name, Tokenizer.from_file(file), lines) or failed
    return failed


if __name__ == "__main__":
    sys.exit(main())
