module github.com/openfluke/loom/bindings/go

go 1.23
