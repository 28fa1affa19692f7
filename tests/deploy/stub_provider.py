"""A google provider that creates nothing, with which Terraform itself validates, plans and applies deploy/terraform.

It speaks Terraform's plugin protocol 5 with the names and types of provider_schema.json: Terraform then checks types,
references, cycles, validations, write-only arguments, and whether a second apply finds anything to change. By hand,
since grpcio in the environment of the tests would change what the product imports:

    pip install --target DIRECTORY grpcio msgpack
    PYTHONPATH=DIRECTORY python -m tests.deploy.stub_provider

*Not covered*: what Google accepts.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-not-found,import-untyped,unused-ignore]
import msgpack  # type: ignore[import-not-found,unused-ignore]

from diffmem.config import Config
from diffmem.tasks import parse_queue
from tests.deploy.extract_schema import SCHEMA
from tests.deploy.settings import settings
from tests.deploy.terraform import DIRECTORY

SCHEMAS: dict[str, Any] = json.loads(SCHEMA.read_text())
RESOURCES: dict[str, Any] = SCHEMAS["resources"]
UNKNOWN = msgpack.ExtType(0, b"\0")
WRITE_ONLY = {"secret_data_wo"}
_LIST, _REQUIRED, _OPTIONAL, _COMPUTED, _WRITE_ONLY = 2, 4, 5, 6, 10


def field(number: int, value: bytes | str | int) -> bytes:
    """One field of a protocol buffer."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    high, low = value >> 7, value & 127
    return bytes([low | 128]) + _varint(high) if high else bytes([low])


def fields(message: bytes) -> dict[int, Any]:
    """The fields of a protocol buffer, each as number or bytes; of repeated ones the last."""
    found, rest = {}, iter(message)
    for first in rest:
        tag = _read_varint(first, rest)
        size = _read_varint(next(rest), rest)
        found[tag >> 3] = bytes(next(rest) for _ in range(size)) if tag & 7 == 2 else size
    return found


def _read_varint(byte: int, rest: Iterator[int]) -> int:
    return byte if byte < 128 else (byte & 127) | _read_varint(next(rest), rest) << 7


def _attribute(name: str, kind: Any, *flags: int) -> bytes:
    return field(1, name) + field(2, json.dumps(kind)) + b"".join(field(flag, 1) for flag in flags)


def _block(schema: dict[str, Any]) -> bytes:
    required, parts = set(schema["required"]), []
    for name, kind in schema["attributes"].items():
        flags = [_REQUIRED] if name in required else [_OPTIONAL, _WRITE_ONLY if name in WRITE_ONLY else _COMPUTED]
        parts.append(field(2, _attribute(name, kind, *flags)))
    parts += [field(2, _attribute(name, kind, _COMPUTED)) for name, kind in schema.get("computed", {}).items()]
    for name, inner in schema["blocks"].items():
        bounds = field(4, int(name in required)) + field(5, 0 if inner["many"] else 1)
        parts.append(field(3, field(1, name) + field(2, _block(inner)) + field(3, _LIST) + bounds))
    return b"".join(parts)


def get_schema(_: dict[int, Any]) -> bytes:
    """The schema of the provider's configuration and of every resource."""
    provider = {"required": [], "attributes": {"project": "string", "region": "string"}, "blocks": {}}
    schemas = {name: field(2, _block(schema)) for name, schema in RESOURCES.items()}
    data = {name: field(2, _block(schema)) for name, schema in SCHEMAS["data"].items()}
    return field(1, field(2, _block(provider))) + b"".join(
        field(number, field(1, name) + field(2, schema))
        for number, found in ((2, schemas), (3, data))
        for name, schema in found.items()
    )


def plan(request: dict[int, Any]) -> bytes:
    """What was proposed; what the cloud would decide is unknown at first and stays as it is later."""
    proposed = _value(request[3])
    if proposed is not None:
        for name in RESOURCES[request[1].decode()]["computed"]:
            if proposed[name] is None:
                proposed[name] = UNKNOWN
        proposed |= dict.fromkeys(WRITE_ONLY & proposed.keys())
    return field(1, _dynamic(proposed))


def apply(request: dict[int, Any]) -> bytes:
    """What was planned, with something in the place of what the cloud would decide."""
    kind, planned = request[1].decode(), _value(request[3])
    if planned is not None:
        computed = RESOURCES[kind]["computed"]
        planned |= {name: _made(kind, computed[name]) for name, value in planned.items() if value == UNKNOWN}
    return field(1, _dynamic(planned))


def read_data(request: dict[int, Any]) -> bytes:
    """What was asked for, with something in every place that can be read."""
    kind, config = request[1].decode(), _value(request[2])
    computed = SCHEMAS["data"][kind]["computed"]
    return field(1, _dynamic(config | {name: _made(kind, wanted) for name, wanted in computed.items()}))


def _made(kind: str, wanted: Any) -> Any:
    samples: dict[str, Any] = {"string": f"{kind}-made", "number": 1, "bool": True}
    return samples.get(wanted) if isinstance(wanted, str) else {"list": [], "map": {}}[wanted[0]]


def _value(dynamic: bytes) -> Any:
    return msgpack.unpackb(fields(dynamic)[1], strict_map_key=False)


def _dynamic(value: Any) -> bytes:
    return field(1, msgpack.packb(value))


METHODS: dict[str, Callable[[dict[int, Any]], bytes]] = {
    "tfplugin5.Provider/GetSchema": get_schema,
    "tfplugin5.Provider/PrepareProviderConfig": lambda request: field(1, request[1]),
    "tfplugin5.Provider/ValidateResourceTypeConfig": lambda request: b"",
    "tfplugin5.Provider/UpgradeResourceState": lambda request: field(1, _dynamic(json.loads(fields(request[3])[1]))),
    "tfplugin5.Provider/ValidateDataSourceConfig": lambda request: b"",
    "tfplugin5.Provider/ReadDataSource": read_data,
    "tfplugin5.Provider/Configure": lambda request: b"",
    "tfplugin5.Provider/ReadResource": lambda request: field(1, request[2]),
    "tfplugin5.Provider/PlanResourceChange": plan,
    "tfplugin5.Provider/ApplyResourceChange": apply,
    "tfplugin5.Provider/Stop": lambda request: b"",
    "grpc.health.v1.Health/Check": lambda request: field(1, 1),
}


class Handler(grpc.GenericRpcHandler):  # type: ignore[misc,unused-ignore]
    """Finds a method by its name; what is not listed is answered as unimplemented."""

    def service(self, call: Any) -> Any:
        """The handler of one call."""
        method = METHODS.get(call.method.removeprefix("/"))
        return method and grpc.unary_unary_rpc_method_handler(lambda request, _: method(fields(request)))


EVERYTHING = {
    "IMAGE": "example/diffmem@sha256:0", "INVOKERS": "user:a@example.com,user:b@example.com",
    "DISTILL_USERS": "maya@example.org", "PUBSUB_TOPIC": "sessions", "PUBSUB_HOOK": "mail",
    "OPENAI_API_KEY_VERSION": "1", "OPENAI_API_KEY": "sk-never-in-the-state", "ID_SECRET": "never-in-the-state",
}  # fmt: skip
WITH_KEYS = EVERYTHING | {
    "AUTH": "key",
    "TASKS_KEY": "tasks",
    "DISTILL_USERS": "",
    "API_KEYS_VERSION": "1",
    "API_KEYS": "never-in-the-state",
}
REFUSED = ({"AUTH": "none"}, {"API_KEYS_VERSION": "0"}, {"DISTILL_USERS": "maya"}, {"PUBSUB_HOOK": ""})


def check(directory: Path, given: dict[str, str], provider: str) -> None:
    """Apply, look for secrets in the state, see that a second plan is empty, destroy; `given` wins over defaults."""
    state = directory / f"{given.get('AUTH', 'iam')}.tfstate"
    terraform(directory, given, provider, "apply", "-auto-approve", f"-state={state}")
    assert "never-in-the-state" not in state.read_text()
    config = Config.from_environment(environment_of(state) | {"DIFFMEM_API_KEYS": "tasks:0123456789abcdef:*"})
    print("the function is told:", config.store, config.auth, parse_queue(config))
    terraform(directory, given, provider, "plan", "-detailed-exitcode", f"-state={state}")
    terraform(directory, given, provider, "destroy", "-auto-approve", f"-state={state}")


def environment_of(state: Path) -> dict[str, str]:
    """What the service in the state is told, but for its secrets."""
    resources = json.loads(state.read_text())["resources"]
    [service] = [found["instances"][0] for found in resources if found["type"] == "google_cloud_run_v2_service"]
    variables = service["attributes"]["template"][0]["containers"][0]["env"]
    return {variable["name"]: variable["value"] for variable in variables if variable["value"]}


def terraform(directory: Path, given: dict[str, str], provider: str, *arguments: str, code: int = 0) -> None:
    """Run Terraform with these settings and the stub at the address `provider`; it must end with `code`."""
    print(">>> terraform", *arguments[:1], given.get("AUTH", ""), flush=True)
    stub = {"Protocol": "grpc", "ProtocolVersion": 5, "Pid": os.getpid(), "Test": True}
    stub |= {"Addr": {"Network": "tcp", "String": provider}}
    environment = os.environ | {f"TF_VAR_{name.lower()}": value for name, value in (settings() | given).items()}
    environment |= {"TF_REATTACH_PROVIDERS": json.dumps({"registry.terraform.io/hashicorp/google": stub})}
    environment |= {"TF_DATA_DIR": str(directory / "data"), "TF_INPUT": "0"}
    done = subprocess.run(["terraform", f"-chdir={DIRECTORY}", *arguments, "-no-color"], env=environment, check=False)
    assert done.returncode == code


def run(directory: Path, provider: str) -> None:
    """Everything, with either way of admitting callers, and what must be refused."""
    terraform(directory, {}, provider, "init", "-lockfile=readonly")
    terraform(directory, {}, provider, "validate")
    check(directory, EVERYTHING, provider)
    check(directory, WITH_KEYS, provider)
    for wrong in REFUSED:
        terraform(directory, WITH_KEYS | wrong, provider, "plan", f"-state={directory / 'none'}", code=1)
    print("ok: valid, applied, empty the second time, no secret in the state, what is wrong is refused")


if __name__ == "__main__":
    server = grpc.server(ThreadPoolExecutor(8), handlers=[Handler()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with tempfile.TemporaryDirectory() as made:
        run(Path(made), f"127.0.0.1:{port}")
    server.stop(None)
