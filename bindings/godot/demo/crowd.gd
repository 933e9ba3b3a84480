# Lets the crowd live. Prints how far the characters are off, and the hash of their weights.
#   godot3-server --path demo -s crowd.gd
extends SceneTree

const TICKS = 300

func _init():
	var crowd = load("res://crowd_life.gd").new()
	crowd.run(TICKS)
	print("off by ", "%.4f" % crowd.error, ", slowest tick ", "%.2f" % crowd.slowest_ms, " ms")
	print("hash ", crowd.weights)
	quit()
