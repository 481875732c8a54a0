package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

func TestMain(m *testing.M) { workertest.Main(m) }

// at lets a bubble's clock, which begins at 2000-01-01, show a time.
func at(t *testing.T, rfc3339 string) {
	t.Helper()
	when, err := time.Parse(time.RFC3339, rfc3339)
	require.NoError(t, err)
	time.Sleep(time.Until(when))
}
