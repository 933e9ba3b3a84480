"""Models over Ray datasets."""

from __future__ import annotations

import pathlib

import numpy

from ..network import Network, Session

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


def map(dataset: Any, model: Network | Path, *, inputs: str = "inputs", outputs: str = "outputs", workers: int = 2,
        batch_size: int = 256) -> Any:
    """Returns a Ray dataset with a model's outputs as a further column.

    dataset: of ray.data, with a column `inputs` of samples. model: a Network, or the path of a file, which is read
    here and sent to a pool of so many workers. The outputs of a sample do not depend on the batch that it is in.
    """
    data = model.to_bytes() if isinstance(model, Network) else pathlib.Path(model).read_bytes()
    return dataset.map_batches(_Mapper, fn_constructor_args=(data, inputs, outputs), batch_size=batch_size,
                               batch_format="numpy", concurrency=workers, num_cpus=1)
