"""Populations of 150 on exclusive or beside neat-python, one thread each, interleaved: python bench/evolution.py [--program BENCH_EVOLUTION]

Microseconds of CPU time per network: "judge" builds what runs a network and scores the four cases (neat-python's FeedForwardNetwork.create
and four activate(); Loom's list of calls and one batch of four), "breed" is a whole generation. Package: neat-python.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

import neat

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = [((0.0, 0.0), 0.0), ((0.0, 1.0), 1.0), ((1.0, 0.0), 1.0), ((1.0, 1.0), 0.0)]
# The settings of neat-python's own example for this task.
CONFIG = """
[NEAT]
fitness_criterion = max
fitness_threshold = 1000
pop_size = 150
reset_on_extinction = False
no_fitness_termination = True

[DefaultGenome]
activation_default = sigmoid
activation_mutate_rate = 0.0
activation_options = sigmoid
aggregation_default = sum
aggregation_mutate_rate = 0.0
aggregation_options = sum
bias_init_mean = 0.0
bias_init_stdev = 1.0
bias_init_type = gaussian
bias_max_value = 30.0
bias_min_value = -30.0
bias_mutate_power = 0.5
bias_mutate_rate = 0.7
bias_replace_rate = 0.1
compatibility_disjoint_coefficient = 1.0
compatibility_weight_coefficient = 0.5
conn_add_prob = 0.5
conn_delete_prob = 0.5
enabled_default = True
enabled_mutate_rate = 0.01
enabled_rate_to_true_add = 0.0
enabled_rate_to_false_add = 0.0
feed_forward = True
initial_connection = full
node_add_prob = 0.2
node_delete_prob = 0.2
num_hidden = 0
num_inputs = 2
num_outputs = 1
response_init_mean = 1.0
response_init_stdev = 0.0
response_init_type = gaussian
response_max_value = 30.0
response_min_value = -30.0
response_mutate_power = 0.0
response_mutate_rate = 0.0
response_replace_rate = 0.0
single_structural_mutation = false
structural_mutation_surer = default
weight_init_mean = 0.0
weight_init_stdev = 1.0
weight_init_type = gaussian
weight_max_value = 30
weight_min_value = -30
weight_mutate_power = 0.5
weight_mutate_rate = 0.8
weight_replace_rate = 0.1

[DefaultSpeciesSet]
compatibility_threshold = 3.0

[DefaultStagnation]
species_fitness_func = max
max_stagnation = 20
species_elitism = 2

[DefaultReproduction]
elitism = 2
survival_threshold = 0.2
min_species_size = 2
"""


def judge(genomes, config):
    for _, genome in genomes:
        genome.fitness = 4.0
        network = neat.nn.FeedForwardNetwork.create(genome, config)
        for inputs, target in CASES:
            genome.fitness -= (network.activate(inputs)[0] - target) ** 2


def timed(f, networks):
    start = time.process_time()
    f()
    return (time.process_time() - start) * 1e6 / networks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=os.path.join(HERE, "..", "build", "bin", "bench_evolution"))
    parser.add_argument("--config", default=os.path.join(HERE, "..", "examples", "evolve", "xor.json"))
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".ini", delete=False) as file:
        file.write(CONFIG)
    config = neat.Config(neat.DefaultGenome, neat.DefaultReproduction, neat.DefaultSpeciesSet, neat.DefaultStagnation, file.name)
    os.unlink(file.name)
    theirs, ours = {"judge": [], "breed": []}, {"judge": [], "breed": []}
    for _ in range(arguments.rounds):
        out = subprocess.run([arguments.program, arguments.config, "0.5"], check=True, capture_output=True, text=True).stdout
        for line in out.splitlines():
            name, least, _ = line.split("\t")
            if name in ours:
                ours[name].append(float(least))
        population = neat.Population(config)
        population.run(judge, 5)  # past the first generation, whose networks have no hidden nodes
        genomes = list(population.population.items())
        theirs["judge"].append(min(timed(lambda: judge(genomes, config), len(genomes)) for _ in range(20)))
        theirs["breed"].append(min(timed(lambda: population.run(judge, 1), 150) for _ in range(20)))
    print(f"neat-python {getattr(neat, '__version__', '')}, median of {arguments.rounds} rounds, each the least of its repeats")
    for name in ours:
        a, b = statistics.median(ours[name]), statistics.median(theirs[name])
        ratios = sorted(y / x for x, y in zip(ours[name], theirs[name]))
        print(f"{name}: loom {a:.2f} us, neat-python {b:.1f} us per network: {b / a:.1f} times (rounds {ratios[0]:.1f} to {ratios[-1]:.1f})")


if __name__ == "__main__":
    main()
