package sqlitelease_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A look for what other processes have published is made fifty times a second by each subscriber.
func BenchmarkLook(b *testing.B) {
	s := open(b, "")
	require.NoError(b, s.Publish(b.Context(), []byte("x")))
	for b.Loop() {
		s.Look(b.Context())
	}
}
