"""Settings of the judge model, for answers that no rule can score."""

from __future__ import annotations

import ipaddress
import math
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from flybench.config.checks import MAX_COUNT, allow, positive
from flybench.core.errors import FlybenchError

KINDS = ("none", "openai", "local")
OPENAI = "https://api.openai.com/v1"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Names of variables are short; a key pasted here by mistake is longer.
MAX_VARIABLE_LENGTH = 40


@dataclass(frozen=True)
class JudgeConfig:
    """Settings of the judge, which never change a token and are not part of a run's key.

    `openai` sends requests for `model` to the endpoint `base_url`, with the key in the environment
    variable `key_env`. `local` loads `model` (a Hugging Face Hub id, folder, .gguf file or
    package) and decodes greedily. Prices are per million tokens; `timeout` is in seconds.
    """

    kind: str = "none"
    model: str | None = None
    base_url: str = OPENAI
    key_env: str | None = "OPENAI_API_KEY"
    temperature: float | None = 0.0
    max_new_tokens: int = 1024
    input_price: float | None = None
    output_price: float | None = None
    retries: int = 5
    concurrency: int = 4
    timeout: float = 120.0
    dtype: str = "auto"
    device: str = "auto"
    reference: str | None = None
    description: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        allow("judge.kind", self.kind, KINDS)
        positive("judge.max_new_tokens", self.max_new_tokens)
        positive("judge.concurrency", self.concurrency)
        allow("judge.dtype", self.dtype, ("auto", "fp32", "bf16", "fp16"))
        for name in ("temperature", "input_price", "output_price", "retries"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < MAX_COUNT:
                raise FlybenchError(f"judge.{name}={value:g} is not allowed: use 0 or more.")
        if not 0 < self.timeout < math.inf:
            raise FlybenchError(
                f"judge.timeout={self.timeout:g} is not allowed: use a positive number of seconds."
            )
        if self.kind == "none" and self.model is not None:
            raise FlybenchError(
                f"judge.model={self.model} with judge=none is not allowed: add judge=openai or "
                "judge=local."
            )
        if self.kind != "none" and not self.model:
            raise FlybenchError(f"judge={self.kind} has no model: add judge.model=….")
        if self.kind == "local" and self.temperature != 0:
            raise FlybenchError(
                f"judge.temperature={self.temperature} with judge=local is not allowed: a local "
                "judge decodes greedily, so leave the temperature at 0."
            )
        self._check_endpoint()

    def _check_endpoint(self) -> None:
        """Check the endpoint; no message repeats a value, because it may contain a key."""
        try:
            url = urlsplit(self.base_url)
            usable = url.scheme in ("http", "https") and url.hostname and url.port != 0
        except ValueError:
            usable = False
        if not usable or url.username or url.password or url.query or url.fragment:
            raise FlybenchError(
                "judge.base_url is not allowed: write http://HOST:PORT/v1 or https://HOST/v1 "
                "without a password or key, because the key is read from the environment."
            )
        name = self.key_env
        if name is not None and (len(name) > MAX_VARIABLE_LENGTH or not VARIABLE.fullmatch(name)):
            raise FlybenchError(
                "judge.key_env is not the name of an environment variable: store the key in one, "
                "and set key_env to its name, such as OPENAI_API_KEY."
            )

    @property
    def loopback(self) -> bool:
        """True if the endpoint is on this machine, where servers rarely require a key."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def cost(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """Return the price of the tokens, or None if a count or a price is unknown."""
        if self.input_price is None or self.output_price is None:
            return None
        if tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * self.input_price + tokens_out * self.output_price) / 1e6
