"""Composition of overrides into trees of plain data, by Hydra.

Hydra and OmegaConf take most of a second to import, so only this module imports them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Transformer
from omegaconf import MissingMandatoryValue, OmegaConf

from flybench.config.groups import conf_dir
from flybench.core.errors import FlybenchError


def split(overrides: list[str], multirun: bool) -> list[list[str]]:
    """Return the overrides of every combination of a sweep, or of the single run.

    Raises:
        FlybenchError: a setting has several values without a sweep, or the sweep is empty.
    """
    parsed = OverridesParser.create().parse_overrides(overrides)
    if multirun:
        (found,) = BasicSweeper.split_arguments(parsed, max_batch_size=None)
        if not found:
            raise FlybenchError("the sweep is empty, so there is nothing to run: check its ranges.")
        combinations: list[list[str]] = found
        return combinations
    if swept := [str(each.input_line) for each in parsed if each.is_sweep_override()]:
        raise FlybenchError(
            f"{swept[0].lstrip('+')} has several values: add -m to run them all, or quote the "
            "value if it is a single one."
        )
    return [overrides]


def compose_trees(
    cells: Sequence[Sequence[str]], search_path: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the resolved tree of each combination."""
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        trees = [compose("config", [*each, *search_path]) for each in cells]
    return [
        OmegaConf.to_container(tree, resolve=True, throw_on_missing=True)  # type: ignore[misc]
        for tree in trees
    ]


def swept_values(words: Sequence[str]) -> dict[str, list[Any]]:
    """Parse the values of settings such as `method.k=5,10` with Hydra's grammar.

    Raises:
        FlybenchError: a setting cannot be parsed.
    """
    try:
        parsed: list[Override] = OverridesParser.create().parse_overrides(list(words))
    except Exception as error:  # Hydra's parser raises several kinds
        raise FlybenchError(
            f"the settings {' '.join(words)} cannot be parsed: write them as key=value, with "
            "commas between several values."
        ) from error
    return {str(each.key_or_group): _values(each) for each in parsed}


@contextmanager
def readable_errors() -> Iterator[None]:
    """Convert errors of Hydra and OmegaConf to one sentence with the next step."""
    try:
        yield
    except FlybenchError:
        raise
    except MissingMandatoryValue as error:
        raise FlybenchError(
            f"{error.full_key} is missing and has no default: add {error.full_key}=… to the "
            "command."
        ) from error
    except Exception as error:  # Hydra, OmegaConf and YAML raise a dozen kinds
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise FlybenchError(
            f"the settings cannot be parsed ({first_line.replace('++', '')}): write them as "
            "key=value, and text with special characters as 'key=\"text\"'."
        ) from error


def _values(override: Override) -> list[Any]:
    if not override.is_sweep_override():
        return [override.value()]
    return list(override.sweep_iterator(transformer=Transformer.identity))
