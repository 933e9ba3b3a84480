//go:build loom_pkgconfig

package abi

// #cgo pkg-config: loom
import "C"
