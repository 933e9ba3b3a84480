module ask

go 1.20

require loom v0.0.0

replace loom => ../../bindings/go
