"""What a process keeps between requests: the repositories, the tool and the models, made at the first request.

What is not configured is not imported: webhooks, the model layer.
"""

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from diffmem import __version__
from diffmem.claims import Claims
from diffmem.config import Config
from diffmem.limits import Limits
from diffmem.repository import Repositories
from diffmem.shell import Refusal, Tool
from diffmem.storage import MeteredBucket, open_bucket
from diffmem.tasks import open_tasks

if TYPE_CHECKING:
    from diffmem.hooks import Hook
    from diffmem.model import OpenAIModel


def check_configuration(config: Config) -> None:
    """Raise `ConfigError` for what would otherwise show at the first request: webhooks, the queue."""
    _hooks(config)
    open_tasks(config)


class Application:
    """The parts that requests share; thread-safe, for one process."""

    version = __version__

    def __init__(self, config: Config) -> None:
        self.config = config
        self.claims = Claims()
        self.hooks = _hooks(config)
        self.tasks = open_tasks(config)
        self.bucket = open_bucket(config.store)
        self.repositories = Repositories(
            self.bucket, config.cache, cache_max_bytes=config.cache_max_bytes, id_secret=config.id_secret
        )
        self.tool = Tool(config.sandbox, Limits())
        self.reader = _model(config, config.model)
        self.writer = self.reader if config.writer_model == config.model else _model(config, config.writer_model)

    def for_request(self, bucket: MeteredBucket, hear: Callable[[Refusal], None]) -> "Application":
        """The same parts for one request: `bucket`, around this one's, counts, and `hear` is told of refusals."""
        application = copy.copy(self)
        application.repositories = self.repositories.through(bucket)
        application.tool = self.tool.telling(hear)
        return application

    def close(self) -> None:
        """End the tool's processes and the idle connections."""
        self.tool.close()
        self.bucket.close()
        for model in (self.reader, self.writer):
            if model is not None:
                model.close()


def _hooks(config: Config) -> Mapping[str, "Hook"]:
    if not config.hooks:
        return {}
    from diffmem.hooks import parse_hooks

    return parse_hooks(config.hooks, has_queue=config.tasks_queue is not None)


def _model(config: Config, name: str) -> "OpenAIModel | None":
    if not config.has_model:
        return None
    from diffmem.model import OpenAIModel

    return OpenAIModel(name, config.model_base_url, config.model_api_key)
