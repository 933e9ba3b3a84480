"""Models over Ray datasets."""

from __future__ import annotations

import pathlib

import numpy

from ..nn.network import Network, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Path


class _Mapper:
    """An actor that runs a network over batches."""

    def __init__(self, model: bytes, inputs: str, outputs: str) -> None:
        self._session = Session(Network.from_bytes(model), threads=1)
        self._inputs, self._outputs = inputs, outputs

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self._inputs not in batch:
            raise KeyError(f"the dataset has no column {self._inputs!r}: it has {', '.join(sorted(batch))}")
        column = batch[self._inputs]
        if column.dtype == object:
            column = numpy.stack([numpy.asarray(row) for row in column])
        return {**batch, self._outputs: self._session.forward(column)}


def map(
    dataset: Any,
    model: Network | Path,
    *,
    inputs: str = "inputs",
    outputs: str = "outputs",
    workers: int = 2,
    batch_size: int = 256,
) -> Any:
    """Adds the outputs of a network to a Ray dataset, as a column. They do not depend on the size of the batches.

    Args:
        dataset: A dataset of ray.data.
        model: A Network, or the path of a network file, which is read by this process and sent to the workers.
        inputs: Name of the column with the samples.
        outputs: Name of the new column.
        workers: Number of workers.
        batch_size: Number of samples that a worker runs at once.

    Returns:
        The dataset with the new column.
    """
    data = model.to_bytes() if isinstance(model, Network) else pathlib.Path(model).read_bytes()
    return dataset.map_batches(
        _Mapper,
        fn_constructor_args=(data, inputs, outputs),
        batch_size=batch_size,
        batch_format="numpy",
        concurrency=workers,
        num_cpus=1,
    )
