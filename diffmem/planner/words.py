"""Words of a text in any script: folded, split, and freed of what carries no meaning.

    words("Zoë's café, 誕生日")   ->   ["zoe", "s", "cafe", "誕生", "生日"]

Scripts that put no blanks between words (Han, kana, Thai, Lao, Khmer, Burmese) and Hangul become pairs of characters,
which search as well as dictionary words do (McNamee and Mayfield 2004, "Character N-Gram Tokenization").
"""

import re
import unicodedata

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

_STOP_ENGLISH = (
    "a about all also am an and any are as at be been before being both but by can could d did do does doing don "
    "down during each few for from had has have having he her here hers him his how i if in into is it its just "
    "ll m may me might mine must my no nor not of off on once only or our ours out over own re s same shall she "
    "should so some such t than that the their theirs them then there these they this those to too up us ve very "
    "was we were what when where which who whom whose why will with would you your yours after again"
)
_STOP_OTHER = (
    # Spanish, Portuguese, French, Italian, German, Dutch: the words that every sentence has.
    "el la los las un una unos unas de del y o que en por para con se su sus lo le les es al como mas pero mi tu "
    "yo este esta os um uma das dos em nao na no nas nos ao e ou meu minha eu foi sao tem les des du et est une "
    "dans pour qui sur pas ce cette mon ma mes je il elle nous vous ne au aux avec son sa ses ete il gli che di "
    "da per non sono della dei nel ho ha mio mia ed der die das den dem ein eine einen einem einer und ist im zu "
    "mit auf fur von nicht ich du er sie wir ihr mein meine hat war auch sich bei nach wie aus am es als was wer "
    "wo wann het een van ik je dat niet zijn op te voor met naar heb mijn maar"
)
_ASKING = (
    "kind kinds type types sort many much often long total number amount different various specific particular "
    "current currently recent recently lately now mention mentioned say said tell told ask asked discuss "
    "discussed talk talked think thing things something someone anything happen happened help suggest recommend "
    "suggestion suggestions recommendation advice tip tips like would want need know get got make made take use "
    "used find new good best first last time way"
)
STOP_WORDS = frozenset(_STOP_ENGLISH.split())
_ASKING_WORDS = frozenset(_ASKING.split())
_MORE_STOP_WORDS = frozenset(_STOP_OTHER.split()) - frozenset({"die", "war", "on"})


def fold(text: str) -> str:
    """`text` in lower case without accents, in Unicode's composed form."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
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
    return word in STOP_WORDS or (not english and word in _MORE_STOP_WORDS) or (len(word) == 1 and word.isascii())


def is_asking_word(word: str) -> bool:
    """Whether `word` says more of a question's form than of its matter: `kind`, `many`, `recommend`."""
    return word in _ASKING_WORDS


def is_english(found: list[str]) -> bool:
    """Whether words look English: English function words are among them, or there is nothing to tell by."""
    english = sum(word in STOP_WORDS for word in found)
    return english >= sum(word in _MORE_STOP_WORDS for word in found) and all(map(str.isascii, found))


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
