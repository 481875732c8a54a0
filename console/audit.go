package console

import (
	"context"
	"slices"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
)

// auditReads bounds how many pages of the log one request looks through for acts that its filter
// chooses. Where they do not suffice, the page has fewer acts than it may, and the cursor to go on
// from.
const auditReads = 20

func (q *request) audit(query view.AuditQuery, s *reading) (any, error) {
	if err := q.away(); err != nil {
		return nil, err
	}
	acts, log, err := q.c.acts(q.r.Context(), query)
	if err != nil {
		return nil, err
	}
	p := view.Audit(s.Snapshot, acts, query, s.now())
	p.Next, p.Bytes, p.Budget = log.Next, int64(log.Used), int64(log.Budget)
	return p, nil
}

// acts returns the acts that a query chooses, newest first, and the last page of the log that was
// read for them.
func (c *Console) acts(ctx context.Context, query view.AuditQuery) (acts []fleet.Fact, log fleet.AuditLog, err error) {
	log.Next = query.After
	for range auditReads {
		if log, err = c.fleet.Audit(ctx, log.Next, min(query.Limit-len(acts), protocol.MaxAuditPage)); err != nil {
			return nil, log, err
		}
		for _, f := range log.Facts {
			if chosen(f, query) {
				acts = append(acts, f)
			}
		}
		if log.Next == "" || len(acts) == query.Limit {
			break
		}
	}
	return acts, log, nil
}

func chosen(f fleet.Fact, query view.AuditQuery) bool {
	return (query.Job == "" || query.Job == f.Job || query.Job == f.Lock) && (query.By == "" || query.By == f.By) &&
		(len(query.Action) == 0 || slices.Contains(query.Action, f.Kind))
}

// actLog is a page of the audit log for programs: what package fleet returns.
func (q *request) actLog() (any, error) {
	var limit int
	var after string
	if _, err := q.asks(func(p *view.Parameters) {
		p.Number("limit", &limit, 1, protocol.MaxAuditPage, 100)
		view.Checked(p, "after", &after, view.AnyText)
	}); err != nil {
		return nil, err
	}
	return q.c.fleet.Audit(q.r.Context(), after, limit)
}
