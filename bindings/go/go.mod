module loom

go 1.20
