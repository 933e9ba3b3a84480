"""A program as users write it, which mypy checks and nobody runs. Each `type: ignore` stands where a mistake has to be
found: mypy says which are not needed."""

from __future__ import annotations

import array
import pathlib
from typing import Any, Union

import numpy
import numpy.typing
import welvet
from typing_extensions import assert_type

Floats = numpy.typing.NDArray[numpy.floating]


def networks(x: numpy.typing.NDArray[numpy.float32]) -> None:
    net = welvet.Network({"layers": [{"type": "dense", "input_height": 2, "output_height": 1}]})
    assert_type(net(x), Floats)
    assert_type(net([[1, 2.5]], training=True), Floats)
    assert_type(net.prepare((4, 2)), tuple[int, ...])
    assert_type(net.state_dict(), dict[str, Floats])
    assert_type(welvet.Network.from_file(pathlib.Path("n.entity")).clone().morph("int8"), welvet.Network)
    net.place((0, 0, 0, 1), None)
    net(None)  # type: ignore[arg-type]
    net(x, trainin=True)  # type: ignore[call-arg]
    net.to_bytes("onnx")  # type: ignore[arg-type]
    net.from_fiel("n.entity")  # type: ignore[attr-defined]
    with net.session(threads=2, backward=True) as session:
        assert_type(session, welvet.Session)
        assert_type(session.backward([[1.0]]), Floats)
        session.bind(x, array.array("f", [0.0]))
        session.bind([1.0], x)  # type: ignore[arg-type]
    net.session(thread=2)  # type: ignore[call-arg]
    net.session(precision="exact")  # type: ignore[arg-type]
    net.morph("int9")  # type: ignore[arg-type]
    welvet.Network.graft([net], "sum")  # type: ignore[arg-type]


def learning(net: welvet.Network, x: numpy.typing.NDArray[numpy.float32]) -> None:
    run = welvet.train(
        {"epochs": 3}, net, x, classes=[0, 1], validation=(x, [0, 1]), progress=lambda about: about["loss"] > 0
    )
    assert_type(run.losses, list[float])
    welvet.train({"epochs": 3}, start="again")  # type: ignore[arg-type]
    trainer = welvet.Trainer(net, (2, 2), {"loss": "mse"}, learning_rate=0.1)
    assert_type(trainer.step(x, [[0], [1]]).loss, float)
    trainer.step(x, targets="y", weights=[1])  # type: ignore[call-arg]
    mesh = welvet.StepMesh(net, 2)
    mesh.watch_windows(4, lambda window: window.mean > 0)
    trainer.watch_windows("4", print)  # type: ignore[arg-type]
    assert_type(welvet.cluster([net, net], 2), dict[str, Any])
    assert_type(welvet.train.Trainer(net, 2), welvet.Trainer)
    assert_type(welvet.evolve.Population(net, 2).best(), welvet.Network)
    assert_type(welvet.train.train({}), welvet.Run)
    welvet.train.Traner(net, 2)  # type: ignore[attr-defined]
    welvet.evolve(3)  # type: ignore[arg-type]
    assert_type(welvet.silhouette([[0, 1], [1, 0]], [0, 1]), float)
    assert_type(welvet.tile_sizes("dense", "int8"), dict[str, Any])
    mesh.step([mesh.state(), mesh.state()])
    mesh.state().output() + 1  # type: ignore[operator]
    people = welvet.Population(net, (1, 2), population=8)
    people.evolve(lambda member: float(member([[1, 1]])[0, 0]))
    assert_type(people.best(), welvet.Network)


async def language(lm: welvet.LM) -> None:
    assert_type(lm.generate("Hi", max_tokens=8, stop=["."]).ids, list[int])
    lm.generate("Hi", logit_bias={1: -1.0}, stop_ids=[2], logprobs=2)
    lm.generate("Hi", logit_bias=[1])  # type: ignore[arg-type]
    with lm.session([0], sequences=2) as session:
        assert_type(session, welvet.lm.Session)
        assert_type(session.feed([1, 2], sequence=1), Floats)
        assert_type(session.generate("Hi", max_tokens=8).ids, list[int])
        session.feed(3)  # type: ignore[arg-type]
    lm.session(sequence=2)  # type: ignore[call-arg]
    assert_type(welvet.LM.from_bytes({"config.json": b"{}"}), welvet.LM)
    assert_type(lm.tokenizer.id_of("<s>"), int | None)
    for piece in lm.stream(b"Hi", form="raw", seed=1):
        assert_type(piece, str)
    async for piece in lm.chat("Be brief.", temperature=0.5).stream("Hi"):
        assert_type(piece, str)
    lm.generate("Hi", max_token=8)  # type: ignore[call-arg]
    lm.stream("Hi", form="poem")  # type: ignore[arg-type]
    lm.generate(3)  # type: ignore[arg-type]
    assert_type(welvet.Transformer.load_model("m.gguf", threads=1), welvet.LM)
    assert_type(welvet.Transformer.generate("Hi", 8, top_k=5).text, str)


def graphs(x: numpy.typing.NDArray[numpy.float32]) -> None:
    graph = welvet.Graph("m.onnx", threads=1)
    assert_type(graph({"x": x, "n": 3})["y"], numpy.typing.NDArray[Any])
    assert_type(graph(x), dict[str, numpy.typing.NDArray[Any]])
    graph(None)  # type: ignore[arg-type]
    assert_type(welvet.Encoder("minilm").embed(["a", "b"]), Floats)
    welvet.Encoder("minilm").embed(3)  # type: ignore[arg-type]
    found = welvet.load(pathlib.Path("any"), hints="hints.json")
    assert_type(found, Union[welvet.Network, welvet.LM, welvet.Encoder, welvet.Graph])
    assert_type(welvet.export("n.entity", "n.onnx", input_shape=(3, 8))["format"], Any)
    lm = welvet.LM("m.gguf", adapters=["folder", pathlib.Path("other")])
    lm.generate("Hi", adapters=[0, "1"])
    lm.chat(adapters=())
    lm.generate("Hi", adapters=[0.5])  # type: ignore[list-item]


def watches(net: welvet.Network, seen: list[welvet.LayerEvent]) -> None:
    session = net.session()
    session.watch(seen.append)
    session.watch(lambda event: event.mean < 1)
    session.watch(None)
    session.watch(3)  # type: ignore[arg-type]
    welvet.Trainer(net, (2, 2)).watch(lambda event: print(event.values.sum()))


def bridge(model: object, x: numpy.typing.NDArray[numpy.float32]) -> None:
    net = welvet.bridge.stream(model, x)
    assert_type(net, welvet.Network)
    assert_type(welvet.bridge.certify(net, model, x).error, float | None)
    welvet.brigde.stream(model, x)  # type: ignore[attr-defined]


def errors() -> str:
    try:
        welvet.convert("a.gguf", pathlib.Path("b.entity"), dtype="int8", progress=print)
    except welvet.LoomError as error:
        return error.code
    return str(welvet.inspect("b.entity")["format"]) + welvet.verify(threads=1)
