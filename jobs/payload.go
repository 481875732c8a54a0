package jobs

import (
	"fmt"
	"log/slog"
)

// Payload is what a trigger gives to the run: at most 4096 bytes of UTF-8 without NUL, such as
// JSON. It may be a secret, so it prints and marshals as its size. string(p) and []byte(p) are its
// content.
type Payload string

// Format prints the size, whatever the verb.
func (p Payload) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, p.size()) }

// LogValue returns the size.
func (p Payload) LogValue() slog.Value { return slog.StringValue(p.size()) }

// MarshalText returns the size.
func (p Payload) MarshalText() ([]byte, error) { return []byte(p.size()), nil }

func (p Payload) size() string {
	if len(p) == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", len(string(p)))
}
