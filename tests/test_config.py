import pytest

from diffmem.config import Config
from diffmem.errors import ConfigError


def test_an_empty_environment_is_a_local_offline_set_up() -> None:
    config = Config.from_environment({})
    assert config.store == "file:.diffmem"
    assert config.auth == "none"
    assert config.sandbox == "require"
    assert not config.has_model


def test_an_empty_variable_counts_as_unset() -> None:
    assert Config.from_environment({"OPENAI_API_KEY": "  ", "DIFFMEM_AUTH": ""}) == Config.from_environment({})


def test_a_key_or_a_base_url_configures_a_model_and_the_writer_follows_the_reader() -> None:
    assert Config.from_environment({"OPENAI_API_KEY": "k"}).has_model
    config = Config.from_environment({"OPENAI_BASE_URL": "http://localhost:11434/v1", "DIFFMEM_MODEL": "qwen"})
    assert config.has_model
    assert (config.model, config.writer_model) == ("qwen", "qwen")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DIFFMEM_STORE", "s3://bucket"),
        ("DIFFMEM_STORE", "gs://"),
        ("DIFFMEM_STORE", "file:"),
        ("DIFFMEM_AUTH", "maybe"),
        ("DIFFMEM_SANDBOX", "on"),
        ("DIFFMEM_SESSION_GAP_S", "0"),
        ("DIFFMEM_SESSION_GAP_S", "half an hour"),
        ("DIFFMEM_CACHE_MAX_BYTES", "-1"),
        ("DIFFMEM_HOOKS", "{"),
        ("CLOUD_RUN_TIMEOUT_SECONDS", "soon"),
    ],
)
def test_a_bad_value_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        Config.from_environment({name: value})


def test_cloud_run_without_a_chosen_authentication_does_not_start() -> None:
    with pytest.raises(ConfigError, match="DIFFMEM_AUTH"):
        Config.from_environment({"K_SERVICE": "memory"})
    assert Config.from_environment({"K_SERVICE": "memory", "DIFFMEM_AUTH": "iam"}).auth == "iam"
