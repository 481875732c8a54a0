package doctor

import (
	"context"
	"fmt"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// kept says how many bytes of the store people's records may take: the histories of the configured
// jobs, and the audit log.
func kept(ctx context.Context, s *stores.Store, configured []*jobs.Job) Finding {
	total := int64(0)
	for _, job := range configured {
		total += int64(wire.HistoryLimit(job.Spec()))
	}
	f := Finding{Check: "kept", Result: OK, Finding: fmt.Sprintf("the outcomes of %s take at most %s", render.Count(len(configured), "job"), size(total))}
	people, err := fleet.New(s.Store)
	if err == nil {
		var log fleet.AuditLog
		if log, err = people.Audit(ctx, "", 1); err == nil {
			f.Finding += fmt.Sprintf(", and the audit log %s of at most %s", size(int64(log.Used)), size(int64(log.Budget)))
			return f
		}
	}
	f.Result = Unchecked
	f.Finding += fmt.Sprintf("; the audit log could not be read: %v", err)
	return f
}
