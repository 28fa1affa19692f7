"""Words of a text in any script: folded, split, and freed of what carries no meaning.

    words("Zoë's café, 誕生日")   ->   ["zoe", "s", "cafe", "誕生", "生日"]

Scripts that put no blanks between words (Han, kana, Thai, Lao, Khmer, Burmese) and Hangul become pairs of characters,
which search as well as dictionary words do (McNamee and Mayfield 2004, "Character N-Gram Tokenization").
"""

import re
import unicodedata

from diffmem.planner.wordlists import ASKING_WORDS, STOP_WORDS, STOP_WORDS_OF_OTHERS

_ASCII_WORD = re.compile(r"[a-z0-9]+")
# \w leaves out the vowel signs of Indic, Thai and Semitic scripts, and would cut their words at each.
_SIGNS = (
    "\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0963\u0971-\u0d7f\u0d81-\u0ddf"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
)
_ANY_WORD = re.compile(rf"(?:[^\W_]|[{_SIGNS}])+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]+")


def fold(text: str) -> str:
    """`text` in lower case without accents, in Unicode's composed form."""
    if text.isascii():
        return text.lower()
    # Each can undo the other: a bold capital decomposes into a plain one.
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed))


def words(text: str) -> list[str]:
    """The words of `text` in order, folded; in unspaced scripts every pair of neighbouring characters."""
    folded = fold(text)
    if folded.isascii():
        return _ASCII_WORD.findall(folded)
    found = _ANY_WORD.findall(folded)
    return _paired(found) if _UNSPACED.search(folded) else found


def is_stop_word(word: str, english: bool) -> bool:
    """Whether `word` says nothing of what a text is about; other languages' count where it is not `english`."""
    return word in STOP_WORDS or (not english and word in STOP_WORDS_OF_OTHERS) or (len(word) == 1 and word.isascii())


def is_asking_word(word: str) -> bool:
    """Whether `word` says more of a question's form than of its matter: `kind`, `many`, `recommend`."""
    return word in ASKING_WORDS


def is_english(found: list[str]) -> bool:
    """Whether words look English: no fewer function words of English are among them than of the other languages."""
    english = sum(word in STOP_WORDS for word in found)
    return english >= sum(word in STOP_WORDS_OF_OTHERS for word in found) and all(map(str.isascii, found))


def _paired(found: list[str]) -> list[str]:
    result: list[str] = []
    for word in found:
        if word.isascii():
            result.append(word)
        else:
            result += _pairs(word)
    return result


def _pairs(word: str) -> list[str]:
    parts: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > at:
            parts.append(word[at : run.start()])
        text = run[0]
        parts += [text[i : i + 2] for i in range(len(text) - 1)] or [text]
        at = run.end()
    return [*parts, word[at:]] if at < len(word) else parts
