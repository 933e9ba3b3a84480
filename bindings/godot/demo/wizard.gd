# The shortest character: it answers while the game waits.
extends Node

signal displayed(text)

var ai = load("res://loom.gdnlib").new()

func _ready():
	ai.load_model("SmolLM2-360M-Instruct")

func talk_to_npc(player_message):
	var context = "You are a wise wizard. Player says: " + player_message
	var response = ai.generate(context, 100)
	display_dialogue(response)

func display_dialogue(text):
	emit_signal("displayed", text)
