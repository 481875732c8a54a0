package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/schedules"
)

// problem is an error of a request, in the form of RFC 9457.
type problem struct {
	Type     string       `json:"type"` // a path below /api/v1/problems, relative to the API; about:blank where the status says it all
	Title    string       `json:"title"`
	Status   int          `json:"status"`
	Detail   string       `json:"detail,omitempty"`
	Errors   []page.Fault `json:"errors,omitempty"`         // of a bad request
	RetryMS  int64        `json:"retry_after_ms,omitempty"` // when to try again
	fallback error        // what went wrong, for the log; nil where Detail says it
}

// fault names a field of a request, its value, and the rule that it breaks.
func fault(field, value, rule string) page.Fault {
	return page.Fault{Field: field, Value: value, Rule: rule}
}

func (p *problem) Error() string { return p.Title + ": " + p.Detail }

func newProblem(status int, detail string) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

func forbidden(detail string) *problem    { return newProblem(http.StatusForbidden, detail) }
func unauthorized(detail string) *problem { return newProblem(http.StatusUnauthorized, detail) }
func notFound(detail string) *problem     { return newProblem(http.StatusNotFound, detail) }

func badRequest(faults ...page.Fault) *problem {
	p := newProblem(http.StatusBadRequest, "")
	p.Errors = faults
	for i, f := range faults {
		if i > 0 {
			p.Detail += "; "
		}
		p.Detail += fmt.Sprintf("%s: %s %s", f.Field, strconv.Quote(f.Value), f.Rule)
	}
	return p
}

func unavailable(detail string, err error) *problem {
	p := newProblem(http.StatusServiceUnavailable, detail)
	p.RetryMS, p.fallback = storeRetry.Milliseconds(), err
	return p
}

// storeRetry is when to try again what a store did not answer.
const storeRetry = 2 * time.Second

// problemOf returns the problem that an error of the fleet is.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	switch {
	case errors.Is(err, protocol.ErrUnknown), errors.Is(err, fleet.ErrNoTrace):
		return notFound(err.Error())
	case errors.Is(err, fleet.ErrLeaderTask), errors.Is(err, fleet.ErrStored), errors.Is(err, fleet.ErrNotCancellable), errors.Is(err, fleet.ErrNotOver), errors.Is(err, fleet.ErrInUse), errors.Is(err, fleet.ErrPayloadDiffers):
		return newProblem(http.StatusConflict, err.Error())
	case errors.Is(err, schedules.ErrNotFound):
		return notFound(err.Error())
	case errors.Is(err, schedules.ErrOwnSchedule):
		return newProblem(http.StatusConflict, err.Error())
	case errors.Is(err, schedules.ErrRevision):
		return newProblem(http.StatusPreconditionFailed, err.Error())
	case errors.Is(err, schedules.ErrNoIndex):
		return newProblem(http.StatusNotImplemented, err.Error())
	case errors.Is(err, fleet.ErrClock):
		return unavailable(err.Error(), err)
	case errors.Is(err, protocol.ErrCursor):
		return badRequest(fault("after", "", "must be a cursor that a page of this list gave"))
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("the store did not answer in time", err)
	case errors.Is(err, errClosed):
		return unavailable("the console stops", nil)
	}
	return unavailable("the store does not answer", err) // its error may name addresses; the log has it
}

// headers sets what a problem says beside its body.
func (p *problem) headers(h http.Header) {
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="solotick"`)
	}
	if p.RetryMS > 0 {
		h.Set("Retry-After", strconv.FormatInt((p.RetryMS+999)/1000, 10))
	}
}

// write answers with p as JSON.
func (p *problem) write(w http.ResponseWriter) {
	body, _ := json.Marshal(p) //nolint:errchkjson // of strings and numbers: it cannot fail
	p.headers(w.Header())
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
