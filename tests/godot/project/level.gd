# A scene with a character that is talking when the scene is reloaded.
extends Node

var model = load("res://addons/loom/loom_model.gdns").new()

func _ready():
	if model.load_model(OS.get_environment("LOOM_MODEL")):
		model.stream("Tell me a long story about a dragon.", 200)
