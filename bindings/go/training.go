package welvet

import (
	"context"
	"encoding/json"
	"runtime"
	"unsafe"

	"github.com/openfluke/loom/bindings/go/abi"
)

// Batch is samples that a network learns from: targets, or classes, as its loss takes them.
type Batch struct {
	// Inputs have the samples first.
	Inputs Tensor
	// Targets are as many values per sample as the output has.
	Targets []float32
	// Classes are an id from 0 per row of the output, for losses as "softmax_crossentropy".
	Classes []int32
}

func (b *Batch) raw(p *pins) *abi.Batch {
	out := abi.NewBatch()
	p.Pin(&out)
	out.Inputs = b.Inputs.raw(p)
	if len(b.Targets) > 0 == (len(b.Classes) > 0) && p.err == nil {
		p.err = failed(InvalidArgument, "a batch has Targets or Classes: expected one of them")
	}
	if len(b.Classes) > 0 {
		targets := abi.NewTensor()
		p.Pin(&targets)
		targets.Element, targets.Data = abi.ElementInt32, unsafe.Pointer(pinned(p, b.Classes))
		targets.DataSize = uintptr(len(b.Classes)) * unsafe.Sizeof(b.Classes[0])
		out.Targets = &targets
	} else {
		out.Targets = Tensor{Values: b.Targets}.raw(p)
	}
	return &out
}

// Step is the outcome of a step of training.
type Step struct {
	// Loss of the batch, before the step.
	Loss float64
	// LearningRate of the step.
	LearningRate float64
	// GradientNorm is 0 unless the config clips by it.
	GradientNorm float64
	// Skipped steps met a number that was not finite; everything is then as before.
	Skipped bool
	// Why names the layer and the number of a skipped step.
	Why string
}

// Trainer trains a network, step by step, with batches of the caller.
type Trainer struct{ *object }

// NewTrainer makes a network ready to learn from inputs of that shape, by a config (docs/guide/training.md): JSON as a
// text, or any value that becomes JSON. The network learns in place; nothing else may change it meanwhile.
func NewTrainer(network *Network, shape []uint64, config any) (*Trainer, error) {
	return NewTrainerOn(Compute{}, network, shape, config)
}

// NewTrainerOn is NewTrainer with threads and a device.
func NewTrainerOn(compute Compute, network *Network, shape []uint64, config any) (*Trainer, error) {
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
	o, err := network.child("Trainer", func(network abi.Handle, to *abi.Handle) abi.Status {
		data, size := bytesOf(text)
		return abi.TrainerCreate(network, data, size, unsafe.SliceData(shape), uintptr(len(shape)), raw, to)
	})
	if err != nil {
		return nil, err
	}
	return &Trainer{o}, nil
}

// Step learns from one batch. A context that ends it leaves everything as before.
func (t *Trainer) Step(ctx context.Context, batch Batch) (Step, error) {
	var p pins
	defer p.Unpin()
	var out Step
	raw := batch.raw(&p)
	if p.err != nil {
		return out, p.err
	}
	err := withContext(ctx, func(cancel abi.Cancel) error {
		return t.alone(func(handle abi.Handle) abi.Status {
			step := abi.NewTrainingStep()
			status := abi.TrainerStep(handle, raw, cancel, &step)
			if status == abi.OK {
				out = Step{step.Loss, step.LearningRate, step.GradientNorm, step.Skipped != 0,
					string(abi.Bytes(unsafe.Pointer(step.Why), step.WhySize))}
			}
			return status
		})
	})
	return out, err
}

// Evaluate runs the network on a batch without learning, and returns the loss and the output.
func (t *Trainer) Evaluate(batch Batch) (loss float64, output Tensor, err error) {
	var p pins
	defer p.Unpin()
	raw := batch.raw(&p)
	if p.err != nil {
		return 0, output, p.err
	}
	output, err = filled[float32](t.alone, func(trainer abi.Handle, to *abi.Tensor) abi.Status {
		return abi.TrainerEvaluate(trainer, raw, &loss, to)
	})
	return loss, output, err
}

// SetEpoch sets the epoch, from 0, for schedules that count epochs.
func (t *Trainer) SetEpoch(epoch uint64) error {
	return t.alone(func(handle abi.Handle) abi.Status { return abi.TrainerSetEpoch(handle, epoch) })
}

// Info describes the training: steps, skipped ones, learning rate, memory in bytes.
func (t *Trainer) Info() (map[string]any, error) {
	return record[map[string]any](t.object, abi.TrainerInfo)
}

// Close ends the training; the network keeps its weights.
func (t *Trainer) Close() error { t.close(); return nil }

// Phase is the place in a training that an event reports.
type Phase int32

// The places of a training.
const (
	Begin Phase = iota
	EpochBegin
	BatchBegin
	BatchEnd
	ValidationEnd
	Checkpoint
	EpochEnd
	End
)

// Event of a training.
type Event struct {
	// Phase is the place in the training.
	Phase Phase
	// Epoch is counted from 0, up to Epochs.
	Epoch, Epochs uint64
	// Batch of the epoch is counted from 0, up to Batches.
	Batch, Batches uint64
	// Loss of the last batch; at EpochEnd the mean of the epoch.
	Loss float64
	// LearningRate of the last step.
	LearningRate float64
	// Validation is a JSON object of metrics after a validation, else empty.
	Validation string
}

// TrainOptions of a whole training. A field that is 0 means its default.
type TrainOptions struct {
	// Network learns in place; nil: the config names one.
	Network *Network
	// Samples are used in place of the config's data; nil: it names files.
	Samples *Batch
	// Validation is used in place of the config's own; nil: none.
	Validation *Batch
	// Progress is called with every event; returning false ends the run after this one.
	Progress func(Event) bool
	// Compute has threads and device. No result depends on them.
	Compute Compute
	// Out is the folder of the run, with journal, checkpoint, model and report; empty: none.
	Out string
	// Folder is where relative paths of the config start; empty: the current one.
	Folder string
}

// Train runs a whole training by a config (docs/guide/training.md): JSON as a text, or any value that becomes JSON. The
// outcome has stop_reason, loss_history, hash and metrics. A context ends the run after the current step.
func Train(ctx context.Context, config any, options TrainOptions) (map[string]any, error) {
	text, err := jsonOf(config, "the config")
	if err != nil {
		return nil, err
	}
	var p pins
	defer p.Unpin()
	raw := abi.NewTrainingOptions()
	p.Pin(&raw)
	raw.Compute = options.Compute.filled(&p)
	raw.Out, raw.Folder = p.text(options.Out, "Out"), p.text(options.Folder, "Folder")
	if options.Progress != nil {
		told := &callback[Event]{function: options.Progress}
		raw.Progress, raw.User = onTraining, told.user(&p)
		defer told.finish()
	}
	if p.err != nil {
		return nil, p.err
	}
	var network abi.Network
	if options.Network != nil {
		if network, err = options.Network.live(); err != nil {
			return nil, err
		}
		defer runtime.KeepAlive(options.Network)
	}
	var samples, validation *abi.Batch
	if options.Samples != nil {
		samples = options.Samples.raw(&p)
	}
	if options.Validation != nil {
		validation = options.Validation.raw(&p)
	}
	if p.err != nil {
		return nil, p.err
	}
	var outcome map[string]any
	err = withContext(ctx, func(cancel abi.Cancel) error {
		raw.Cancel = cancel
		data, err := blob(func(to *abi.Blob) abi.Status {
			data, size := bytesOf(text)
			return abi.TrainingRun(data, size, network, samples, validation, &raw, to)
		})
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &outcome)
	})
	if err == nil && ctx.Err() != nil && outcome["stop_reason"] == "stopped" {
		err = ended(ctx)
	}
	return outcome, err
}
