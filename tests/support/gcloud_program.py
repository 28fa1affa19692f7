"""The program that `tests.support.gcloud` puts on the PATH as `gcloud`; its state is gcloud.state beside its directory.

It imports next to nothing, since a deployment calls it some thirty times.
"""

import marshal
import os
import sys

Call = tuple[str, ...]
Things = dict[str, list[str]]
State = dict[str, Things]
READS = {"list", "describe", "get-iam-policy", "access"}


def words(call: Call) -> Call:
    """The arguments that are no flags."""
    return tuple(word for word in call if not word.startswith("-"))


def flag(call: Call, name: str) -> str:
    """The value of `--name=value`; empty where it is not given."""
    values = [word.removeprefix(f"--{name}=") for word in call if word.startswith(f"--{name}=")]
    return values[-1] if values else ""


def load(path: str) -> State:
    """What the project holds and every call so far (as `calls`, one string of lines a call)."""
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs as much as the rest of a call
        state: State = marshal.load(file)
    return state


def store(path: str, state: State) -> None:
    """The reverse of `load`."""
    with open(path, "wb") as file:  # noqa: PTH123
        marshal.dump(state, file)


def _answer(state: State, call: Call) -> int:
    things, given = state["things"], words(call)
    match given:
        case ("services", "list"):
            print("\n".join(things.get("services", [])))
        case ("services", "enable", *names):
            things["services"] = [*things.get("services", []), *names]
        case (*group, "get-iam-policy", name):
            print("\n".join(state["bindings"].get(" ".join([*group, name]), [])))
        case (*group, "add-iam-policy-binding", name):
            bound = state["bindings"].setdefault(" ".join([*group, name]), [])
            bound.append(f"{flag(call, 'role')},{flag(call, 'member')}")
        case ("secrets", "versions", "add", name):
            things[f"secrets {name}"].append(sys.stdin.read())
        case ("secrets", "versions", "access" | "describe" as verb, "latest"):
            return _newest_secret(things.get(f"secrets {flag(call, 'secret')}"), verb)
        case _:
            return _thing(things, call, given)
    return 0


def _newest_secret(versions: list[str] | None, verb: str) -> int:
    if not versions:
        return _missing()
    print(versions[-1] if verb == "access" else len(versions))
    return 0


def _thing(things: Things, call: Call, given: Call) -> int:
    match given:
        case ("builds", "submit", "."):
            name, tag = flag(call, "substitutions").removeprefix("_IMAGE=").rsplit(":", 1)
            things[f"artifacts docker images {name}:{tag}"] = [f"{name}@sha256:{tag * 4}"]
        case ("run", "deploy", name):
            things[f"run services {name}"] = [flag(call, "update-labels").removeprefix("deployment=")]
        case ("iam", "service-accounts", "create", name):
            things[f"iam service-accounts {name}@{flag(call, 'project')}.iam.gserviceaccount.com"] = []
        case (*group, "create", name):
            things[" ".join([*group, name])] = []
        case (*group, "delete", name):
            del things[" ".join([*group, name])]
        case (*group, "describe", name):
            return _describe(things.get(" ".join([*group, name])), flag(call, "format"))
        case _:
            print(f"the stand-in has no {' '.join(given)}", file=sys.stderr)
            return 2
    return 0


def _describe(found: list[str] | None, form: str) -> int:
    if found is None:
        return _missing()
    print("https://diffmem.example" if form == "value(status.url)" else found[0] if found else "something")
    return 0


def _missing() -> int:
    print("ERROR: NOT_FOUND: Requested entity was not found.", file=sys.stderr)
    return 1


def _main(call: Call) -> int:
    path = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/gcloud.state"  # noqa: PTH100, PTH120
    state = load(path)
    state["calls"][str(len(state["calls"]))] = list(call)
    print("Updates are available for some components.", file=sys.stderr)
    if " ".join(words(call)).startswith(os.environ.get("GCLOUD_FAILS", "-")):
        print("ERROR: PERMISSION_DENIED: Permission denied.", file=sys.stderr)
        return 1
    code = _answer(state, call)
    store(path, state)
    return code


if __name__ == "__main__":
    sys.exit(_main(tuple(sys.argv[1:])))
