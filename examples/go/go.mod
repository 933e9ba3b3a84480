module ask

go 1.23

require github.com/openfluke/loom/bindings/go v0.0.0

replace github.com/openfluke/loom/bindings/go => ../../bindings/go
