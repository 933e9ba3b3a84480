//go:build loom_pkgconfig

package welvet

// #cgo pkg-config: loom
import "C"
