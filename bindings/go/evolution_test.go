package welvet

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// By welvet in Python: the sixth and the seventh generation, the best network, a whole run, a child, a mutation.
const (
	sixthHash  = "3d707e93f8b1e3240e4667e6bf1732511aefa0a17f3a3371e2e24143103a43ee"
	nextHash   = "56b4127bed1efab963c0fa00c8ccb65039b6d5a17b7c407f62924c8bfccbc207"
	bestHash   = "716adb4139654de492872bee80b666e2ff2546102a37faf1c7f38402a0249d75"
	runHash    = "27eac0c7837c700c1e45b66e4491ae977edb6da6edf97c6bc1d7bd9577295167"
	childHash  = "622452c5866e516d6b2d092ef6adeb3defdd363c05b2283cb159643bdfd414cc"
	mutantHash = "8c8445664bc95b3894cf9fc12994a91d56aaed13fe9d164cca762867f5a36446"
)

const (
	breeding = `{"population": 10, "seed": 2, "mutation": {"node_rate": 0}}`
	evolving = `{"task": {"name": "csv", "path": "data.csv", "values": true}, "population": 16, "generations": 4, "seed": 7,
  "network": {"seed": 1, "layers": [
    {"type": "dense", "input_height": 2, "output_height": 4, "activation": "tanh"},
    {"type": "dense", "input_height": 4, "output_height": 1}]}}`
)

func judge(net *Network) (float64, error) {
	y, err := net.Forward(background, Tensor{Shape: []uint64{1, 6}, Values: []float32{1, 1, 1, 1, 1, 1}})
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i, target := range []float64{0.25, -0.5, 0.125} {
		gap := float64(y.Values[i]) - target
		sum += gap * gap
	}
	return -sum, nil
}

func hashOf(t testing.TB, net *Network) string {
	out, err := net.Hash()
	fail(t, err)
	return out
}

func bred(t testing.TB, compute Compute) *Population {
	people, err := NewPopulationOn(compute, network(t), []uint64{1, 6}, breeding)
	fail(t, err)
	t.Cleanup(func() { people.Close() })
	return people
}

func TestPopulationsHaveTheHashesOfPython(t *testing.T) {
	for threads := 1; threads <= 2; threads++ {
		people := bred(t, Compute{Threads: threads})
		_, err := people.Best()
		refused(t, err, NoValue, "")
		places, err := people.Ask()
		fail(t, err)
		equal(t, places, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
		var report map[string]any
		for range 6 {
			report, err = people.Evolve(background, judge)
			fail(t, err)
		}
		equal(t, report["hash"], sixthHash)
		best, err := people.Best()
		fail(t, err)
		equal(t, hashOf(t, best), bestHash)
		info, err := people.Info()
		fail(t, err)
		equal(t, info["generation"], 6.0)
		equal(t, info["best_score"], report["best"])
		saved, err := people.Snapshot()
		fail(t, err)
		again, err := RestorePopulation(saved, []uint64{1, 6}, map[string]any{"population": 10, "seed": 2,
			"mutation": map[string]any{"node_rate": 0}})
		fail(t, err)
		report, err = again.Evolve(background, judge)
		fail(t, err)
		equal(t, report["hash"], nextHash)
		_, err = RestorePopulation(saved[:len(saved)-1], []uint64{1, 6}, breeding)
		refused(t, err, CorruptData, "")
		_, err = RestorePopulation(saved, []uint64{1, 6}, strings.Replace(breeding, "10", "12", 1))
		refused(t, err, CorruptData, "population")
		places, err = people.Ask()
		fail(t, err)
		fitness := make([]float64, len(places))
		for i, place := range places {
			member, err := people.Network(place)
			fail(t, err)
			fitness[i], err = judge(member)
			fail(t, err)
		}
		report, err = people.Tell(fitness)
		fail(t, err)
		equal(t, report["hash"], nextHash)
	}
}

// judgeWith is judge that calls a function before the nth network, whose error it returns. It counts its calls.
func judgeWith(n int, calls *int, function func() error) func(*Network) (float64, error) {
	*calls = 0
	return func(net *Network) (float64, error) {
		if *calls++; *calls == n {
			if err := function(); err != nil {
				return 0, err
			}
		}
		return judge(net)
	}
}

func TestErrorsOfJudgesComeBack(t *testing.T) {
	people, mine, judged := bred(t, Compute{}), errors.New("tired"), 0
	_, err := people.Evolve(background, judgeWith(3, &judged, func() error { return mine }))
	equal(t, err, mine)
	equal(t, judged, 3)
	var kept *Network
	_, err = people.Evolve(background, func(net *Network) (float64, error) {
		kept = net
		_, err := net.Forward(background, values(1, 1, 5))
		return 0, err
	})
	refused(t, err, ShapeMismatch, "5")
	_, err = judge(kept)
	refused(t, err, BadHandle, "the Network is closed")
	ctx, cancel := context.WithCancel(background)
	_, err = people.Evolve(ctx, judgeWith(4, &judged, func() error { cancel(); return nil }))
	refused(t, err, Cancelled, "canceled")
	equal(t, errors.Is(err, context.Canceled), true)
	equal(t, judged, 4)
	func() {
		defer func() { equal(t, recover(), "mine") }()
		_, _ = people.Evolve(background, func(*Network) (float64, error) { panic("mine") })
		t.Fatal("the panic is gone")
	}()
	places, err := people.Ask() // as before all of these
	fail(t, err)
	equal(t, len(places), 10)
	_, err = people.Tell([]float64{1, 2})
	refused(t, err, InvalidArgument, "10")
	_, err = people.Tell(nil)
	equal(t, err != nil, true)
	_, err = people.Network(10)
	refused(t, err, OutOfRange, "10")
	_, err = people.Tell([]float64{1, 2, 3, math.NaN(), math.Inf(-1), 6, 7, 8, 9, 0})
	fail(t, err)
	_, err = NewPopulation(network(t), []uint64{1, 6}, `{"populations": 3}`)
	refused(t, err, UnknownKey, "populations")
	_, err = NewPopulation(network(t), []uint64{1, 5}, nil)
	refused(t, err, ShapeMismatch, "")
	_, err = NewPopulation(nil, []uint64{1, 5}, nil)
	refused(t, err, InvalidArgument, "the base of a population is nil")
	_, err = network(t).Splice(nil, nil)
	refused(t, err, InvalidArgument, "the other network is nil")
	_, err = network(t).CompareDNA(nil, false)
	refused(t, err, InvalidArgument, "the other network is nil")
	fail(t, people.Close())
	_, err = people.Ask()
	refused(t, err, BadHandle, "the Population is closed")
	for _, call := range []func() error{
		func() error { _, err := people.Evolve(background, judge); return err },
		func() error { _, err := people.Tell([]float64{1}); return err },
		func() error { _, err := people.Best(); return err },
		func() error { _, err := people.Network(0); return err },
		func() error { _, err := people.Info(); return err },
		func() error { _, err := people.Snapshot(); return err },
	} {
		refused(t, call(), BadHandle, "the Population is closed")
	}
}

// dataFolder returns a folder with the data of the run.
func dataFolder(t testing.TB) string {
	folder := filepath.Join(t.TempDir(), "évolution")
	fail(t, os.Mkdir(folder, 0o777))
	fail(t, os.WriteFile(filepath.Join(folder, "data.csv"), []byte("a,b,y\n0,0,0\n0,1,1\n1,0,1\n1,1,2\n"), 0o666))
	return folder
}

func TestEvolutionsByDataAreSavedAndContinued(t *testing.T) {
	folder := dataFolder(t)
	var told []map[string]any
	whole, err := Evolve(background, evolving, EvolveOptions{Folder: folder, Progress: func(report map[string]any) bool {
		told = append(told, report)
		return true
	}})
	fail(t, err)
	equal(t, whole["hash"], runHash)
	equal(t, len(told), 4)
	equal(t, told[3]["done"], 4.0)
	equal(t, told[3]["best_score"], whole["best"])
	options := EvolveOptions{Folder: folder, Out: filepath.Join(folder, "run"),
		Progress: func(report map[string]any) bool { return report["done"] != 2.0 }}
	cut, err := Evolve(background, evolving, options)
	fail(t, err)
	equal(t, cut["interrupted"], true)
	equal(t, cut["generations"], 2.0)
	_, err = Evolve(background, evolving, options)
	refused(t, err, InvalidArgument, "")
	options.Start, options.Progress = Resume, nil
	resumed, err := Evolve(background, evolving, options)
	fail(t, err)
	equal(t, resumed["hash"], runHash)
	best, err := OpenNetwork(filepath.Join(folder, "run", "best.entity"))
	fail(t, err)
	y, err := best.Forward(background, values(1, 4, 2))
	fail(t, err)
	equal(t, y.Shape, []uint64{4, 1})
	path := filepath.Join(folder, "run.json")
	fail(t, os.WriteFile(path, []byte(evolving), 0o666))
	short, err := EvolveFile(background, path, EvolveOptions{Out: options.Out, Start: Overwrite, Generations: 2})
	fail(t, err)
	equal(t, short["hash"], cut["hash"])
	_, err = EvolveFile(background, filepath.Join(folder, "none.json"), EvolveOptions{})
	refused(t, err, NotFound, "none.json")
	_, err = Evolve(background, evolving, EvolveOptions{Folder: folder, Start: 7})
	equal(t, err != nil, true)
	_, err = Evolve(background, evolving, EvolveOptions{Folder: "a\x00b"})
	refused(t, err, InvalidArgument, "Folder has a NUL in it")
}

func TestEvolutionsEndByContextAndPanic(t *testing.T) {
	folder := dataFolder(t)
	long := strings.Replace(evolving, `"generations": 4`, `"generations": 100000000`, 1)
	for _, wait := range []time.Duration{1, 10, 50} {
		ctx, cancel := context.WithTimeout(background, wait*time.Millisecond)
		outcome, err := Evolve(ctx, long, EvolveOptions{Folder: folder})
		cancel()
		equal(t, errors.Is(err, context.DeadlineExceeded), true)
		equal(t, outcome == nil || outcome["interrupted"] == true, true)
	}
	defer func() { equal(t, recover(), "mine") }()
	_, _ = Evolve(background, evolving, EvolveOptions{Folder: folder, Progress: func(map[string]any) bool { panic("mine") }})
	t.Fatal("the panic is gone")
}

func TestSingleOperationsHaveTheHashesOfPython(t *testing.T) {
	people, base := bred(t, Compute{}), network(t)
	for range 6 {
		_, err := people.Evolve(background, judge)
		fail(t, err)
	}
	best, err := people.Best()
	fail(t, err)
	child, err := base.Splice(best, map[string]any{"mode": "uniform", "seed": 1})
	fail(t, err)
	equal(t, hashOf(t, child), childHash)
	changed, err := base.Clone()
	fail(t, err)
	report, err := changed.Mutate([]uint64{1, 6}, map[string]any{"seed": 5})
	fail(t, err)
	equal(t, report["made"].(map[string]any)["perturb"], 2.0)
	equal(t, hashOf(t, changed), mutantHash)
	signatures, err := base.DNA(false)
	fail(t, err)
	equal(t, len(signatures), 2)
	equal(t, len(signatures[0].Weights), 96)
	equal(t, signatures[0].Type, "dense")
	drift, err := base.CompareDNA(changed, false)
	fail(t, err)
	equal(t, drift["overall_overlap"].(float64) < 1, true)
	picture, err := base.DrawDNA(changed, true)
	fail(t, err)
	equal(t, strings.Contains(picture, "<svg"), true)
	same, err := base.Compare(base)
	fail(t, err)
	equal(t, same["equal"], true)
	_, err = base.Splice(changed, `{"modes": "point"}`)
	refused(t, err, UnknownKey, "modes")
	changed.Close()
	_, err = base.Compare(changed)
	refused(t, err, BadHandle, "the Network is closed")
}

func TestGoroutinesTakeTurnsWithAPopulation(t *testing.T) {
	people := bred(t, Compute{})
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 20 {
				places, err := people.Ask()
				fail(t, err)
				member, err := people.Network(places[0])
				fail(t, err)
				_, err = judge(member)
				fail(t, err)
				_, err = people.Snapshot()
				fail(t, err)
				member.Close()
			}
		}()
	}
	all.Wait()
}

func TestCallsOfEvolveJudgeTheirOwnGeneration(t *testing.T) {
	people := bred(t, Compute{})
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 8 {
				if _, err := people.Evolve(background, judge); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	all.Wait()
	info, err := people.Info()
	fail(t, err)
	equal(t, info["generation"], 32.0)
	for place, member := range info["members"].([]any) {
		fitness, judged := member.(map[string]any)["fitness"].([]any)
		if !judged {
			continue
		}
		net, err := people.Network(uint64(place))
		fail(t, err)
		score, err := judge(net)
		fail(t, err)
		equal(t, fitness[0], score)
	}
	judged := 0
	_, err = people.Evolve(background, judgeWith(1, &judged, func() error {
		places, err := people.Ask()
		fail(t, err)
		_, err = people.Tell(make([]float64, len(places)))
		return err
	}))
	refused(t, err, InvalidState, "another call of Tell")
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	places, err := people.Ask()
	fail(t, err)
	_, err = people.Evolve(ctx, judgeWith(len(places), &judged, func() error { cancel(); return nil }))
	refused(t, err, Cancelled, "canceled")
	again, err := people.Ask()
	fail(t, err)
	equal(t, again, places)
}

func TestGoexitInACallbackEndsItsGoroutine(t *testing.T) {
	folder, done := dataFolder(t), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = Evolve(background, evolving, EvolveOptions{Folder: folder, Progress: func(map[string]any) bool {
			runtime.Goexit()
			return true
		}})
		t.Error("the goroutine goes on")
	}()
	<-done
}
