package leasetest

import (
	"context"
	"errors"

	"github.com/solotick/solotick/internal/protocol"
)

func checkOfAStoreThatWorksIsNil(f *fixture) {
	c := f.store
	for range 2 { // it leaves nothing behind that is in its own way
		f.ok("Check", c.Check(f.ctx))
	}
	r, err := f.store.Inspect(f.ctx, "solotick-check")
	f.ok("Inspect", err)
	f.equal("record of the check", r, protocol.Record{Name: "solotick-check"})
}

func checkSaysWhatFails(f *fixture) {
	c := f.store
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	err := c.Check(ctx)
	f.refused("a check under a context that has ended", err)
	if e, ok := errors.AsType[*protocol.CheckError](err); !ok || e.Call == "" || e.Err == nil {
		f.Fatalf("Check: %v, want a *protocol.CheckError that names the call", err)
	}
}
