#!/usr/bin/env python3
"""Fits how much lines of text say of an entity (`ReadTexts.swift`), on drawn catalogs and drawn texts.

    python text_evidence.py --seed 1

Titles are the short descriptions of Debian's packages (`apt-cache dumpavail`), half of them cut to one to three words;
subtitles are names. A catalog has 10 to 10,000 of them. A text shows one of the entities in 6 of 10 trials: its title,
broken into lines, with missing, misread and joined words, and often the subtitle. Up to 40 lines of other descriptions
come on top, and numbers that belong to none. A quarter of the titles are parts of series, which differ by a number
("Star Wars", "Star Wars 2", "Star Wars III"). The fit is to one half of the trials; the other half says how well
probabilities hold.
"""

import argparse
import collections
import math
import random
import re
import subprocess
import unicodedata

import numpy as np

SIZES = (10, 30, 100, 300, 1000, 3000, 10000)
NAMES = (
    "anna peter maria john lena oskar simon beth clara hugo felix nora winter cohen smith moore miller becker novak "
    "rossi larsen baker stone rivers young scott"
).split()


def words(text):
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return re.findall(r"[a-z0-9]+", text.lower())


ROMAN = "i ii iii iv v vi vii viii ix x xi xii".split()


def information(word, count, size):
    """As TextWords.information."""
    length = len(word) + (3 if word.isdigit() or word in ROMAN else 0)
    return max(0.0, min(math.log((size + 1000) / max(count, 1)), 1.5 * (length - 2)))


def is_misread(read, word):
    """As TextWords.isMisread, of words that differ."""
    if len(word) < 5:
        return False
    if word in read:
        return True
    if len(read) < 5 or abs(len(read) - len(word)) > 1:
        return False
    short, long = sorted((read, word), key=len)
    start = next((i for i in range(len(short)) if short[i] != long[i]), len(short))
    return (short[start + 1 :] if len(read) == len(word) else short[start:]) == long[start + 1 :]


class Catalog:
    def __init__(self, rng, size, descriptions):
        self.titles = titles(rng, size, descriptions)
        self.subtitles = [" ".join(rng.sample(NAMES, 2)) if rng.random() < 0.6 else "" for _ in range(size)]
        self.title_words = [set(words(text)) for text in self.titles]
        self.subtitle_words = [set(words(text)) for text in self.subtitles]
        self.entities = collections.defaultdict(set)
        for entity, both in enumerate(zip(self.title_words, self.subtitle_words)):
            for word in both[0] | both[1]:
                self.entities[word].add(entity)

    def information(self, word):
        return information(word, len(self.entities.get(word, ())), len(self.titles))


def title(rng, descriptions):
    parts = rng.choice(descriptions).split()
    if rng.random() < 0.5:
        count = rng.randint(1, 3)
        start = rng.randrange(max(1, len(parts) - count + 1))
        parts = parts[start : start + count]
    return " ".join(parts)


def titles(rng, size, descriptions):
    found = []
    while len(found) < size:
        text = title(rng, descriptions)
        count = rng.randint(2, 8) if rng.random() < 0.06 else 1
        first = rng.randint(2, 40) if rng.random() < 0.2 else 1
        is_roman, is_bare = rng.random() < 0.3, rng.random() < 0.6
        for number in range(first, first + count):
            serial = ROMAN[number - 1].upper() if is_roman and number <= len(ROMAN) else str(number)
            found.append(text if count == 1 or number == 1 and is_bare else f"{text} {serial}")
    return found[:size]


def misread(rng, word, share):
    if rng.random() < share / 2:
        return ""
    if rng.random() < share and len(word) > 1:
        place = rng.randrange(len(word))
        return word[:place] + rng.choice("abcdefghijklmnopqrstuvwxyz") + word[place + 1 :]
    return word


def read(rng, line, share):
    """The words of a line as they are read, some of them joined."""
    text = ""
    for word in line.split():
        text += ("" if not text or rng.random() < share / 2 else " ") + misread(rng, word, share / 2)
    return words(text)


def drawn_lines(rng, catalog, descriptions, target, share):
    lines = []
    if target is not None:
        parts = [misread(rng, word, share) for word in catalog.titles[target].split()]
        while parts:
            count = rng.randint(1, 4)
            lines.append(" ".join(part for part in parts[:count] if part))
            parts = parts[count:]
        if rng.random() < 0.3:
            lines = [" ".join(lines)]
        if rng.random() < 0.6:
            name = catalog.subtitles[target] or " ".join(rng.sample(NAMES, 2))
            if rng.random() < 0.3:
                lines[-1] += " " + name
            else:
                lines.append(name)
    for _ in range(rng.choice((0, 1, 2, 4, 8, 16, 40))):
        text = rng.choice(descriptions)
        lines.append(rng.choice((text, " ".join(text.split()[:3]), text + " " + rng.choice(descriptions))))
    if rng.random() < 0.3:
        lines.append(" ".join(rng.sample(NAMES, 2)))
    for _ in range(rng.choice((0, 0, 1, 3))):
        number = str(rng.choice((rng.randint(1, 20), rng.randint(1, 200), rng.randint(1950, 2026))))
        if lines and rng.random() < 0.3:
            lines[rng.randrange(len(lines))] += " " + number
        else:
            lines.append(rng.choice((number, number + " " + rng.choice(NAMES))))
    return [read(rng, line, share) for line in lines]


def trial(rng, catalog, descriptions):
    """The features of each candidate, whether it is shown, and which candidates share words that were read."""
    target = rng.randrange(len(catalog.titles)) if rng.random() < 0.6 else None
    lines = drawn_lines(rng, catalog, descriptions, target, rng.choice((0, 0.05, 0.15, 0.3)))
    all_read = sorted({word for line in lines for word in line})
    known = set(all_read)
    scores = collections.Counter()
    for word in all_read:
        entities = catalog.entities.get(word, ())
        if len(entities) <= 2000:
            for entity in entities:
                scores[entity] += catalog.information(word)
    features, shown, own_words = [], [], []
    for entity, _ in scores.most_common(100):
        matched = missing = 0.0
        own = set()
        for word in catalog.title_words[entity]:
            value = catalog.information(word)
            if word in known:
                matched += value
                own.add(word)
            elif similar := next((r for r in all_read if is_misread(r, word)), None):
                matched += max(0.0, value - 2)
                own.add(similar)
            else:
                missing += value
        if matched == 0:
            continue
        beside = catalog.subtitle_words[entity] & set(all_read)
        other = sum(catalog.information(word) for line in lines if own & set(line) for word in set(line) - own - beside)
        size = len(catalog.titles)
        missing_share, other_share = missing / (matched + missing), other / (matched + other)
        features.append(
            (1, matched, sum(map(catalog.information, beside)), -missing_share, -other_share, -math.log(size))
        )
        same = target is not None and (catalog.titles[entity], catalog.subtitles[entity]) == (
            catalog.titles[target],
            catalog.subtitles[target],
        )
        shown.append(same)
        own_words.append(own)
    rivals = np.array([[bool(a & b) for b in own_words] for a in own_words], dtype=float)
    labels = np.array(shown, dtype=float)
    # The entities of one text share it.
    return np.array(features), labels / max(1, labels.sum()), rivals


def probabilities(features, rivals, weights):
    odds = np.exp(np.clip(features @ weights, -30, 30))
    return odds / (1 + rivals @ odds)


def loss(trials, weights):
    total = 0
    for features, labels, rivals in trials:
        p = np.clip(probabilities(features, rivals, weights), 1e-9, 1 - 1e-9)
        total -= np.sum(labels * np.log(p) + (1 - labels) * np.log(1 - p))
    return total / len(trials)


def fit(trials):
    """Coordinate descent; weights of evidence are not negative."""
    weights, steps = np.array([-1, 0.4, 0.4, 5, 1, 0.5]), np.array([1, 0.1, 0.1, 1, 0.5, 0.1])
    least = loss(trials, weights)
    for _ in range(40):
        is_better = False
        for index in range(len(weights)):
            for sign in (1, -1):
                other = weights.copy()
                other[index] += sign * steps[index]
                if index and other[index] < 0:
                    continue
                value = loss(trials, other)
                if value < least:
                    weights, least, is_better = other, value, True
                    break
        if not is_better:
            steps /= 2
        if steps.max() < 0.05:
            break
    return weights, least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=4000)
    arguments = parser.parse_args()
    output = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    found = {line[13:].strip() for line in output.splitlines() if line.startswith("Description: ")}
    descriptions = sorted(text for text in found if 1 <= len(words(text)) <= 10)
    rng = random.Random(arguments.seed)
    catalogs = [Catalog(rng, size, descriptions) for size in SIZES for _ in range(2)]
    trials = [trial(rng, rng.choice(catalogs), descriptions) for _ in range(arguments.trials)]
    trials = [each for each in trials if len(each[0])]
    weights, least = fit(trials[::2])
    names = ("bias", "perRead", "perReadBeside", "perMissingShare", "perOtherShare", "perLogEntity")
    print(f"{len(descriptions)} descriptions, {len(trials)} trials")
    print(", ".join(f"{name} {weight:.2f}" for name, weight in zip(names, weights)))
    print(f"loss {least:.4f}, of the other half {loss(trials[1::2], weights):.4f}")
    p = np.concatenate([probabilities(f, r, weights) for f, _, r in trials[1::2]])
    y = np.concatenate([labels for _, labels, _ in trials[1::2]])
    for low in np.arange(0, 1, 0.1):
        part = (p >= low) & (p < low + 0.1 + (low > 0.85))
        if part.any():
            print(f"{low:.1f}: {part.sum():6d} candidates, predicted {p[part].mean():.3f}, right {y[part].mean():.3f}")


if __name__ == "__main__":
    main()
