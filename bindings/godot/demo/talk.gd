# A character that talks while the game runs. Its memory of the world is JSON of a bounded size in the system prompt:
# the oldest facts leave first.
#   godot3-server --path demo         LOOM_MODEL names the model
extends Node

const MEMORY_BYTES = 400
const QUESTIONS = ["Hello! Who are you?", "Where is the key?"]

var model = load("res://addons/loom/loom_model.gdns").new()
var chat = load("res://addons/loom/loom_chat.gdns").new()
var facts = []
var asked = 0

func remember(fact):
	facts.append(fact)
	while to_json({"facts": facts}).length() > MEMORY_BYTES:
		facts.pop_front()

func _ready():
	chat.connect("token", self, "_on_token")
	chat.connect("finished", self, "_on_finished")
	for each in [model, chat]:
		each.connect("failed", self, "_on_failed")
	model.set_option("max_tokens", 40)
	if not model.load_model(OS.get_environment("LOOM_MODEL")):
		return
	remember("The player stands in the tower of the wizard Orin.")
	remember("The key to the gate is under the oak.")
	meet()

# A new conversation that knows what the character remembers.
func meet():
	var world = to_json({"facts": facts})
	if chat.begin(model, "You are Orin, a wizard in a game. Answer briefly. The world: " + world):
		ask()

func ask():
	print("Player: ", QUESTIONS[asked])
	chat.say(QUESTIONS[asked])

func _on_token(text):
	printraw(text)

func _on_finished(_text):
	print("")
	asked += 1
	if asked < QUESTIONS.size():
		ask()
	else:
		get_tree().quit()

func _on_failed(code, text):
	print(code, ": ", text)
	get_tree().quit(1)
