package welvet

import (
	"context"
	"fmt"

	"github.com/openfluke/loom/bindings/go/abi"
)

// Error is a failed call: a code to ask for, and a line of text that says what came and what was expected.
type Error struct {
	// Code is the reason.
	Code Code
	// Text has no code in it.
	Text  string
	cause error // of a context that ended the call
}

// Error returns code and text.
func (e *Error) Error() string { return e.Code.String() + ": " + e.Text }

// Is reports whether the target is the error's code.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// Unwrap returns the error of the context that ended the call, or nil.
func (e *Error) Unwrap() error { return e.cause }

// String returns the name of the code, "NotFound".
func (c Code) String() string { return abi.Text(abi.StatusName(int32(c))) }

// Error returns the name of the code.
func (c Code) Error() string { return c.String() }

func failed(code Code, format string, values ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, values...)}
}

// ended returns the error of a call that a context ended.
func ended(ctx context.Context) *Error {
	cause := context.Cause(ctx)
	return &Error{Code: Cancelled, Text: cause.Error(), cause: cause}
}
