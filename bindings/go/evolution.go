package welvet

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"unsafe"

	"github.com/openfluke/loom/bindings/go/abi"
)

// Population is networks that the caller judges, and that are crossed and mutated, generation by generation. The fitness
// of a network is a number that is greater for better ones. Equal configs, shapes and fitnesses give equal generations
// on every machine. Goroutines that share a population take turns.
type Population struct {
	*object
	evolving sync.Mutex
	told     uint64 // calls of Tell, under the object's mutex
}

// NewPopulation makes the first generation: mutations of a network, which stays as it is. The shape is that of its
// input, samples first. The config has the keys population, elites, seed, objectives, mutation, splice, species and
// novelty of docs/guide/evolution.md: JSON as a text, or any value that becomes JSON.
func NewPopulation(base *Network, shape []uint64, config any) (*Population, error) {
	return NewPopulationOn(Compute{}, base, shape, config)
}

// NewPopulationOn is NewPopulation with threads and an instruction set.
func NewPopulationOn(compute Compute, base *Network, shape []uint64, config any) (*Population, error) {
	network, err := base.liveOr("the base of a population")
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(base)
	return population(compute, config, func(data unsafe.Pointer, size uintptr, raw *abi.ComputeOptions, to *abi.Handle) abi.Status {
		return abi.PopulationCreate(network, unsafe.SliceData(shape), uintptr(len(shape)), data, size, raw, to)
	})
}

// RestorePopulation continues from the bytes of Snapshot, with the shape and the config of that population. CorruptData
// for bytes that are damaged or of another population.
func RestorePopulation(snapshot []byte, shape []uint64, config any) (*Population, error) {
	return RestorePopulationOn(Compute{}, snapshot, shape, config)
}

// RestorePopulationOn is RestorePopulation with threads and an instruction set.
func RestorePopulationOn(compute Compute, snapshot []byte, shape []uint64, config any) (*Population, error) {
	saved, count := bytesOf(snapshot)
	return population(compute, config, func(data unsafe.Pointer, size uintptr, raw *abi.ComputeOptions, to *abi.Handle) abi.Status {
		return abi.PopulationRestore(saved, count, unsafe.SliceData(shape), uintptr(len(shape)), data, size, raw, to)
	})
}

func population(compute Compute, config any,
	function func(data unsafe.Pointer, size uintptr, raw *abi.ComputeOptions, to *abi.Handle) abi.Status) (*Population, error) {
	text, err := jsonOf(config, "the config")
	if err != nil {
		return nil, err
	}
	var p pins
	defer p.Unpin()
	raw := compute.filled(&p)
	if p.err != nil {
		return nil, p.err
	}
	o, err := made("Population", func(to *abi.Handle) abi.Status {
		data, size := bytesOf(text)
		return function(data, size, raw, to)
	})
	if err != nil {
		return nil, err
	}
	return &Population{object: o}, nil
}

// Ask returns the places of the members that have no fitness yet, for Network.
func (p *Population) Ask() ([]uint64, error) {
	places, _, err := p.ask()
	return places, err
}

// ask also returns the number of calls of Tell so far, for tell.
func (p *Population) ask() (out []uint64, told uint64, err error) {
	err = p.alone(func(population abi.Handle) abi.Status {
		var places *uint64
		var count uintptr
		status := abi.PopulationAsk(population, &places, &count)
		if status == abi.OK {
			out, told = copied(places, count), p.told
		}
		return status
	})
	return out, told, err
}

// Network returns a copy of a member.
func (p *Population) Network(place uint64) (*Network, error) {
	return p.member(func(population abi.Handle, to *abi.Handle) abi.Status {
		return abi.PopulationNetwork(population, place, to)
	})
}

// Best returns a copy of the network with the best score so far. NoValue before the first generation was judged.
func (p *Population) Best() (*Network, error) { return p.member(abi.PopulationBest) }

func (p *Population) member(function func(population abi.Handle, to *abi.Handle) abi.Status) (network *Network, err error) {
	err = p.turn(func(population abi.Handle) (err error) {
		network, err = madeNetwork(func(to *abi.Handle) abi.Status { return function(population, to) })
		return err
	})
	return network, err
}

// Tell takes the fitness of every member of Ask, in that order, and breeds the next generation. NaN and infinities rank
// last. With several objectives all numbers of a member stand together. The report has scores, best, average, worst and
// hash.
func (p *Population) Tell(fitness []float64) (map[string]any, error) { return p.tell(fitness, nil) }

// If a count of calls is given, Tell that returns InvalidState after another call of it.
func (p *Population) tell(fitness []float64, told *uint64) (out map[string]any, err error) {
	err = p.turn(func(population abi.Handle) error {
		if told != nil && *told != p.told {
			return failed(InvalidState, "another call of Tell bred the next generation while this one was judged: "+
				"call Evolve again")
		}
		data, err := blob(func(to *abi.Blob) abi.Status {
			return abi.PopulationTell(population, unsafe.SliceData(fitness), uintptr(len(fitness)), to)
		})
		if err != nil {
			return err
		}
		p.told++
		return json.Unmarshal(data, &out)
	})
	return out, err
}

// Evolve does a generation: it calls Ask, judges each of those members by the function, and calls Tell, whose report it
// returns. A network that the function is given is closed after it has returned. An error of the function, or the end
// of the context, ends the generation; the population is then as before the call. Calls of Evolve wait for each other,
// so the function must not call Evolve of the same population; InvalidState if something else called Tell meanwhile.
// The function judges by one number: with several objectives use Ask and Tell.
func (p *Population) Evolve(ctx context.Context, judge func(*Network) (float64, error)) (map[string]any, error) {
	p.evolving.Lock()
	defer p.evolving.Unlock()
	places, told, err := p.ask()
	if err != nil {
		return nil, err
	}
	fitness := make([]float64, len(places))
	for i, place := range places {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		if fitness[i], err = p.judged(place, judge); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	return p.tell(fitness, &told)
}

func (p *Population) judged(place uint64, judge func(*Network) (float64, error)) (float64, error) {
	network, err := p.Network(place)
	if err != nil {
		return 0, err
	}
	defer network.Close()
	return judge(network)
}

// Info describes the population: generation, best_score, members with identity, parents, operations, species.
func (p *Population) Info() (map[string]any, error) { return p.recorded(abi.PopulationInfo) }

// Snapshot returns the whole population, for RestorePopulation on any machine.
func (p *Population) Snapshot() (out []byte, err error) {
	err = p.turn(func(population abi.Handle) (err error) {
		out, err = blob(func(to *abi.Blob) abi.Status { return abi.PopulationSnapshot(population, to) })
		return err
	})
	return out, err
}

// Close ends the population. Networks that it gave go on.
func (p *Population) Close() error { p.close(); return nil }

// RunStart says how a run treats a folder that holds one.
type RunStart int32

// The ways to begin a run.
const (
	// Fresh begins; a folder that holds a run is an error.
	Fresh RunStart = iota
	// Resume continues from the last checkpoint.
	Resume
	// Overwrite begins again and overwrites the run.
	Overwrite
)

// EvolveOptions of a whole evolution. A field that is 0 means its default.
type EvolveOptions struct {
	// Progress is called after every generation with its report: done, total, best_score, hash. Returning false ends the
	// run after this generation.
	Progress func(report map[string]any) bool
	// Compute has threads, instruction set and device that judge networks. No result depends on them.
	Compute Compute
	// Out is the folder of the run, with lineage, checkpoint and the best network; empty: none.
	Out string
	// Folder is where relative paths of the config start; empty: the folder of the config file, or the current one.
	Folder string
	// Start says what happens to a run in Out.
	Start RunStart
	// Generations are done in place of the config's number; 0: its own.
	Generations uint64
}

// Evolve runs a whole evolution by a config (docs/guide/evolution.md), whose task judges the networks: one of its names,
// or data of a file. The config is JSON as a text, or any value that becomes JSON. The outcome has generations, best and
// hash. A context ends the run after the current generation, and then the outcome comes with its error; it is
// "interrupted", as after a Progress that returned false, and Resume continues it.
func Evolve(ctx context.Context, config any, options EvolveOptions) (map[string]any, error) {
	text, err := jsonOf(config, "the config")
	if err != nil {
		return nil, err
	}
	return evolution(ctx, options, func(raw *abi.EvolutionOptions, to *abi.Blob) abi.Status {
		data, size := bytesOf(text)
		return abi.EvolutionRun(data, size, raw, to)
	})
}

// EvolveFile is Evolve for a config file.
func EvolveFile(ctx context.Context, path string, options EvolveOptions) (map[string]any, error) {
	var p pins
	defer p.Unpin()
	words := p.whole(path, "the path of the config")
	if p.err != nil {
		return nil, p.err
	}
	return evolution(ctx, options, func(raw *abi.EvolutionOptions, to *abi.Blob) abi.Status {
		return abi.EvolutionRunFile(words, raw, to)
	})
}

func evolution(ctx context.Context, options EvolveOptions,
	function func(raw *abi.EvolutionOptions, to *abi.Blob) abi.Status) (outcome map[string]any, err error) {
	var p pins
	defer p.Unpin()
	raw := abi.NewEvolutionOptions()
	p.Pin(&raw)
	raw.Compute, raw.Start, raw.Generations = options.Compute.filled(&p), abi.RunStart(options.Start), options.Generations
	raw.Out, raw.Folder = p.text(options.Out, "Out"), p.text(options.Folder, "Folder")
	if p.err != nil {
		return nil, p.err
	}
	if options.Progress != nil {
		told := &callback[map[string]any]{function: options.Progress}
		raw.Progress, raw.User = onGeneration, told.user(&p)
		defer told.finish()
	}
	err = withContext(ctx, func(cancel abi.Cancel) error {
		raw.Cancel = cancel
		data, err := blob(func(to *abi.Blob) abi.Status { return function(&raw, to) })
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &outcome)
	})
	if err == nil && ctx.Err() != nil && outcome["interrupted"] == true {
		err = ended(ctx)
	}
	return outcome, err
}

// Mutate changes the network at random; its output keeps its shape. The shape is that of its input, samples first. The
// config is the object mutation of docs/guide/evolution.md, with seed, generation and individual. The report says what
// was done and what was skipped.
func (n *Network) Mutate(shape []uint64, config any) (map[string]any, error) {
	text, err := jsonOf(config, "the config")
	if err != nil {
		return nil, err
	}
	return record[map[string]any](n.object, func(network abi.Handle, to *abi.Blob) abi.Status {
		data, size := bytesOf(text)
		return abi.NetworkMutate(network, unsafe.SliceData(shape), uintptr(len(shape)), data, size, to)
	})
}

// Splice makes a child of this network and another one. The config has mode ("blend", "point" or "uniform"),
// blend_alpha, split_ratio, fitness_a, fitness_b and seed.
func (n *Network) Splice(other *Network, config any) (*Network, error) {
	text, err := jsonOf(config, "the config")
	if err != nil {
		return nil, err
	}
	second, err := other.liveOr("the other network")
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(other)
	o, err := n.child("Network", func(first abi.Handle, to *abi.Handle) abi.Status {
		data, size := bytesOf(text)
		return abi.NetworkSplice(first, second, data, size, to)
	})
	if err != nil {
		return nil, err
	}
	return &Network{object: o}, nil
}

// Signature is the direction of a layer's weights.
type Signature struct {
	// Key is the place of the layer, Path its name in the spec.
	Key, Path string
	// Type is the kind of the layer, DType the numeric type of its weights.
	Type, DType string
	// Weights are divided by their length.
	Weights []float64
}

// DNA returns the signatures of the layers. nested includes layers inside of layers.
func (n *Network) DNA(nested bool) ([]Signature, error) {
	return record[[]Signature](n.object, func(network abi.Handle, to *abi.Blob) abi.Status {
		return abi.DnaExtract(network, truth(nested), to)
	})
}

// CompareDNA compares the signatures of two networks: overall_overlap, structural_overlap, layers, logic_shifts,
// unmatched.
func (n *Network) CompareDNA(other *Network, nested bool) (out map[string]any, err error) {
	data, err := n.beside(other, func(first, second abi.Handle, to *abi.Blob) abi.Status {
		return abi.DnaCompare(first, second, truth(nested), to)
	})
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

// DrawDNA draws the comparison of CompareDNA as SVG.
func (n *Network) DrawDNA(other *Network, nested bool) (string, error) {
	data, err := n.beside(other, func(first, second abi.Handle, to *abi.Blob) abi.Status {
		return abi.DnaDraw(first, second, truth(nested), to)
	})
	return string(data), err
}

// Compare lists what differs between the specs and weights of two networks; equal is true or false.
func (n *Network) Compare(other *Network) (out map[string]any, err error) {
	data, err := n.beside(other, abi.NetworkCompare)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

// beside copies a blob that the library makes of two networks.
func (n *Network) beside(other *Network, function func(first, second abi.Handle, to *abi.Blob) abi.Status) ([]byte, error) {
	second, err := other.liveOr("the other network")
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(other)
	return n.bytes(func(first abi.Handle, to *abi.Blob) abi.Status { return function(first, second, to) })
}

// liveOr returns the handle of a network that goes in, which may be nil by mistake.
func (n *Network) liveOr(what string) (abi.Handle, error) {
	if n == nil {
		return 0, failed(InvalidArgument, "%s is nil", what)
	}
	return n.live()
}
