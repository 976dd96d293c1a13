"""Prompts as text files beside this one."""

from functools import cache
from importlib.resources import files


@cache
def prompt(name: str) -> str:
    return (files(__package__) / f"{name}.txt").read_text(encoding="utf-8").strip()
