package nemesistest_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/nemesistest"
)

// seedVariable names the environment variable that repeats one simulation.
const seedVariable = "SOLOTICK_SEED"

const life = 5 * time.Minute // of a fleet, in its own time

func TestNoHistoryOfNemesisBreaksAPromise(t *testing.T) {
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		nemesistest.Run(t, seed, life)
		return
	}
	for range 4 { // make soak repeats this
		seed := rand.Uint64N(1_000_000)
		t.Run(fmt.Sprintf("%s=%d", seedVariable, seed), func(t *testing.T) {
			t.Parallel()
			nemesistest.Run(t, seed, life)
		})
	}
}
