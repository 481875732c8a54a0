package natslease_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var buckets atomic.Int64

// bucket returns a name that no other test has.
func bucket(testing.TB) string { return fmt.Sprint("b", buckets.Add(1)) }
