"""The options of git's sub-commands that only read, named as in the manual of git 2.39; newer ones are left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from diffmem.shell.policy.git_values import date, line_range, pretty, reference, revision, sort_key, stat
from diffmem.shell.policy.options import Table, table
from diffmem.shell.policy.values import matching, number, one_of, small, text

Shape = Literal[
    "revisions and paths", "paths", "tree and paths", "revisions", "type and object", "pattern", "list", "names", "none"
]

_WRITES = "it writes a file"
_RUNS = "it runs another program"
_ROOT = "paths are relative to memory's root"
_STDIN = "revisions are given as operands"
_REFUSED = {
    "--output": f"{_WRITES}; the result goes to standard output",
    "--ext-diff --textconv": _RUNS,
    "--no-index": "two files are compared with: diff A B",
    "-O --order-file": "it reads another file",
    "--stdin --batch --batch-check --batch-command --annotate-stdin --pathspec-from-file": _STDIN,
    "--remerge-diff": "it writes objects",
    "--show-signature": "signatures are not checked here",
    "--contents --ignore-revs-file": "it reads another file",
    "-g --walk-reflogs --reflog": "there is no reflog; use: git log",
    "--open-files-in-pager --paginate --pager": "there is no pager",
    "--exclude-from --exclude-per-directory -X": "it reads another file",
    "--recurse-submodules --submodule --ignore-submodules": "there are no submodules",
    "--help": "use the options you know; a refusal names the nearest one",
    "--encoding": "output is UTF-8",
}
_WHEN = one_of("always", "never", "auto")
_PERCENT = matching(r"[0-9]{1,3}%?(/[0-9]{1,3}%?)?", "a percentage such as 50%")
_CONTEXT = matching(r"[0-9]{1,4}", "a number of lines up to 9999")
_ABBREV = matching(r"[0-9]{1,2}", "a length")
_SCORE = matching(r"[0-9]{1,6}", "a number")
_BLAMED = matching(r"(?s)[^-].*", "a range of lines such as 1,20 or :section")
FORCED_ON_DIFFS = ("--no-ext-diff", "--no-textconv")

_LIMITS = table(
    "--all --merges --no-merges --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only "
    "--reverse --date-order --author-date-order --topo-order --boundary --left-right --left-only --right-only "
    "--cherry-pick --cherry-mark --cherry --full-history --dense --sparse --simplify-merges --simplify-by-decoration "
    "--show-pulls --ancestry-path --all-match --invert-grep -i --regexp-ignore-case -E --extended-regexp -F "
    "--fixed-strings -P --perl-regexp --basic-regexp --remove-empty --do-walk --parents --children "
    "--abbrev-commit --no-abbrev-commit --no-abbrev --oneline --relative-date --graph --no-graph --ignore-missing "
    "--no-notes --no-expand-tabs",
    {
        "-n --max-count --skip --min-parents --max-parents": number,
        "--since --after --until --before --since-as-filter --author --committer --grep --glob --exclude": text,
        "--date": date,
        "--format": pretty,
    },
    {
        "--pretty": pretty,
        "--branches --tags --remotes": text,
        "--no-walk": one_of("sorted", "unsorted"),
        "--abbrev": _ABBREV,
        "--expand-tabs": _ABBREV,
    },
    refused=_REFUSED,
    digits="--max-count",
    glued=True,
)
_DIFFS = table(
    "-p -u --patch -s --no-patch --raw --patch-with-raw --patch-with-stat --minimal --patience --histogram --numstat "
    "--shortstat --summary --compact-summary -z --name-only --name-status --no-color --no-renames --rename-empty "
    "--no-rename-empty --check --full-index --binary -R -a --text --ignore-cr-at-eol --ignore-space-at-eol -b "
    "--ignore-space-change -w --ignore-all-space --ignore-blank-lines -W --function-context --no-function-context "
    "--exit-code --quiet --no-prefix --pickaxe-all --pickaxe-regex --find-copies-harder --cumulative -m -c --cc -t "
    "--relative --no-relative --indent-heuristic --no-indent-heuristic -D --irreversible-delete --no-ext-diff "
    "--no-textconv --no-diff-merges --no-color-moved",
    {
        "-U --unified --inter-hunk-context": _CONTEXT,
        "--diff-algorithm": one_of("default", "myers", "minimal", "patience", "histogram"),
        "--diff-filter": matching(r"[ACDMRTUXBacdmrtuxb*]{1,20}", "a filter such as A or MD"),
        "-S -G -I --ignore-matching-lines --word-diff-regex --anchored": text,
        "--find-object": revision,
        "-l": _SCORE,
        "--stat-width --stat-name-width --stat-graph-width --stat-count": matching(
            r"[0-4]?[0-9]{1,2}", "a number below 500"
        ),
        "--diff-merges": one_of(
            "off", "none", "on", "m", "first-parent", "1", "separate", "combined", "c", "dense-combined", "cc"
        ),
    },
    {
        "-M --find-renames -C --find-copies -B --break-rewrites": _PERCENT,
        "--stat": stat,
        "--dirstat -X": matching(r"[a-z0-9.,]{1,60}", "a list such as lines,cumulative"),
        "--color": _WHEN,
        "--color-words": text,
        "--word-diff": one_of("color", "plain", "porcelain", "none"),
        "--color-moved": one_of("no", "default", "plain", "blocks", "zebra", "dimmed-zebra"),
    },
    refused=_REFUSED,
    glued=True,
)
_LOG = table(
    "--full-diff --no-decorate --follow --no-follow --source --log-size --mailmap --no-mailmap "
    "--use-mailmap --no-use-mailmap --no-show-signature",
    {"--decorate-refs --decorate-refs-exclude": text, "-L": line_range},
    {"--decorate": one_of("short", "full", "auto", "no")},
    also=Table({**_LIMITS.options, **_DIFFS.options}, _LIMITS.refused, _LIMITS.digits, glued=True),
)
_BLAME = table(
    "-b --root -c -l -t -f --show-name -n --show-number -s -e --show-email -w -p --porcelain --line-porcelain "
    "--incremental --first-parent --no-progress --show-stats",
    {"-L": _BLAMED, "--since --after": text, "--date": date, "--ignore-rev": revision},
    {"-M -C": _SCORE, "--abbrev": _ABBREV},
    refused={**_REFUSED, "-S --reverse": "it reads another file, or history backwards"},
    glued=True,
)
_GREP = table(
    "-v --invert-match -i --ignore-case -w --word-regexp -a --text -I -E --extended-regexp -G --basic-regexp -F "
    "--fixed-strings -P --perl-regexp -n --line-number -h -H --full-name -l --files-with-matches --name-only -L "
    "--files-without-match -z --null -o --only-matching -c --count --no-color --break --heading -p --show-function "
    "-W --function-context -q --quiet --all-match --and --or --not --cached --column -r --recursive --no-recursive "
    "--no-line-number --no-textconv",
    {
        "-e": text,
        "-A --after-context -B --before-context -C --context -m --max-count": number,
        "--max-depth": number,
    },
    {"--color": _WHEN},
    refused={
        **_REFUSED,
        "-O --open-files-in-pager": _RUNS,
        "-f": "repeat '-e'",
        "--untracked --no-index --exclude-standard": "only memory's files are searched",
    },
    digits="-C",
    glued=True,
)
_REFERENCES = table(
    "--ignore-case --no-color",
    {"--sort": sort_key, "--format": reference, "--points-at --contains --no-contains --merged --no-merged": revision},
    {"--color": _WHEN},
    refused=_REFUSED,
    glued=True,
)


@dataclass(frozen=True, slots=True)
class SubCommand:
    """The table of a sub-command, what is forced after its name, and how its operands are read."""

    table: Table
    shape: Shape
    forced: tuple[str, ...] = ()


_BARE = table(refused=_REFUSED, glued=True)
_MUTATES = "it would change a branch or a tag; memory is read-only here"
SUBCOMMANDS: Mapping[str, SubCommand] = {
    "log": SubCommand(_LOG, "revisions and paths", FORCED_ON_DIFFS),
    "show": SubCommand(_LOG, "revisions and paths", FORCED_ON_DIFFS),
    "whatchanged": SubCommand(_LOG, "revisions and paths", FORCED_ON_DIFFS),
    "diff": SubCommand(
        table("--cached --staged --merge-base", also=_DIFFS),
        "revisions and paths",
        (*FORCED_ON_DIFFS, "--ignore-submodules=all"),
    ),
    "diff-tree": SubCommand(
        table(
            "-r -v --root --no-commit-id --always --oneline --no-abbrev --merge-base",
            {"--format": pretty},
            {"--pretty": pretty, "--abbrev": _ABBREV},
            also=_DIFFS,
        ),
        "revisions and paths",
        FORCED_ON_DIFFS,
    ),
    "rev-list": SubCommand(
        table("--count --timestamp --no-commit-header --commit-header --quiet --header", also=_LIMITS),
        "revisions and paths",
    ),
    "shortlog": SubCommand(
        table(
            "-n --numbered -s --summary -e --email -c --committer",
            {
                "--group": matching(
                    r"author|committer|trailer:[A-Za-z0-9-]{1,60}", "a group such as author or trailer:Session-Id"
                )
            },
            also=_LIMITS,
        ),
        "revisions and paths",
    ),
    "blame": SubCommand(_BLAME, "revisions and paths"),
    "annotate": SubCommand(_BLAME, "revisions and paths"),
    "grep": SubCommand(_GREP, "pattern", ("--no-textconv", "--threads=1")),
    "ls-files": SubCommand(
        table(
            "-c --cached -d --deleted -m --modified -o --others -s --stage -z -t -v -u --unmerged --full-name "
            "--error-unmatch --eol --deduplicate --exclude-standard",
            {},
            {"--abbrev": _ABBREV},
            also=_BARE,
        ),
        "paths",
    ),
    "ls-tree": SubCommand(
        table(
            "-r -t -d -l --long -z --name-only --name-status --object-only --full-name --full-tree",
            {},
            {"--abbrev": _ABBREV},
            also=_BARE,
        ),
        "tree and paths",
    ),
    "cat-file": SubCommand(table("-p -t -s -e", refused={"--filters": _RUNS}, also=_BARE), "type and object"),
    "rev-parse": SubCommand(
        table(
            "--verify -q --quiet --symbolic --symbolic-full-name --all --branches --tags --revs-only --no-revs "
            "--no-flags --is-inside-work-tree --is-bare-repository --is-shallow-repository --show-prefix "
            "--show-object-format",
            {},
            {"--short": _ABBREV, "--abbrev-ref": one_of("strict", "loose")},
            refused={"--show-toplevel --show-cdup --git-dir --absolute-git-dir --git-common-dir --git-path": _ROOT},
            also=_BARE,
        ),
        "revisions",
    ),
    "name-rev": SubCommand(
        table("--name-only --tags --always --no-undefined", {"--refs --exclude": text}, also=_BARE), "revisions"
    ),
    "merge-base": SubCommand(table("-a --all --octopus --independent --is-ancestor", also=_BARE), "revisions"),
    "describe": SubCommand(
        table(
            "--all --tags --long --always --first-parent --exact-match",
            {"--candidates": small, "--match --exclude": text},
            {"--abbrev": _ABBREV},
            also=_BARE,
        ),
        "revisions",
    ),
    "for-each-ref": SubCommand(table("", {"--count": number}, also=_REFERENCES), "names"),
    "show-ref": SubCommand(
        table(
            "--head --heads --tags -d --dereference --verify -q --quiet",
            {},
            {"--hash -s --abbrev": _ABBREV},
            also=_BARE,
        ),
        "names",
    ),
    "branch": SubCommand(
        table(
            "-a --all -r --remotes -l --list -v --verbose --show-current",
            {},
            {"--abbrev": _ABBREV},
            refused={
                "-d -D -m -M -c -C -f -u --delete --move --copy --force --edit-description --set-upstream-to": _MUTATES
            },
            also=_REFERENCES,
        ),
        "list",
    ),
    "tag": SubCommand(
        table(
            "-l --list",
            {},
            {"-n": _ABBREV},
            refused={
                "-a -s -d -f -m -F -u --delete --force --annotate --sign": _MUTATES,
                "-v --verify": "signatures are not checked here",
            },
            also=_REFERENCES,
        ),
        "list",
    ),
    "status": SubCommand(
        table(
            "-s --short -b --branch --long -z -v --verbose --no-renames --show-stash --no-ahead-behind",
            {},
            {
                "--porcelain": one_of("v1", "v2", "1", "2"),
                "-u --untracked-files": one_of("no", "normal", "all"),
                "--column": one_of("always", "never", "auto"),
            },
            also=_BARE,
        ),
        "paths",
        ("--ignore-submodules=all",),
    ),
    "count-objects": SubCommand(table("-v -H --verbose --human-readable", also=_BARE), "none"),
    "version": SubCommand(_BARE, "none"),
}
"""Every sub-command of the tool.

Left out although they read: config, remote and var (they print the host's configuration), reflog and stash (a
checkout has none), check-ignore, check-attr and verify-* (rules of the host, gpg), fsck and verify-pack (slow),
archive and bundle (binary output), hash-object and merge-tree (they can write objects), diff-files and diff-index
(they look at the index; diff and status do it better), range-diff, cherry, show-branch, interpret-trailers,
fast-export (rarely asked, many options), ls-remote and the rest of the network.
"""
