"""Strategies for shell scripts that have no effect: quoting, expansions, pipes and control flow in every mixture.

Left out, because the tool differs from bash there on purpose: an arithmetic error, which in bash gives up the rest of
the line, and a side effect inside a redirection, which in bash is lost with the process.
"""

from hypothesis import strategies as st

_NAMES = st.sampled_from(["x", "y", "e", "n", "p", "u", "s"])
_PLAIN = st.sampled_from(["a", "b.c", "A", "1", "-", "_", "é", "/", ".", "%", ":", "=", "@", "+", "a,b", "~b", "w"])
_SINGLE = st.sampled_from(["''", "' '", "'a b'", "'$x'", "'*'", "'\\'", "'\"'", "'{1,2}'"])
_ESCAPED = st.sampled_from(["\\*", "\\$", "\\\\", "$'a\\tb'", '""'])
_BRACES = st.sampled_from(["{a,b}", "{1..3}", "{c..a}", "{,z}", "{a,{b,c}}", "{}", "{a}", "{01..2}", '{"a b",c}'])
_GLOBS = st.sampled_from(["*", "mem*", "*.md", "timeline/*", "?ndex.md", "[im]*", "nosuch*", "*/people", ".*", "*/"])
_SUBSTITUTED = st.sampled_from(
    [
        "$(echo a)",
        '$(echo " b  c ")',
        '$(printf "a\\n\\n")',
        "$(false)",
        '$(echo "$x")',
        "`echo q`",
        "$(echo $x; echo z)",
    ]
)
_SUMS = st.sampled_from(["1+2", "n*2", "-n", "n%2", "(n+1)*3", "n>2?1:0", "n==3", "~n", "n<<2", "1+n/2", "!n", "n&1|4"])
_DEFAULTED = st.sampled_from([":-d", "-", ":+alt", "+", ":-d e", ":-$y", ":-*", ":=new"])
_TRIMMED = st.sampled_from(
    ["#a", "##*", "%?", "%%a*", "#*b", "%[a-c]", "##*[!a]", "#\\*", "%$e", "#?a*", "%/*", "##*/"]
)
_CHANGED = st.sampled_from(
    [":0:1", ":1", ":1:2", ": -1", ":9", "/a/Z", "//a", "//?/-", "/[ab]/x y", "^", "^^", ",", ",,"]
)
_STATE = 'x="a b"; y=abcab; e=; n=3; p=memories/people/wife.md; s="*"\n'


def _braced() -> st.SearchStrategy[str]:
    forms = st.one_of(st.just(""), _DEFAULTED, _TRIMMED, _CHANGED)
    return st.builds("${{{}{}}}".format, _NAMES, forms) | st.builds("${{#{}}}".format, _NAMES)


def _expansions() -> st.SearchStrategy[str]:
    return st.one_of(_braced(), _SUBSTITUTED, st.builds("$(({}))".format, _SUMS))


def _double() -> st.SearchStrategy[str]:
    inside = st.one_of(_PLAIN, st.sampled_from([" ", "'", '\\"', "\\$", "\\\\", "\\a", "*", "{a,b}"]), _expansions())
    return st.lists(inside, max_size=3).map(lambda parts: f'"{"".join(parts)}"')


def _words() -> st.SearchStrategy[str]:
    part = st.one_of(_PLAIN, _double(), _SINGLE, _expansions(), _BRACES, _GLOBS, _ESCAPED)
    word = st.lists(part, min_size=1, max_size=3).map("".join)
    return st.lists(word, min_size=1, max_size=3).map(" ".join)


def _simple() -> st.SearchStrategy[str]:
    command = st.one_of(
        st.builds('printf "<%s>" {}'.format, _words()),
        st.builds("echo {}".format, _words()),
        st.builds("{}={}".format, _NAMES.filter(lambda name: name != "n"), _double()),
        st.builds("[ {} {} {} ]".format, _double(), st.sampled_from(["=", "!="]), _double()),
        st.builds("cat <<< {}".format, _double()),
        st.sampled_from(["true", "false", "echo $?"]),
    )
    redirection = st.sampled_from(["", "", "", " 2>/dev/null", " >/dev/null", " 2>&1", " >&2"])
    return st.builds("{}{}".format, command, redirection)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lists = st.builds("{}{}{}".format, inner, st.sampled_from(["; ", " && ", " || ", "\n"]), inner)
    stages = st.sampled_from(
        ["cat", "wc -c", "tr a-z A-Z", "cat | cat", "{ cat; echo; }", "(cat)", 'while read -r l; do echo "[$l]"; done']
    )
    return st.one_of(
        lists,
        st.builds("{} | {}".format, _simple(), stages),
        st.builds('for f in {}; do {}; echo "$f"; done'.format, _words(), inner),
        st.builds("if {}; then {}; else {}; fi".format, _simple(), inner, inner),
        st.builds("{{ {}; }}".format, inner),
        st.builds("({})".format, inner),
        st.builds("! {}".format, _simple()),
        st.builds("i=0; while [ $i -lt 2 ]; do i=$((i+1)); {}; done".format, inner),
    )


def scripts() -> st.SearchStrategy[str]:
    """Scripts that set some variables and use them."""
    return st.recursive(_simple(), _compound, max_leaves=6).map(lambda script: _STATE + script)
