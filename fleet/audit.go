package fleet

import (
	"context"
	"hash/fnv"
	"strconv"
)

// AuditLog is a page of the audit log: acts of people, newest first. Facts have no other kinds than
// triggered, paused, resumed, cancelled, repaired, forgotten, scheduled, deleted and released.
type AuditLog struct {
	Facts  []Fact `api:"acts"`
	Next   string `api:"next"`         // the cursor of older facts; empty when there are none
	Used   int    `api:"used_bytes"`   // bytes that the whole log takes in the store
	Budget int    `api:"budget_bytes"` // bytes that it may take: then the oldest acts are removed
}

// Audit returns n acts of people, newest first: n from 1 to 1000. It has acts from every interface,
// also about jobs and locks that are not there any more. The cursor is empty at first, and then the
// Next of the page before; acts that come meanwhile do not move older ones to other pages.
func (f *Fleet) Audit(ctx context.Context, cursor string, n int) (AuditLog, error) {
	page, err := f.store.Audit(ctx, cursor, n)
	if err != nil {
		return AuditLog{}, err
	}
	return AuditLog{Facts: factsOf(page.Entries), Next: page.Next, Used: page.Used, Budget: page.Budget}, nil
}

// SetAuditBudget sets how many bytes the audit log of the fleet may take in the store: from 128 KiB
// to 64 MiB, and 4 MiB unless it was set. An act takes 200 to 300 bytes, and its reason. A smaller
// budget removes the oldest acts at once.
func (f *Fleet) SetAuditBudget(ctx context.Context, bytes int) error {
	return f.store.SetAuditBudget(ctx, bytes)
}

// auditRequest identifies an act among those of all jobs.
func (f Fact) auditRequest() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.Job))
	return f.Request() + "-" + strconv.FormatUint(h.Sum64(), 36)
}
