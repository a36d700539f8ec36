"""A judge behind an OpenAI-compatible endpoint (`POST BASE_URL/chat/completions`).

The package `openai` retries transient errors, with exponential back-off or as the server asks. The
key is read from the environment and used only in the request.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flybench.config import JudgeConfig
from flybench.core.errors import FlybenchError
from flybench.score.judge.base import CallFailed, Messages, Reply, checked

if TYPE_CHECKING:
    from openai import OpenAI

MAX_MESSAGE_LENGTH = 200
MAX_WAIT_S = 8.0
CHECK_TIMEOUT_S = 15.0


class EndpointJudge:
    """A judge that calls `config.model`; a permanent error is not retried."""

    def __init__(self, config: JudgeConfig) -> None:
        self._config = config
        self._rejected = threading.Event()

    @property
    def identity(self) -> Mapping[str, Any]:
        config = self._config
        names = ("kind", "model", "base_url", "temperature", "max_new_tokens")
        return {name: getattr(config, name) for name in names}

    def check(self) -> None:
        """Check that the package, the key and the server are available."""
        client, where = self._client, self._config.base_url
        import openai

        try:
            client.with_options(max_retries=1, timeout=CHECK_TIMEOUT_S).models.list()
        except openai.APIConnectionError as error:
            raise FlybenchError(
                f"The judge endpoint {where} cannot be reached ({_cause(error)}): start it, or "
                "correct judge.base_url."
            ) from None
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            raise FlybenchError(
                f"The judge endpoint {where} rejected the key in {self._config.key_env}: set a "
                "valid key, or name another variable with judge.key_env=."
            ) from None
        except (openai.OpenAIError, ValueError):
            pass  # the server answers; a list of models is not required

    def prepare(self, asked: Sequence[Messages]) -> None:
        pass

    def ask(self, messages: Messages) -> Reply:
        import openai

        if self._rejected.is_set():
            raise CallFailed("not sent, because the endpoint permanently rejected an earlier call")
        for attempt in range(self._config.retries + 1):
            try:
                return _reply(self._complete(messages))
            except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
                # Their messages quote parts of the key.
                self._rejected.set()
                raise CallFailed(f"HTTP {error.status_code}: the key is rejected") from None
            except openai.NotFoundError as error:
                self._rejected.set()
                raise CallFailed(self._clean(f"HTTP 404: {error.message}")) from None
            except openai.APIStatusError as error:
                raise CallFailed(
                    self._clean(f"HTTP {error.status_code}: {error.message}")
                ) from None
            except openai.APIConnectionError as error:
                raise CallFailed(f"no answer ({_cause(error)})") from None
            except (openai.OpenAIError, ValueError, AttributeError, LookupError, TypeError):
                # A malformed reply, as some gateways occasionally send.
                time.sleep(min(0.5 * 2**attempt, MAX_WAIT_S) * random.uniform(0.5, 1))
        raise CallFailed("the endpoint's reply is not a chat completion")

    def _complete(self, messages: Messages) -> Any:
        # OpenAI's reasoning models accept only the newer name, older servers only the older one.
        cap = "max_completion_tokens" if "api.openai.com" in self._config.base_url else "max_tokens"
        settings: dict[str, Any] = {"messages": messages, cap: self._config.max_new_tokens}
        if self._config.temperature is not None:
            settings["temperature"] = self._config.temperature
        return self._client.chat.completions.create(model=str(self._config.model), **settings)

    @cached_property
    def _client(self) -> OpenAI:
        try:
            from openai import OpenAI
        except ImportError:
            raise FlybenchError(
                'judge=openai needs the package openai: run `pip install "flybench[judge]"`, or '
                "choose judge=local."
            ) from None
        config = self._config
        return OpenAI(
            api_key=self._key,
            base_url=config.base_url,
            timeout=config.timeout,
            max_retries=config.retries,
        )

    @cached_property
    def _key(self) -> str:
        name = self._config.key_env
        found = os.environ.get(name, "").strip() if name else ""
        if name and not found and not self._config.loopback:
            raise FlybenchError(
                f"judge=openai needs a key in the environment variable {name}, which is not set: "
                "set it, name another variable with judge.key_env=, or set judge.key_env=null if "
                f"{self._config.base_url} needs no key."
            )
        return found or "none"  # the package requires a key, a local server usually does not

    def _clean(self, text: str) -> str:
        """Return one line of a server's message, without the key."""
        line = " ".join(text.replace(self._key, "<key>").split())
        return line[:MAX_MESSAGE_LENGTH]


def _reply(completion: Any) -> Reply:
    """Return the reply of a completion.

    Raises:
        AttributeError, LookupError, TypeError: the completion is malformed.
    """
    choice, usage = completion.choices[0], completion.usage
    counts = (None, None) if usage is None else (usage.prompt_tokens, usage.completion_tokens)
    return checked(Reply(choice.message.content or "", choice.finish_reason, *counts))


def _cause(error: Exception) -> str:
    return type(error.__cause__ or error).__name__
