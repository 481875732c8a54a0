package redislease

import (
	"context"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/lease/driver"
)

// Medium returns the driver.Store on which a store keeps its values.
func Medium(s *Store) driver.Store { return s.values }

// The types of errors, for tests that look at their parts.
type (
	FailoverError = failoverError
	ReplicasError = replicasError
	KeyError      = keyError
	FormatError   = formatError
)

// Take has the script of limits decide a batch.
func Take(s *Store, q *engine.Taking) (engine.TakenBatch, error) {
	return s.take(context.Background(), q)
}
