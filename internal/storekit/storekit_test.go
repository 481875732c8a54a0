package storekit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/storekit"
)

func TestVersionsAreComparedByNumber(t *testing.T) {
	for version, older := range map[string]bool{"3.4.9": true, "2.10": true, "3.5.0": false, "3.10.1": false, "10.0": false, "unknown": false, "": false} {
		require.Equal(t, older, storekit.Older(version, 3, 5), version)
	}
}
