package sleep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/sleep"
)

func TestSignalsBeforeOneIsReceivedAreOne(t *testing.T) {
	s := sleep.NewSignal()
	s.Set()
	s.Set()
	<-s
	require.Empty(t, s)
	s.Set()
	<-s
}
