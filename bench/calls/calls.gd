# Times calls in Godot 3 as calls.c does in C:  LOOM_MODEL=MODEL godot3-server --path PROJECT -s calls.gd
extends SceneTree

const GROUPS = 300
const CALLS = 200
const ANSWERS = 120
const TOKENS = 16
const SPEC = '{"seed": 1, "layers": [{"type": "dense", "input_height": 8, "output_height": 8, "activation": "tanh"}, {"type": "dense", "input_height": 8, "output_height": 4}]}'

func show(what, times):
	times.sort()
	print(what, " ", int(times[0]), " ", int(times[times.size() / 2]))

func _init():
	var network = load("res://addons/loom/loom_network.gdns").new()
	if not network.load_network(SPEC):
		print(network.error_text())
		quit(1)
		return
	var x = PoolRealArray([0, 0, 0, 0, 0, 0, 0, 0])
	var times = []
	for group in range(GROUPS):
		var start = OS.get_ticks_usec()
		for i in range(CALLS):
			network.forward(x)
		times.append((OS.get_ticks_usec() - start) * 1000.0 / CALLS)
	show("forward", times)
	var model = load("res://addons/loom/loom_model.gdns").new()
	model.set_option("threads", 1)
	if not model.load_model(OS.get_environment("LOOM_MODEL")):
		print(model.error_text())
		quit(1)
		return
	times = []
	for answer in range(ANSWERS):
		var start = OS.get_ticks_usec()
		model.generate("Once upon a time", TOKENS)
		times.append((OS.get_ticks_usec() - start) * 1000.0 / TOKENS)
	show("token", times)
	print("hash ", model.hash().substr(0, 16))
	quit()
