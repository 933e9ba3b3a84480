#!/usr/bin/env python3
"""One process of a world in lockstep, in Python: peer.py PORT FOLDER NAME [--flip TICK:CHARACTER:WEIGHT:INDEX:BIT].

Rules, protocol and files: docs/guide/lockstep.md. peer.cpp and peer.mjs compute the same world.
"""

import argparse
import hashlib
import json
import pathlib
import socket
import struct

import welvet

FIELD = 64
SPEC = {"input_shape": [8], "layers": [
    {"type": "dense", "input_height": 8, "output_height": 12, "bias": True, "activation": "tanh"},
    {"type": "dense", "input_height": 12, "output_height": 2, "bias": True}]}
LEARNING = {"loss": "mse", "learning_rate": 0.1, "tween": {"mode": "layerwise", "momentum": 0, "budget_threshold": 0}}


class Brain:
    """A network that learns by targets. All calls of Loom are in this class."""

    def __init__(self, seed):
        self.network = welvet.Network({"seed": seed, **SPEC})
        self.trainer = welvet.Trainer(self.network, (1, 8), LEARNING, threads=1)
        self.session = welvet.nn.Session(self.network, threads=1)

    def learn(self, inputs, targets):
        """Moves the weights once towards the target of the output."""
        self.trainer.step([inputs], [targets])

    def act(self, inputs):
        """Returns the output, two floats."""
        return self.session.forward([inputs]).tolist()[0]

    def hash(self):
        """Returns the SHA-256 of all weights, 64 hexadecimal digits."""
        return self.network.hash()

    def weights(self):
        """Returns the weights by name, as little-endian float32 in hexadecimal digits, layer by layer."""
        return {name: floats(flat(self.network.get(name).tolist())) for name in sorted(self.network.weights())}

    def flip(self, name, index, bit):
        """Flips one bit of a weight."""
        values = self.network.get(name)
        numbers = bytearray(bytes.fromhex(floats(flat(values.tolist()))))
        numbers[4 * index + bit // 8] ^= 1 << bit % 8
        changed = memoryview(numbers).cast("B").cast("f", values.shape)
        self.network.set(name, changed)


def flat(values):
    """Returns the numbers of nested lists, row by row."""
    return [number for each in values for number in flat(each)] if isinstance(values, list) else [values]


def floats(values):
    """Returns numbers as little-endian float32 in hexadecimal digits."""
    return struct.pack(f"<{len(values)}f", *values).hex()


def clamped(place):
    return max(0, min(FIELD - 1, place))


def sign(number):
    return (number > 0) - (number < 0)


class Character:
    """A character follows one player, and is taught to understand that player's call."""

    def __init__(self, number, players):
        self.number, self.player = number, number % players
        self.x, self.y = (number * 37 + 5) % FIELD, (number * 53 + 11) % FIELD
        self.brain = Brain(1000 + number)
        self.inputs, self.targets, self.output = None, None, None

    def learns_in(self, tick):
        return self.inputs is not None and (tick + self.number) % 4 == 0

    def move(self, player):
        """Looks, acts and remembers the target of what it did. Every number is a fraction that float32 holds."""
        dx, dy = player["x"] - self.x, player["y"] - self.y
        self.inputs = [dx / FIELD, dy / FIELD, *(float(player["call"] == call) for call in range(3)),
                       self.x / FIELD, self.y / FIELD, self.number % 8 / 8]
        towards = (0.5, -0.5, 0.0)[(player["call"] + self.number) % 3]
        self.targets = [sign(dx) * towards, sign(dy) * towards]
        self.output = self.brain.act(self.inputs)
        steps = [(out > 0.25) - (out < -0.25) for out in self.output]
        self.x, self.y = clamped(self.x + steps[0]), clamped(self.y + steps[1])
        return all(step == sign(target) for step, target in zip(steps, self.targets))


class World:
    def __init__(self, players, characters):
        self.players = [{"x": (p * 29 + 7) % FIELD, "y": (p * 41 + 3) % FIELD, "call": 0} for p in range(players)]
        self.characters = [Character(number, players) for number in range(characters)]
        self.tick, self.right = 0, 0

    def step(self, inputs, flip=None):
        """Moves the world by one tick and returns its hash."""
        for character in self.characters:
            if character.learns_in(self.tick):
                character.brain.learn(character.inputs, character.targets)
        if flip and int(flip[0]) == self.tick:
            self.characters[int(flip[1])].brain.flip(flip[2], int(flip[3]), int(flip[4]))
        for player, value in zip(self.players, inputs):
            player["x"], player["y"] = clamped(player["x"] + value % 3 - 1), clamped(player["y"] + value // 3 % 3 - 1)
            player["call"] = value // 9
        self.right = sum(character.move(self.players[character.player]) for character in self.characters)
        self.tick += 1
        return self.hash()

    def hash(self):
        """SHA-256 over place, output and weights of every character."""
        digest = hashlib.sha256()
        for each in self.characters:
            digest.update(f"{each.x} {each.y} {floats(each.output)} {each.brain.hash()}\n".encode())
        return digest.hexdigest()

    def state(self):
        """Everything that the hash of the last tick covers, for `compare`."""
        return [{"place": [each.x, each.y], "input": floats(each.inputs), "weights": each.brain.weights(),
                 "output": floats(each.output)} for each in self.characters]


class Controls:
    """Stands for a keyboard: a walk, and a call that changes every 32 ticks."""

    def __init__(self, player):
        self.player, self.state = player, 0x9E3779B9 ^ (player + 1)

    def next(self, tick):
        for shift in (13, -17, 5):
            moved = self.state << shift if shift > 0 else self.state >> -shift
            self.state = (self.state ^ moved) & 0xFFFFFFFF
        return (self.state >> 8) % 9 + 9 * ((tick // 32 + self.player) % 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("name")
    parser.add_argument("--flip", type=lambda text: text.split(":"))
    options = parser.parse_args()
    relay = socket.create_connection(("127.0.0.1", options.port))
    relay.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    lines = relay.makefile("r", encoding="ascii", newline="\n")

    def ask(*words):
        """Sends a line and returns the words of the answer."""
        relay.sendall((" ".join(map(str, words)) + "\n").encode())
        return lines.readline().split()

    player, players, ticks, characters = map(int, ask("hello", options.name)[1:])
    world, controls, hash_of_tick = World(players, characters), Controls(player), "-"
    with open(options.folder / f"{options.name}.ticks", "w", encoding="ascii", newline="\n") as log:
        for tick in range(ticks):
            answer = ask("tick", tick, hash_of_tick, controls.next(tick))
            if answer[:1] != ["go"]:
                break
            hash_of_tick = world.step([int(value) for value in answer[1:]], options.flip)
            log.write(f"{tick} {hash_of_tick}\n")
        else:
            answer = ask("end", ticks, hash_of_tick, world.right)
    state = {"name": options.name, "tick": world.tick - 1, "hash": hash_of_tick, "characters": world.state()}
    (options.folder / f"{options.name}.state.json").write_text(json.dumps(state), "ascii")
    return 0 if answer[:1] == ["equal"] else 3


if __name__ == "__main__":
    raise SystemExit(main())
