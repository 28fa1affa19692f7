"""The stem that the forms of an English word share, by Porter's rules (1980, "An algorithm for suffix stripping").

*Covered*: regular forms; a table of irregular verbs and plurals (`went`, `go`). *Not covered*: other languages, whose
words come back as they are; `diffmem.planner.query` compares those by their beginnings.
"""

_SECOND = (
    ("ational", "ate"), ("ization", "ize"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("tional", "tion"), ("biliti", "ble"), ("entli", "ent"), ("ousli", "ous"), ("ation", "ate"), ("alism", "al"),
    ("aliti", "al"), ("iviti", "ive"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("abli", "able"),
    ("alli", "al"), ("ator", "ate"), ("logi", "log"), ("eli", "e"),
)  # fmt: skip
_THIRD = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ness", ""), ("ful", ""),
)  # fmt: skip
_FOURTH = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic", "ou",
)  # fmt: skip
_IRREGULAR = (
    "begin began begun | bite bit bitten | break broke broken | bring brought | build built | buy bought | catch "
    "caught | child children kid | choose chose chosen | come came | become became | dad father | die died death "
    "| draw drew drawn | drink drank drunk | drive drove driven | eat ate eaten | fall fell fallen | feel felt | "
    "fight fought | find found | fly flew flown flight | foot feet | forget forgot forgotten | get got gotten | "
    "give gave given | go went gone goes | grow grew grown | hear heard | hide hid hidden | hold held | keep kept "
    "| know knew known | lead led | leave left | life lives | lose lost | make made | man men | marry married "
    "marriage | meet met | mom mother mum | mouse mice | pay paid | person people | ride rode ridden | run ran | "
    "say said | see saw seen | sell sold | send sent | shoot shot | sing sang sung | sit sat | sleep slept | "
    "speak spoke spoken | spend spent | stand stood | steal stole stolen | swim swam swum | take took taken | "
    "teach taught | tell told | think thought | throw threw thrown | tooth teeth | understand understood | wake "
    "woke woken | wear wore worn | wife wives | win won | woman women | write wrote written | bike bicycle"
)
IRREGULAR = {form: group.split()[0] for group in _IRREGULAR.split("|") for form in group.split()[1:]}


def stem(word: str) -> str:
    """The stem of `word` (lower case); a word that is not ASCII letters, or shorter than three, is its own.

    Example: `stem("running") == stem("ran") == "run"`.
    """
    word = IRREGULAR.get(word, word)
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _without_plural(word)
    word = _without_past(IRREGULAR.get(word, word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _SECOND), _THIRD)
    return _tidied(_without_fourth(word))


def _pattern(word: str) -> str:
    """One `v` or `c` a letter; `y` is a vowel after a consonant."""
    kinds: list[str] = []
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and bool(kinds) and kinds[-1] == "c")
        kinds.append("v" if vowel else "c")
    return "".join(kinds)


def _measure(word: str) -> int:
    return _pattern(word).count("vc")  # a run of vowels, then of consonants


def _has_vowel(word: str) -> bool:
    return "v" in _pattern(word)


def _ends_short(word: str) -> bool:
    return _pattern(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            return _mended(word[: -len(suffix)]) if _has_vowel(word[: -len(suffix)]) else word
    return word


def _mended(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:-1] == word[-1:] and word[-1:] not in "aeioulsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word) else word


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for suffix, replacement in rules:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + replacement if _measure(rest) > 0 else word
    return word


def _without_fourth(word: str) -> str:
    for suffix in _FOURTH:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            removable = _measure(rest) > 1 and (suffix != "ion" or rest[-1:] in "st")
            return rest if removable else word
    return word


def _tidied(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _ends_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
