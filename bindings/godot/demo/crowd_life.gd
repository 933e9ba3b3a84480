# Two hundred characters that share one network and learn by targets while they move: each is to turn towards what it
# sees.
extends Reference

const CHARACTERS = 200
const SPEC = '{"id": "crowd", "seed": 7, "layers": [{"type": "dense", "input_height": 3, "output_height": 16, "activation": "tanh", "bias": true}, {"type": "dense", "input_height": 16, "output_height": 2, "activation": "tanh"}]}'

var error = 0.0  # mean distance of the last tick
var slowest_ms = 0.0
var weights = ""  # their hash, which is equal on every machine

func run(ticks):
	var network = load("res://addons/loom/loom_network.gdns").new()
	var crowd = load("res://addons/loom/loom_mesh.gdns").new()
	if not network.load_network(SPEC) or not crowd.open(network, CHARACTERS, 3):
		print(network.error_text(), crowd.error_text())
		return
	var random = 1
	for tick in range(ticks):
		var senses = PoolRealArray()
		var targets = PoolRealArray()
		for i in range(CHARACTERS):
			random = (random * 1103515245 + 12345) % 2147483648
			var x = (random >> 16) % 201 / 100.0 - 1
			random = (random * 1103515245 + 12345) % 2147483648
			var y = (random >> 16) % 201 / 100.0 - 1
			senses.append_array(PoolRealArray([x, y, 1]))
			targets.append_array(PoolRealArray([0.5 * x, -0.5 * y]))
		var start = OS.get_ticks_usec()
		crowd.set_inputs(senses)
		crowd.step(2)
		var moves = crowd.outputs()
		crowd.teach(targets, 0.05)
		slowest_ms = max(slowest_ms, (OS.get_ticks_usec() - start) / 1000.0)
		error = 0.0
		for i in range(moves.size()):
			error += abs(moves[i] - targets[i]) / moves.size()
	weights = network.hash()
